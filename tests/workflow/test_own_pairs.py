"""A user's own pairs: a line in params.yaml, from the file to the summary."""

import json
from pathlib import Path

import polars as pl
import pytest

from gradrank.data.synthetic import generate
from gradrank.files import sha256

ON_PAIRS = {"ranknet_linear", "ranksvm"}


@pytest.fixture
def own(project, tmp_path):
    """Ten queries of eight documents, and for every two of unequal grades a preference for the worse one."""
    generate("net", 10, 8, 3, tmp_path / "text")
    data = tmp_path / "my own.txt"
    data.write_text("".join((tmp_path / f"text/S{part}.txt").read_text() for part in range(1, 6)))
    pairs = tmp_path / "my pairs.csv"
    pairs.write_text("qid,first_row,second_row,target\n" + "\n".join(against(data)) + "\n")
    project.params(
        datasets={"my_data": {"path": str(data), "pairs": str(pairs)}},
        run={"models": [*sorted(ON_PAIRS), "single_feature"]},
    )
    return pairs


def against(data: Path):
    rows = [line.split()[:2] for line in data.read_text().splitlines()]
    for start in range(0, len(rows), 8):
        grades = [int(grade) for grade, _ in rows[start : start + 8]]
        qid = rows[start][1].removeprefix("qid:")
        for i in range(8):
            yield from (f"{qid},{i + 1},{j + 1},0.1" for j in range(8) if grades[i] > grades[j])


def test_own_pairs_are_what_pair_models_learn_and_a_change_of_them_trains_no_other(project, own):
    project.snakemake("--cores", "2", "my_data")
    stored = json.loads((project.root / "data/pairs/my_data/pairs.json").read_text())
    assert stored["targets"] == "given" and stored["given_sha256"] == sha256(own)
    frames = [pl.read_parquet(path) for path in (project.root / "data/pairs/my_data").glob("*.parquet")]
    assert set(pl.concat(frames)["target"]) == {0.9}
    results = project.root / "results/my_data"
    for spec in results.glob("*/fold*/spec.json"):
        said = json.loads(spec.read_text())
        told = {"targets": "given", "given_sha256": sha256(own)} if said["model"] in ON_PAIRS else None
        assert said.get("pairs") == told
    summary = json.loads((results / "summary.json").read_text())
    assert all(summary[model]["map"] < summary["single_feature"]["map"] for model in ON_PAIRS)
    record = json.loads((results / "provenance.json").read_text())
    assert record["data"]["given_sha256"] == sha256(own)
    assert "my_data: pairs" not in project.gradrank("verify")
    assert "Nothing to be done" in project.snakemake("--cores", "2", "my_data")

    own.write_text(own.read_text().replace(",0.1\n", ",0.2\n", 1))
    assert f"{own}: not the pairs that are stored" in project.gradrank("verify")
    jobs = project.planned("my_data")
    assert jobs["pairs", "my_data", None] == 1 and jobs["parse", "my_data", None] == 0
    assert {model for rule, _, model in jobs if rule == "train"} == ON_PAIRS


def test_a_pair_that_cannot_be_is_named_and_nothing_is_trained(project, own):
    own.write_text(own.read_text().replace(",0.1\n", ",1.1\n", 1))
    output = project.snakemake("--cores", "2", "my_data", ok=False)
    assert "line 2, column 'target': expected a probability from 0 to 1, found '1.1'" in output
    assert not (project.root / "results/my_data").exists()


def test_what_becomes_of_ties_is_said_once_for_all_pair_models(project):
    project.snakemake("--cores", "2", "data")
    project.params(
        pairs={"ties": "half"}, run={"models": ["ranknet_linear", "ranknet_2005_linear", "listnet"]}
    )
    jobs = project.planned()
    assert jobs["pairs", "synthetic_net", None] == 1 and jobs["parse", "synthetic_net", None] == 0
    project.params(pairs={"ties": "some"}, datasets={"mq2007": {"pairs": "nowhere.csv"}})
    output = project.snakemake("--dry-run", ok=False)
    assert "pairs.ties: " in output and "datasets.mq2007.pairs: nowhere.csv does not exist" in output
