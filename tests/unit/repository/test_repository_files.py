"""Workflows, hooks, issue forms and editor settings name existing files and commands, and versions of the lock."""

import configparser
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from gradrank.bench.config.studies import PATTERNS

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = [path for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
TARGETS = set(re.findall(r"^([\w.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PINNED = re.compile(
    r"[\w-]+/[\w./-]+@(v\d+(\.\d+)*|[0-9a-f]{40})|docker://[\w./-]+(:\d+\.\d+[\w.]*|@sha256:[0-9a-f]{64})"
)
IMAGE = re.compile(r"[\w./-]+(:\d+\.\d+[\w.-]*|@sha256:[0-9a-f]{64})")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def jobs() -> list[tuple[str, dict]]:
    return [
        (f"{path.name}:{name}", job)
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
    ]


def commands() -> list[str]:
    """Return every command line that a workflow or a local hook runs, without its variables."""
    lines = [line for _, job in jobs() for step in job["steps"] for line in step.get("run", "").splitlines()]
    lines += [hook["entry"] for repository in HOOKS if repository["repo"] == "local" for hook in repository["hooks"]]
    return [line.strip() for line in lines if line.strip()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_its_keys_and_is_read_only_by_default(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["name"] == path.stem
    assert workflow[True]  # YAML 1.1 reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]


@pytest.mark.parametrize(("name", "job"), jobs(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_job_is_limited_in_time_and_its_steps_are_pinned(name, job):
    systems = job.get("strategy", {}).get("matrix", {}).get("os", [job["runs-on"]])
    assert all(re.fullmatch(r"(ubuntu|macos|windows)-[\d.]+", system) for system in systems)
    assert job["timeout-minutes"] <= 360
    assert IMAGE.fullmatch(job.get("container", "image:1.0"))
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert PINNED.fullmatch(step.get("uses", "a/b@v1")), step


def test_a_needed_job_exists():
    for path in WORKFLOWS:
        jobs_of_file = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        for needs in (job.get("needs", []) for job in jobs_of_file.values()):
            assert {needs} <= set(jobs_of_file) if isinstance(needs, str) else set(needs) <= set(jobs_of_file)


@pytest.mark.parametrize("command", commands())
def test_a_command_names_targets_files_and_programs_that_exist(command):
    words = shlex.split(command)
    if words[0] == "make":
        assert all(word in TARGETS or word == ".venv/.ready" for word in words[1:])
        return
    for word in words:
        if word.startswith(".venv/bin/"):
            assert (Path(sys.executable).parent / Path(word).name).exists(), word
        elif re.match(r"(src|tests|tools|docs|workflow|\.ci|\.github)/", word) or re.search(
            r"\.(md|py|toml|lock)$", word
        ):
            assert (ROOT / word).exists(), word


def test_the_paths_of_a_workflow_exist():
    for path in WORKFLOWS:
        pull_request = yaml.safe_load(path.read_text(encoding="utf-8"))[True].get("pull_request") or {}
        for pattern in pull_request.get("paths", []):
            assert any(ROOT.glob(pattern.removesuffix("**.md") + "*.md" if pattern == "**.md" else pattern)), pattern
    for _, job in jobs():
        for step in job["steps"]:
            assert (ROOT / step.get("with", {}).get("cache-dependency-path", "Makefile")).exists()


def test_hooks_have_the_versions_of_the_lock():
    lock = dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    remote = {repository["repo"].rpartition("/")[2]: repository["rev"] for repository in HOOKS if "rev" in repository}
    assert remote == {"ruff-pre-commit": f"v{lock['ruff']}", "snakefmt": f"v{lock['snakefmt']}"}


def test_a_pattern_of_a_hook_matches_files():
    folders = [ROOT / name for name in ("src", "tools", "workflow", "docs")]
    files = [path.relative_to(ROOT).as_posix() for folder in folders for path in folder.rglob("*.*")]
    for hook in (hook for repository in HOOKS for hook in repository["hooks"]):
        assert any(re.search(hook.get("files", ""), name) for name in files), hook["id"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_has_labelled_fields(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"] and form["description"] and form["labels"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_templates_name_files_and_targets_that_exist():
    texts = [(ROOT / ".github/PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8")]
    texts += [path.read_text(encoding="utf-8") for path in FORMS]
    for text in texts:
        assert set(re.findall(r"`make ([\w-]+)`", text)) <= TARGETS
        for name in re.findall(r"\b(?:docs/\w+\.md|CHANGELOG\.md|params\.yaml|dvc\.lock)", text):
            assert (ROOT / name).exists(), name


def test_the_editor_has_the_line_lengths_of_the_formatters():
    parser = configparser.ConfigParser()
    parser.read_string("[top]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    assert parser["*.py"]["max_line_length"] == str(PROJECT["tool"]["ruff"]["line-length"])
    assert parser["{*.smk,Snakefile}"]["max_line_length"] == str(PROJECT["tool"]["snakefmt"]["line_length"])


def test_the_tested_versions_of_python_are_those_of_the_package():
    declared = re.findall(r"Python :: (\d\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    for name in ("tests.yml:test", "release.yml:installed"):
        assert dict(jobs())[name]["strategy"]["matrix"]["python-version"] == declared


def test_dvc_depends_on_the_settings_of_every_study():
    """DVC refuses patterns, so dvc.yaml lists each file."""
    params = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]["run"]["params"]
    listed = [name for entry in params if isinstance(entry, dict) for name in entry]
    files = [path.relative_to(ROOT).as_posix() for pattern in PATTERNS for path in ROOT.glob(pattern)]
    assert listed == sorted(files)


def test_dvc_lock_has_the_present_settings():
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]["run"]
    locked = yaml.safe_load((ROOT / "dvc.lock").read_text(encoding="utf-8"))["stages"]["run"]["params"]
    expected: dict[str, dict] = {}
    settings = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for entry in stage["params"]:
        if isinstance(entry, str):
            expected.setdefault("params.yaml", {})[entry] = settings[entry]
        else:
            expected |= {name: yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in entry}
    assert locked == expected, "`make versions` writes dvc.lock"
