"""The jobs that Snakemake plans to run after a change."""

import ast
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from project import MINE, NET, STUDY

SCOPES = {"synthetic_net", "mine"}
MODELS = {"lambdamart", "ranknet_linear", "single_feature"}
LAST = {"collect", "report", "track"}


def reached(plan: dict[str, str]) -> dict[str, set[str]]:
    """Return the methods ("mine/lambdamart"), data sets and studies that a plan makes, by rule."""
    outputs: dict[str, set[str]] = {}
    for path, rule in plan.items():
        parts = path.replace("/methods/", "/").split("/")
        last = 3 if rule in ("train", "evaluate_folds") else -1 if rule.startswith("study") else 2
        first = 2 if parts[0] == "data" else 1
        outputs.setdefault(rule, set()).add("/".join(parts[first : last + (first == 2)]))
    return outputs


def methods(scopes: set[str] = SCOPES, models: set[str] = MODELS) -> set[str]:
    return {f"{scope}/{model}" for scope in scopes for model in models}


def test_a_second_call_and_touch_run_nothing(rerun):
    assert rerun.plan() == {}
    for path in rerun.root.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert rerun.plan() == {}


def of_models(*models: str, scopes: set[str] = SCOPES) -> dict[str, set[str]]:
    """Return the outputs by rule of a run that trains these models again."""
    made = methods(scopes, {*models})
    return {"train": made, "evaluate_folds": made, "summary": scopes}


NET_ALONE = {rule: {"synthetic_net"} for rule in ("generate", "parse", "pairs")}
PAGE = {"study": {"studies/ranknet2005/reduced"}}
SMALLER = {"datasets": {"synthetic_net": {"queries": 10, "documents": 9}}}
# A change of params.yaml or of a text in a file, and the outputs that are made again besides the last ones, by rule.
CHANGES: dict[str, tuple[dict | tuple[str, str, str], dict[str, set[str]]]] = {
    "hyper-parameter": ({"models": {"lambdamart": {"rounds": 6}}}, of_models("lambdamart")),
    "model's code": (
        ("src/gradrank/models/single_feature.py", "return self.sign *", "return 2 * self.sign *"),
        of_models("single_feature"),
    ),
    "metric's code": (
        ("src/gradrank/measures/metrics.py", "np.isnan(ranking.convention.empty)", "True"),
        {"evaluate_folds": methods(), "summary": SCOPES, "study_job": {"studies/ranknet2005/reduced/jobs"}} | PAGE,
    ),
    "convention": ({"evaluation": {"convention": "standard"}}, of_models(*MODELS) | PAGE),
    "convention of a data set": (
        {"datasets": {"mine": {"convention": "standard"}}},
        of_models(*MODELS, scopes={"mine"}),
    ),
    "size of a data set": (SMALLER, NET_ALONE | of_models(*MODELS, scopes={"synthetic_net"})),
    "own pairs": (
        ("own data/pairs.csv", ",0.1\n", ",0.2\n"),
        {"pairs": {"mine"}} | of_models("ranknet_linear", scopes={"mine"}),
    ),
    "page's code": (("studies/ranknet2005/page.py", "SMALL = 1e-6", "SMALL = 2e-6"), PAGE),
}
# Changes that make no common output share a plan.
PLANS = (
    ("hyper-parameter", "own pairs"),
    ("model's code",),
    ("metric's code",),
    ("convention",),
    ("convention of a data set",),
    ("size of a data set", "page's code"),
)


def test_every_change_has_a_plan():
    assert sorted(chain.from_iterable(PLANS)) == sorted(CHANGES)


@pytest.mark.parametrize("names", PLANS, ids=", ".join)
def test_a_change_reruns_what_depends_on_it(rerun, names):
    expected: dict[str, set[str]] = {}
    for name in names:
        change, outputs = CHANGES[name]
        if isinstance(change, dict):
            rerun.params(**change)
        else:
            if change[0].startswith("src/"):
                rerun.copy_package()
            rerun.edit(*change)
        expected = {rule: expected.get(rule, set()) | outputs.get(rule, set()) for rule in expected | outputs}
    rerun_outputs = reached(rerun.plan())
    assert {rule: places for rule, places in rerun_outputs.items() if rule not in LAST} == expected
    assert rerun_outputs.keys() >= {"report"}


