"""For each edit of a user between two runs, every output of `gradrank diff` says what changed and nothing else."""

import io
import json
import os
import re
import shutil
from copy import deepcopy
from pathlib import Path

import pytest
from rich.console import Console

from gradrank.base.errors import GradrankError
from gradrank.bench.diff import output
from gradrank.bench.diff.changes import changes
from gradrank.bench.diff.compare import compare
from gradrank.bench.diff.output import plain, show
from gradrank.bench.diff.read_state import Committed, read_folder, read_revision
from gradrank.bench.diff.state import State
from gradrank.bench.provenance.records import training_code
from made_run import DATASET, run, write_pairs_file, write_scores, write_table
from rendered import Document

FUSED = {"model": "combsum", "models": ["prank", "regression"]}
BASE = {
    "seed": 5,
    "run": {"datasets": [DATASET], "models": ["single_feature", "prank", "fused", "imported_run"]},
    "datasets": {
        DATASET: {"path": "mine.csv", "pairs": "pairs.csv"},
        "synthetic_net": {"queries": 10, "documents": 5},
        "synthetic_poly": {"queries": 10, "documents": 5},
    },
    "models": {"prank": {"epochs": 2}, "fused": FUSED, "imported_run": {"scores": "imported_run.txt"}},
    "evaluation": {"convention": "letor4", "conventions": ["letor4", "standard"], "metrics": ["ndcg@10", "map", "p@5"]},
}
TITLES = {"params": "Parameters", "data": "Data", "code": "Code", "versions": "Packages"}


def edited(*path, value):
    """Return a function that sets a value in params.yaml. The last part of the path may be new."""

    def edit(params):
        for key in path[:-1]:
            params = params[key]
        params[path[-1]] = deepcopy(value)

    return edit


def without(*path):
    def edit(params):
        for key in path[:-1]:
            params = params[key]
        del params[path[-1]]

    return edit


def models(*names):
    return edited("run", "models", value=list(names))


ALL = BASE["run"]["models"]
SWEPT = {"epochs": [2, 3]}
# name: edits before A; edits before B (functions without effect on params.yaml change files);
# names of changed parameters, data; methods only in A, only in B
EDITS = {
    "nothing": ([], [], [], [], [], []),
    "a default written out": ([], [edited("models", "prank", "select_by", value="map")], [], [], [], []),
    "method removed": ([], [models(*ALL[:1], *ALL[2:])], [], [], ["prank"], []),
    "method added": ([models(*ALL[1:])], [models(*ALL)], [], [], [], ["single_feature"]),
    "only method with packages of its own removed": ([], [models("single_feature")], [], [], ALL[1:], []),
    "parameter": ([], [edited("models", "prank", "epochs", value=3)], ["models.prank.epochs"], [], [], []),
    "value to sweep": (
        [], [edited("models", "prank", value=SWEPT), models("single_feature", "prank")],
        ["models.prank.epochs"], [], ["fused", "imported_run"], ["prank-epochs=3"],
    ),
    "value to sweep without it": (
        [], [edited("models", "prank", "epochs", value=[3, 4]), models("single_feature", "prank")],
        ["models.prank.epochs"], [], ["fused", "prank", "imported_run"], ["prank-epochs=3", "prank-epochs=4"],
    ),
    "sweep to value": (
        [edited("models", "prank", value=SWEPT), models("prank")], [edited("models", "prank", value={"epochs": 3})],
        ["models.prank.epochs"], [], ["prank-epochs=2"], [],
    ),
    "sweep of one value": (
        [edited("models", "prank", value={"epochs": [2]}), models("prank")],
        [edited("models", "prank", value={"epochs": 2})], ["models.prank.epochs"], [], [], [],
    ),
    "longer sweep": (
        [edited("models", "prank", value=SWEPT), models("prank")],
        [edited("models", "prank", value={"epochs": [2, 3, 4]})],
        ["models.prank.epochs"], [], [], ["prank-epochs=4"],
    ),
    "value to sweep, and another parameter": (
        [models("prank")], [edited("models", "prank", value=SWEPT | {"select_by": "ndcg@5"})],
        ["models.prank.epochs", "models.prank.select_by"], [], [], ["prank-epochs=3"],
    ),
    "a shared parameter of a sweep": (
        [edited("models", "prank", value=SWEPT), models("prank")],
        [edited("models", "prank", "select_by", value="ndcg@5")], ["models.prank.select_by"], [], [], [],
    ),
    "sweep of another parameter": (
        [edited("models", "prank", value=SWEPT), models("prank")],
        [edited("models", "prank", value={"epochs": 2, "select_by": ["map", "ndcg@5"]})],
        ["models.prank.epochs", "models.prank.select_by"], [], ["prank-epochs=3"], ["prank-select_by=ndcg@5"],
    ),
    "more seeds": ([], [edited("run", "seeds", value=[5, 6])], ["seeds"], [], [], []),
    "fewer seeds": (
        [edited("run", "seeds", value=[5, 6])], [edited("run", "seeds", value=[5])], ["seeds"], [], [], []
    ),
    "other seeds": (
        [edited("run", "seeds", value=[5, 6])], [edited("run", "seeds", value=[5, 7])], ["seeds"], [], [], []
    ),
    "the methods with several seeds removed": (
        [edited("run", "seeds", value=[5, 6])], [models("single_feature", "imported_run")],
        [], [], ["fused", "prank"], [],
    ),
    "seeds without effect": (
        [models("single_feature")], [edited("run", "seeds", value=[5, 6])], [], [], [], []
    ),
    "metrics": ([], [edited("evaluation", "metrics", value=["ndcg@10", "map"])], ["evaluation.metrics"], [], [], []),
    "conventions": (
        [], [edited("evaluation", "conventions", value=["letor4"])], ["evaluation.conventions"], [], [], []
    ),
    "member of a fusion": (
        [models("fused")], [edited("models", "prank", "epochs", value=3)], ["models.prank.epochs"], [], [], []
    ),
    "members of a fusion": (
        [models("fused")], [edited("models", "fused", "models", value=["prank", "single_feature"])],
        ["models.fused.models"], [], [], [],
    ),
    "model of a variant": (
        [edited("models", "mixed", value=FUSED), models("mixed")],
        [edited("models", "mixed", "model", value="rrf")],
        ["models.mixed.model", "models.mixed.points"], [], [], [],
    ),
    "variant renamed": (
        [models("fused", "prank")],
        [without("models", "fused"), edited("models", "other", value=FUSED), models("other", "prank")],
        [], [], ["fused"], ["other"],
    ),
    "score file": ([], [lambda _: write_scores(2)], [], ["scores of imported_run"], [], []),
    "pair file": ([], [lambda _: write_pairs_file(weight=2.0)], [], ["pairs"], [], []),
    "data file": ([], [lambda _: write_table(2)], [], ["source"], [], []),
}  # fmt: skip


