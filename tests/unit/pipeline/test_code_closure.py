"""The closure of imports that decides which jobs a source edit reruns."""

import ast
import re
import shutil
from pathlib import Path

import pytest

from gradrank.errors import GradrankError
from gradrank.learning.model import models
from gradrank.pipeline import code_closure
from gradrank.pipeline.code_closure import (
    PACKAGE,
    STAGES,
    code,
    digest,
    named,
    sources,
    stage_files,
)
from gradrank.pipeline.datasets import RULES

REPORTING = {"evaluation/metrics.py", "evaluation/evaluate.py", "report/tables/summary.py", "cli.py"}
WORKFLOW = {"pipeline/params.py", "pipeline/provenance.py", "tracking/runs.py"}


def names(*modules):
    return {str((Path.cwd() / path).resolve().relative_to(PACKAGE)) for path in sources(*modules)}


def test_the_files_that_other_tests_name_exist():
    assert all((PACKAGE / path).is_file() for path in REPORTING | WORKFLOW)


def test_training_depends_on_selection_but_not_on_reported_metrics():
    for cls in models().values():
        found = names("gradrank.learning.job", cls.__module__)
        assert {"data/collection.py", "learning/job.py"} <= found
        assert not found & (REPORTING | WORKFLOW)


def test_a_model_depends_on_no_model_but_those_it_inherits_from():
    for name, cls in models().items():
        family = {f"models/{base.__module__.rpartition('.')[2]}.py" for base in cls.__mro__}
        found = {
            path for path in names("gradrank.learning.job", cls.__module__) if path.startswith("models/")
        }
        assert found <= family | {"models/__init__.py"}, name


def test_who_finds_modules_by_their_folder_depends_on_each_of_them():
    """A neural ranker's loss and scorer are parameters: any of them may be asked for."""
    found = names("gradrank.models.listwise")
    for folder in ("learning/losses", "learning/scorers"):
        files = {f"{folder}/{path.name}" for path in (PACKAGE / folder).glob("*.py")}
        assert len(files) > 3 and files <= found
    assert not {path for path in names("gradrank.models.mart") if path.startswith("learning/losses")}


FORMS = (
    "import gradrank.data.order",
    "import os, gradrank.data.order as order",
    "from gradrank.data import order",
    "from gradrank.data.order import order",
    "from gradrank.data.order import (\n    # (the stable one)\n    order,\n)",
    "from gradrank.data.order import \\\n    order",
    "def rank():\n    from gradrank.data.order import order  # import once",
    "if True: import gradrank.data.order",
    "import os; import gradrank.data.order",
    "from os import (path); from gradrank.data.order import order",
    '"""\nimport scores of another\n"""\nimport gradrank.data.order',
    "try:\n\timport gradrank.data.order\nexcept ImportError:\n\tpass",
)


@pytest.mark.parametrize(("number", "source"), [*enumerate(FORMS)])
def test_a_dependency_is_seen_however_it_is_written(number, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    mine = f"form{number}"  # what was read is kept by its name
    (tmp_path / f"models/{mine}.py").write_text(source)
    assert {Path(path).stem for path in sources(f"gradrank.models.{mine}")} >= {mine, "order"}


def test_imports_are_those_of_the_whole_syntax_tree():
    def imported(tree):
        return [ast.dump(each) for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]

    for path in PACKAGE.rglob("*.py"):
        whole = ast.parse(path.read_text(encoding="utf-8"))
        assert sorted(imported(code_closure._tree(path))) == sorted(imported(whole)), path


def test_evaluation_depends_on_metrics_but_on_no_model():
    found = names("gradrank.evaluation.evaluate")
    assert "evaluation/metrics.py" in found
    assert not {path for path in found if path.startswith("models/")}


def test_ancestor_packages_are_part_of_the_closure_but_not_the_package_itself():
    found = names("gradrank.report.tables.summary")
    assert {"report/__init__.py", "report/tables/__init__.py", "evaluation/__init__.py"} <= found
    assert "__init__.py" not in found


def test_a_module_that_does_not_exist_is_an_error_not_an_empty_closure():
    with pytest.raises(GradrankError, match="moved_away: no such module"):
        sources("gradrank.moved_away")


def test_a_stage_depends_on_the_tables_and_templates_that_it_reads():
    read = {Path(path).name for stage in ("summary", "report") for path in stage_files(stage)}
    assert {"letor_results.csv", "dataset.html", "report.css", "report.js"} <= read
    assert "letor_results.csv" not in {Path(path).name for path in stage_files("evaluate_folds")}


def test_a_table_that_moved_is_an_error(monkeypatch):
    monkeypatch.setitem(STAGES, "summary", ("gradrank.report.tables.summary", "moved/*.csv"))
    with pytest.raises(GradrankError, match=r"moved/\*.csv: no such file"):
        stage_files("summary")


def test_every_stage_has_a_digest_of_its_own_that_says_it_is_code():
    digests = [code(stage) for stage in STAGES]
    assert len(set(digests)) == len(STAGES)
    assert all(digest.startswith("code=") for digest in digests)


def test_a_digest_follows_contents_and_names_and_not_the_checkout_s_place(tmp_path, monkeypatch):
    package, moved = tmp_path / "here/gradrank", tmp_path / "moved/gradrank"
    (package / "data").mkdir(parents=True)
    (package / "data/one.py").write_text("x = 1\n")
    shutil.copytree(package, moved)

    def of(folder, name="one.py"):
        monkeypatch.setattr(code_closure, "PACKAGE", folder)
        code_closure._sha256.cache_clear()
        return digest([str(folder / "data" / name)])

    assert of(package) == of(moved)
    (moved / "data/one.py").rename(moved / "data/two.py")
    assert of(package) != of(moved, "two.py")
    (package / "data/one.py").write_text("x = 2\n")
    (moved / "data/two.py").rename(moved / "data/one.py")
    assert of(package) != of(moved)


def test_sources_are_called_as_in_a_checkout_wherever_they_lie(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert named(str(PACKAGE / "learning/job.py")) == "src/gradrank/learning/job.py"
    assert named(str(code_closure.WORKFLOW / "rules/train.smk")) == "workflow/rules/train.smk"
    assert named("models/mine.py") == "models/mine.py"


def test_a_model_of_ones_own_and_what_it_imports_are_in_its_closure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code_closure._files.cache_clear()
    (tmp_path / "models").mkdir()
    (tmp_path / "models/mine.py").write_text("from gradrank.models.my_tools import tool\n")
    (tmp_path / "models/my_tools.py").write_text("from gradrank.learning import losses\n")
    found = stage_files("train", "gradrank.models.mine")
    assert {"models/mine.py", "models/my_tools.py"} <= set(found)
    assert "src/gradrank/learning/losses/__init__.py" in map(named, found)
    before = digest(found)
    code_closure._sha256.cache_clear()
    (tmp_path / "models/my_tools.py").write_text("from gradrank.learning import losses  # edited\n")
    assert digest(found) != before
    code_closure._files.cache_clear()


def test_every_rule_that_runs_a_command_is_a_stage_of_that_name():
    rules = {}
    for path in Path("workflow/rules").glob("*.smk"):
        for name, body in re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", path.read_text(), re.M | re.S):
            rules[name] = re.findall(r"gradrank ([\w-]+)", body.partition("shell:")[2])
    assert {name for name, commands in rules.items() if commands} == STAGES.keys()
    assert all(commands in ([], [name.replace("_", "-")]) for name, commands in rules.items())
    assert rules.keys() | {"all"} <= set(RULES)