def test_verify_notes_changed_code_of_a_page_and_fails_for_a_changed_parameter(rerun):
    page, _ = CHANGES["page's code"]
    rerun.edit(*page)
    rerun.gradrank("verify")
    parameter, _ = CHANGES["hyper-parameter"]
    rerun.params(**parameter)
    rerun.gradrank("verify", ok=False)


def add_comments(path: Path) -> None:
    path.write_text(f"# edited\n{path.read_text()}\n# edited\n")


def lengthen_docstrings(path: Path) -> None:
    """Lengthen every docstring of a file."""
    lines = path.read_text().splitlines(keepends=True)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, kinds) and ast.get_docstring(node) and node.body[0].end_lineno:
            number, line = node.body[0].end_lineno - 1, lines[node.body[0].end_lineno - 1]
            if line.rstrip().endswith('"""'):
                lines[number] = line.rstrip().removesuffix('"""') + ' Edited."""\n'
    path.write_text("".join(lines))


def reformat(path: Path) -> None:
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", "--line-length", "70", str(path)], check=True)


def test_comments_docstrings_and_formatting_rerun_nothing(rerun):
    sources = sorted(rerun.copy_package().rglob("*.py"))
    for path in sources:
        lengthen_docstrings(path)
        add_comments(path)
    reformat(rerun.root / "src")
    add_comments(rerun.root / "params.yaml")
    assert len(sources) > 100
    assert set(rerun.plan().values()) <= {"report", "track"}, "only these outputs contain docstrings and params.yaml"
    rerun.gradrank("verify")


# Each plan is made after all of its files were deleted. None of them depends on another one of its plan.
DELETED = (
    {
        f"{NET}/methods/lambdamart/fold1/spec.json": "train",
        f"{NET}/methods/lambdamart/fold2/scores.parquet": "train",
        f"{NET}/methods/lambdamart/fold3/history.parquet": "train",
        f"{NET}/methods/lambdamart/fold4/model": "train",
        f"{MINE}/methods/lambdamart/per_query.parquet": "evaluate_folds",
        f"{MINE}/methods/single_feature/evaluation.json": "evaluate_folds",
        f"{STUDY}/jobs/net-1.json": "study_job",
    },
    {f"{NET}/summary.json": "summary", f"{MINE}/queries.parquet": "summary", f"{STUDY}/page.json": "study"},
    {f"{NET}/tables": "summary", f"{MINE}/provenance.json": "summary", f"{STUDY}/numbers.json": "study"},
    {
        "data/parquet/mine/collection.json": "parse",
        "data/pairs/synthetic_net/pairs.json": "pairs",
        f"{STUDY}/provenance.json": "study",
    },
    {"results/run.json": "collect", "results/report.html": "report"},
)


@pytest.mark.parametrize("deleted", DELETED, ids=lambda deleted: ", ".join(sorted({*deleted.values()})))
def test_deleted_files_are_planned(rerun, tmp_path, deleted):
    for place in deleted:
        (rerun.root / place).rename(tmp_path / place.replace("/", "-"))
    plan = rerun.plan()
    assert {place: plan.get(place) for place in deleted} == deleted


def test_the_real_data_sets_and_their_studies_are_targets(project):
    project.params(run={"models": ["lambdamart", "ranksvm"]})
    plan = project.plan("mq2007", "ranknet2005", "average_precision")
    outputs = reached(plan)
    assert outputs["fetch"] == outputs["parse"] == {"mq2007", "ohsumed"}
    assert {f"results/mq2007/methods/ranksvm/fold{fold}/spec.json" for fold in range(1, 6)} <= plan.keys()
    assert outputs["summary"] == {"mq2007"}, "a study needs only its own models of its data sets"
    assert outputs["study"] == {"studies/ranknet2005", "studies/average_precision"}
    assert "ohsumed/lambdarank" in outputs["train"] and "synthetic_net" not in outputs["parse"]
