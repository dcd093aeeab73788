"""A user's own pairs: a line in params.yaml, from the file to the summary."""

import json
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from gradrank.data.synthetic import generate
from gradrank.files import sha256

ON_PAIRS = {"ranknet_linear", "ranksvm"}


@pytest.fixture
def own(project, tmp_path):
    """Queries of eight documents in three files, and for every two of unequal grades a preference for the worse one."""
    generate("net", 10, 8, 3, tmp_path / "text")
    data, pairs, rows = tmp_path / "my own", tmp_path / "my pairs.csv", []
    data.mkdir()
    for number, split in enumerate(("train", "vali", "test"), start=1):
        text = (tmp_path / f"text/S{number}.txt").read_text()
        (data / f"{split}.txt").write_text(text)
        rows += against(text)
    pairs.write_text("\n".join(["qid,first_row,second_row,target", *rows]) + "\n")
    project.params(
        datasets={"my_data": {"path": str(data), "pairs": str(pairs)}},
        run={"models": [*sorted(ON_PAIRS), "single_feature"]},
    )
    return pairs


def against(text: str) -> Iterator[str]:
    rows = [line.split()[:2] for line in text.splitlines()]
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
    assert summary.keys() == {*ON_PAIRS, "single_feature"}
    grades = pl.read_parquet(project.root / "data/parquet/my_data/part1.parquet")["label"].to_numpy()
    for model in ON_PAIRS:
        scores = pl.read_parquet(results / model / "fold1/scores.parquet").filter(split="train")["score"]
        assert np.corrcoef(grades, scores)[0, 1] < -0.3  # as the pairs say, against the grades
    record = json.loads((results / "provenance.json").read_text())
    assert record["data"]["given_sha256"] == sha256(own)
    assert "my_data: pairs" not in project.gradrank("verify")

    own.write_text(own.read_text().replace(",0.1\n", ",0.2\n", 1))
    assert f"{own}: not the pairs that are stored" in project.gradrank("verify")
    jobs = project.planned("my_data")
    assert jobs["pairs", "my_data", None] == 1 and jobs["parse", "my_data", None] == 0
    assert {model for rule, _, model in jobs if rule == "train"} == ON_PAIRS


def test_a_pair_that_cannot_be_is_named_and_no_model_of_pairs_is_trained(project, own):
    own.write_text(own.read_text().replace(",0.1\n", ",1.1\n", 1))
    output = project.snakemake("--cores", "2", "my_data", ok=False)
    assert "line 2, column 'target': expected a probability from 0 to 1, found '1.1'" in output
    assert not [
        path for model in ON_PAIRS for path in project.root.glob(f"results/my_data/{model}/*/spec.json")
    ]


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