@pytest.fixture(scope="session")
def base(tmp_path_factory) -> Path:
    """A finished run with the parameters BASE; not to be changed."""
    folder = tmp_path_factory.mktemp("edits") / "base"
    folder.mkdir()
    before = Path.cwd()
    os.chdir(folder)
    try:
        write_table()
        write_scores()
        write_pairs_file()
        run(BASE)
    finally:
        os.chdir(before)
    return folder


def states(base: Path, root: Path, monkeypatch, first, second) -> tuple[Path, Path]:
    """Run the workflow after the edits `first` and again after `second`, in one folder; return the two results."""
    folder, params = shutil.copytree(base, root / "project"), deepcopy(BASE)
    monkeypatch.chdir(folder)
    for name, edits in (("a", first), ("b", second)):
        for edit in edits:
            edit(params)
        if edits:
            run(params)
        shutil.copytree("results", root / name / "results")
        shutil.copy("params.yaml", root / name)
    return root / "a", root / "b"


def in_json(comparison) -> dict[str, set[str]]:
    changed = json.loads(json.dumps(plain(comparison)))["changes"]
    return {kind: {change["name"] for change in changed[kind]} for kind in TITLES}


def in_text(comparison) -> dict[str, set[str]]:
    stream = io.StringIO()
    show(comparison, Console(file=stream, width=200))
    return _by_title(stream.getvalue(), r"^{}\n((?:  .*\n)+)", r"^  (\S+(?: \S+)*)  ", "{}: no change")


def in_markdown(comparison) -> dict[str, set[str]]:
    return _by_title(
        output.markdown_page(comparison), r"^\| {} \|.*\n((?:\|.*\n)+)", r"^\| `([^`]*)`", "**{}**: no change"
    )


def _by_title(text: str, block: str, row: str, none: str) -> dict[str, set[str]]:
    found = {}
    for kind, title in TITLES.items():
        match = re.search(block.format(title), text, re.MULTILINE)
        found[kind] = set(re.findall(row, match[1], re.MULTILINE)) if match else set()
        assert (match is None) == (none.format(title) in text)
    return found


def in_html(comparison) -> dict[str, set[str]]:
    tables = {
        table["attributes"].get("aria-labelledby"): table["rows"]
        for table in Document(output.html_page(comparison)).tables
    }
    rows = {kind: tables.get(f"changes-{title.lower()}", [None])[1:] for kind, title in TITLES.items()}
    return {kind: {cells[0]["text"] for cells in of_kind} for kind, of_kind in rows.items()}


