"""The closure of imports, which determines the jobs that an edit of the source reruns."""

import ast
import re
import shutil
from pathlib import Path
from typing import ClassVar

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config import code_digest as code_digests
from gradrank.bench.config.code_digest import (
    PACKAGE,
    STAGES,
    code_digest,
    digest,
    imported_files,
    module_file,
    module_files,
    named,
    read_source,
    sources,
    stage_files,
)
from gradrank.bench.config.datasets import RULES
from gradrank.training.nets.neural import NeuralRanker
from gradrank.training.registry import LOSSES, SCORERS, models, training_modules
from gradrank.training.search_space import Choice
from gradrank.training.spaces import tuning_modules

REPORTING = {"measures/metrics.py", "bench/folds/evaluate.py", "bench/report/tables/summary.py", "cli/__init__.py"}
WORKFLOW = {"bench/config/params.py", "bench/provenance/records.py", "bench/tracking/runs.py"}


def clear_caches():
    """Clear the paths of source files, which a process caches by their names in the working folder."""
    for cached in (code_digest, named, module_files, module_file, imported_files):
        cached.cache_clear()


def names(*modules):
    return {str((Path.cwd() / path).resolve().relative_to(code_digests.PACKAGE)) for path in sources(*modules)}


def modules_of(cls):
    return training_modules(cls, cls.Params())


def test_training_depends_on_selection_but_not_on_reported_metrics():
    assert all((PACKAGE / path).is_file() for path in REPORTING | WORKFLOW)
    for cls in models().values():
        found = names("gradrank.bench.folds.job", *modules_of(cls))
        assert {"data/collection.py", "bench/folds/job.py"} <= found
        assert not found & (REPORTING | WORKFLOW)


def test_a_model_depends_only_on_models_that_it_inherits_from():
    for name, cls in models().items():
        family = {base.__module__.rpartition(".")[2] for base in cls.__mro__}
        found = {path for path in names("gradrank.bench.folds.job", *modules_of(cls)) if path.startswith("models/")}
        assert {Path(path).with_suffix("").parts[1] for path in found} <= family | {"__init__"}, name


def test_a_neural_ranker_depends_on_the_loss_and_scorer_that_its_parameters_name():
    def found(**params):
        cls = models()["softmax"]
        paths = map(Path, names(*training_modules(cls, cls.Params(**params))))
        return {path.stem for path in paths if path.parent.name in ("losses", "scorers")} - {"__init__"}

    assert found() == {"listwise", "net"}
    assert found(loss="approx_ndcg", scorer="linear") == {"smooth_ndcg", "linear", "net"}  # which linear imports


def test_models_that_look_up_a_loss_or_scorer_declare_it():
    """The modules that look them up are imported only by models whose parameters name them."""
    for name, cls in models().items():
        looks_up = {"training/nets/neural.py", "models/rankprop.py"} & names(cls.__module__)
        declared = {module.rpartition(".")[0] for module in cls.Params().modules()}
        if issubclass(cls, NeuralRanker):
            assert declared == {LOSSES, SCORERS}, name
        elif "models/rankprop.py" in looks_up:
            assert declared == {SCORERS}, name
        elif name == "any_loss_trees":
            assert declared == {LOSSES}, name
        else:
            assert not declared, name


def test_tuning_depends_on_every_loss_of_the_space():
    class Tuned(models()["softmax"]):
        space: ClassVar = {"loss": Choice(("softmax", "listmle"), "both")}

    assert {f"{LOSSES}.listwise", f"{SCORERS}.net"} <= set(tuning_modules(Tuned))


# Modules that import others by name, which the closure cannot follow. Their callers add the imported modules. No module
# imports a public name from `gradrank`, except when it is called.
BY_NAME = {"__init__.py", "bench/config/studies.py", "export/lookup.py", "training/registry.py"}