def committed(folder: Path) -> State:
    """Return the state of a commit with the files of a run that git keeps."""
    names = ("summary.json", "provenance.json", "queries.parquet")
    paths = ["params.yaml", *(f"results/{DATASET}/{name}" for name in names)]
    files = {path: (folder / path).read_bytes() for path in paths}
    return read_revision("HEAD", Committed("0" * 40, "git revision", files))


@pytest.mark.parametrize("edit", EDITS)
def test_every_output_says_what_an_edit_changed_and_nothing_else(edit, base, tmp_path, monkeypatch):
    first, second, params, data, only_a, only_b = EDITS[edit]
    a, b = states(base, tmp_path, monkeypatch, first, second)
    comparison = compare(read_folder(a), read_folder(b))
    expected = {"params": set(params), "data": set(data), "code": set(), "versions": set()}
    for pair in ((committed(a), committed(b)), (committed(a), read_folder(b))):
        assert in_json(compare(*pair)) == expected
    for read in (in_json, in_text, in_markdown, in_html):
        assert read(comparison) == expected, read.__name__
    assert comparison.only_a == [(DATASET, name) for name in sorted(only_a)]
    assert comparison.only_b == [(DATASET, name) for name in sorted(only_b)]


CODE = {"train tuned": "1", "train other": "2", "summary": "3"}


def made(name: str, methods: list[str], params=None, code=None, versions=None) -> State:
    known = {"params": {"d": params or {}}, "code": {"d": code or {}}, "versions": {"d": versions or {}}}
    return State(name, "results folder", None, {"d": "letor4"}, {"d": dict.fromkeys(methods)}, **known)


def test_changed_code_is_that_of_methods_in_both_states():
    a, b = (made(name, ["tuned"], code=CODE | more) for name, more in (("a", {}), ("b", {"train tuned": "9"})))
    assert [change.name for change in changes(a, b).code] == ["train tuned"]
    without_other = made("b", ["tuned"], code={key: CODE[key] for key in ("train tuned", "summary")})
    assert changes(a, without_other).code == []


def test_a_parameter_that_selects_other_modules_is_no_change_of_code():
    """A net with another loss is trained by another module."""
    model, losses = "ranknet_two_layer", ({"hidden": [8]}, {"hidden": [8], "loss": "softmax"})
    digests = [training_code(model, params) for params in losses]
    assert digests[0] != digests[1]

    def side(params, digest):
        return made("x", [model], {f"models.{model}": params}, {f"train {model}": digest})

    chosen = [side(*each) for each in zip(losses, digests, strict=True)]
    assert changes(*chosen).code == []
    assert [change.name for change in changes(*chosen).params] == [f"models.{model}.loss"]
    assert len(changes(chosen[0], side(losses[1], "0" * 16)).code) == 1, "not the present code"
    assert len(changes(chosen[0], side(losses[0], digests[1])).code) == 1, "the parameters are equal"


@pytest.mark.parametrize(
    ("only_a", "only_b", "in_a", "in_b", "is_change"),
    [
        ([], [], "1.0", "1.1", True),
        (["x"], [], "1.0", "1.1", True),
        (["x"], ["y"], "1.0", "1.1", True),
        ([], [], None, "1.1", True),
        ([], ["y"], None, "1.1", False),  # the package of a new method
        (["x"], [], "1.0", None, False),
        (["x"], [], "1.0", "1.0 and 1.1", True),
        (["x"], [], "1.0 and 1.1", "1.0", False),  # x may have been the method with 1.1
        ([], ["y"], "1.0", "1.0 and 1.1", False),
        ([], ["y"], "1.0 and 1.1", "1.0", True),
        ([], [], "1.0", "1.0 and 1.1", True),
    ],
)
def test_packages_of_methods_in_one_state_are_no_change(only_a, only_b, in_a, in_b, is_change):
    a, b = (
        made(name, ["m", *own], versions={"numpy": "2.0"} | ({"package": version} if version else {}))
        for name, own, version in (("a", only_a, in_a), ("b", only_b, in_b))
    )
    assert [change[:3] for change in changes(a, b).versions] == ([("package", in_a, in_b)] if is_change else [])


def test_another_convention_is_refused_and_named(base, tmp_path, monkeypatch):
    edit = edited("evaluation", "convention", value="standard")
    a, b = states(base, tmp_path, monkeypatch, [], [edit])
    with pytest.raises(GradrankError, match="'letor4' in A and 'standard' in B"):
        compare(read_folder(a), read_folder(b))