def test_only_these_modules_import_others_by_name():
    dynamic = {"import_module", "pkgutil", "__import__", "runpy"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        words = {getattr(node, key, None) for node in nodes for key in ("id", "attr", "name")}
        if words & dynamic:
            found.add(str(path.relative_to(PACKAGE)))
    assert found == BY_NAME


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
    "from ..data import order",
    "from ..data.order import *",
    "from .. import data\nfrom ..data import order as by",
)


@pytest.mark.parametrize(("number", "source"), [*enumerate(FORMS)])
def test_a_dependency_is_found_in_every_form_of_import(number, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    mine = f"form{number}"  # contents are cached by name
    (tmp_path / f"models/{mine}.py").write_text(source)
    assert {Path(path).stem for path in sources(f"gradrank.models.{mine}")} >= {mine, "order"}


def test_a_module_that_does_not_exist_is_an_error_not_an_empty_closure():
    with pytest.raises(GradrankError, match="moved_away: no such module"):
        sources("gradrank.moved_away")


def test_a_stage_depends_on_the_tables_and_templates_that_it_reads():
    read = {Path(path).name for stage in ("summary", "report") for path in stage_files(stage)}
    assert {"letor_results.csv", "dataset.html", "report.css", "report.js"} <= read
    assert "letor_results.csv" not in {Path(path).name for path in stage_files("evaluate_folds")}
    page, job = (
        {Path(path).name for path in stage_files(stage, f"studies.ranknet2005.{module}")}
        for stage, module in (("study", "page"), ("study_job", "experiments"))
    )
    assert {"paper.csv", "page.md.jinja"} <= page
    assert "page.md.jinja" not in job, "another sentence trains nothing again"


def test_a_table_that_moved_is_an_error(monkeypatch):
    monkeypatch.setitem(STAGES, "summary", ("gradrank.bench.report.tables.summary", "moved/*.csv"))
    with pytest.raises(GradrankError, match=r"moved/\*.csv: no such file"):
        stage_files("summary")


def test_a_digest_depends_on_contents_and_names_but_not_on_the_folder(tmp_path, monkeypatch):
    def of(place, text, name="one.py"):
        folder = tmp_path / place / "gradrank"
        (folder / "data").mkdir(parents=True)
        (folder / "data" / name).write_text(text)
        monkeypatch.setattr(code_digests, "PACKAGE", folder)
        return digest([str(folder / "data" / name)])

    here = of("here", "x = 1\n")
    assert here == of("moved", "x = 1  # a comment\n")
    assert here != of("renamed", "x = 1\n", "two.py")
    assert here != of("edited", "x = 2\n")


def test_sources_have_the_names_of_a_checkout_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert named(str(PACKAGE / "bench/folds/job.py")) == "src/gradrank/bench/folds/job.py"
    assert named(str(code_digests.WORKFLOW / "rules/train.smk")) == "workflow/rules/train.smk"
    assert named("models/mine.py") == "models/mine.py"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """`own(**texts)`: write these models; return the files that training `mine` uses, and their digest."""
    folders = iter(range(100))

    def digest_with(**texts):
        folder = tmp_path / str(next(folders))
        for stem, text in texts.items():
            path = folder / "models" / f"{stem}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.chdir(folder)
        clear_caches()
        paths = stage_files("train", "gradrank.models.mine")
        return {path for path in paths if path.startswith("models/")}, digest(paths)

    yield digest_with
    clear_caches()


@pytest.mark.parametrize(
    "form", ["from gradrank.models.my_tools import tool", "from .my_tools import tool", "from . import my_tools"]
)
def test_a_users_model_and_its_imports_are_in_its_closure(own, form):
    files, before = own(mine=form, my_tools="tool = 1\n")
    assert files == {"models/mine.py", "models/my_tools.py"}
    assert own(mine=form, my_tools="tool = 1  # edited\n") == (files, before)
    assert own(mine=form, my_tools="tool = 2\n")[1] != before


SUMMARY = '"""{}"""\nfrom gradrank.models.my_tools import tool\nsummary = __doc__\n'
READER = "from gradrank.models.my_tools import tool\nsummary = tool.__doc__\n"
TOOL = 'def tool():\n    """{}"""\n'


def test_a_docstring_counts_for_code_that_reads_it(own):
    assert own(mine=SUMMARY.format("a"), my_tools=TOOL) != own(mine=SUMMARY.format("b"), my_tools=TOOL)
    assert own(mine=READER, my_tools=TOOL.format("a")) != own(mine=READER, my_tools=TOOL.format("b"))
    plain = READER.replace("tool.__doc__", "tool()")
    assert own(mine=plain, my_tools=TOOL.format("a")) == own(mine=plain, my_tools=TOOL.format("b"))


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """`edited(path, old, new)`: edit a copy of the package; return the methods and stages whose digests changed.

    An edit adds to the edits before it. Further arguments are further texts of the file and their replacements.
    """
    copy = tmp_path / "src/gradrank"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "project"))
    modules_by_name = {name: training_modules(cls, cls.Params()) for name, cls in models().items()}

    def digests():
        clear_caches()
        read_source.cache_clear()
        return {name: code_digest("train", *modules) for name, modules in modules_by_name.items()} | {
            stage: code_digest(stage) for stage in STAGES
        }

    def changed(path, *replaced):
        nonlocal before
        file = copy / path
        text = file.read_text() if file.exists() else ""
        for old, new in zip(replaced[::2], replaced[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1) if old else new + text
        file.write_text(text)
        after = digests()
        names, before = {name for name in before if before[name] != after[name]}, after
        return names

    monkeypatch.setattr(code_digests, "PACKAGE", copy)
    before = digests()
    yield changed
    clear_caches()


def test_an_edit_of_a_loss_retrains_the_models_that_import_it(edited):
    softmax = (PACKAGE / "training/losses/listwise.py").read_text()
    signature = re.search(r"^def softmax\(.*?\)", softmax, re.M | re.S)[0]
    assert edited("training/losses/listwise.py", '"""', '"""Another text. ', "", "# a comment\n") == set()
    users = {name for name, cls in models().items() if f"{LOSSES}.listwise" in modules_of(cls)}
    importers = {name for name, cls in models().items() if "training/losses/listwise.py" in names(*modules_of(cls))}
    assert {"softmax", "dasalc"} <= users <= importers
    found = edited("training/losses/listwise.py", signature, signature[:-1].rstrip(", \n") + ", unused=0)")
    assert found == importers | {"report"}


def test_a_new_loss_retrains_no_model_and_an_edit_of_a_callee_only_its_callers(edited):
    assert edited("training/losses/another.py", "", "def another():\n    return 0\n") == {"report"}
    callers = {name for name, cls in models().items() if "training/losses/pairwise.py" in names(*modules_of(cls))}
    found = edited("training/losses/pairwise.py", "", "EDITED = 1\n")
    assert callers <= found and "mart" not in found and len(callers) < len(models()) / 2


def test_the_report_depends_on_what_models_declare_and_reads_no_docstrings():
    paths = stage_files("report", *{cls.__module__ for cls in models().values()})
    assert "src/gradrank/models/mart.py" in map(named, paths)
    assert not [path for path in paths if read_source(Path(path).absolute()).reads_docstrings]


def test_every_rule_that_runs_a_command_is_a_stage_of_that_name():
    rules = {}
    for path in Path("workflow/rules").glob("*.smk"):
        for name, body in re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", path.read_text(), re.M | re.S):
            rules[name] = re.findall(r"gradrank ([\w-]+)", body.partition("shell:")[2])
    assert {name for name, commands in rules.items() if commands} == STAGES.keys()
    assert rules.pop("refit") == ["refit-choices"]  # `gradrank refit` trains a model for new data
    assert all(commands in ([], [name.replace("_", "-")]) for name, commands in rules.items())
    assert rules.keys() | {"all", "refit"} <= set(RULES)
