"""Text in the forms of LightGBM and XGBoost is read as the equal LETOR text."""

import lightgbm
import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.parse import parse
from gradrank.data.tables.roles import Columns

SIZES = [3, 2, 4, 2, 2, 3]
DRAW = np.random.default_rng(0)
VALUES = DRAW.random((sum(SIZES), 4)).round(3)
LABELS = DRAW.integers(0, 3, sum(SIZES)).tolist()
QUERIES = np.repeat(np.arange(1, len(SIZES) + 1), SIZES).tolist()


def text(first=1, with_ids=True, order=None):
    rows = range(len(LABELS)) if order is None else order
    lines = []
    for row in rows:
        features = " ".join(f"{k}:{value}" for k, value in enumerate(VALUES[row], start=first))
        lines.append(f"{LABELS[row]}{f' qid:{QUERIES[row]}' if with_ids else ''} {features}\n")
    return "".join(lines)


def parsed(path, out, columns=Columns()):  # noqa: B008 - frozen
    parse(path, out, 1, "mine", columns=columns)
    return [pl.read_parquet(file) for file in sorted(out.glob("part*.parquet"))]


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "letor.txt").write_text(text())
    return parsed(tmp_path / "letor.txt", tmp_path / "letor")


def check(expected, found):
    assert all(one.equals(other, null_equal=True) for one, other in zip(expected, found, strict=True))


@pytest.mark.parametrize("suffix", [".query", ".group"])
def test_sizes_in_a_side_file_give_the_queries(suffix, expected, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(text(with_ids=False))
    path.with_name(f"data.txt{suffix}").write_text("".join(f"{size}\n" for size in SIZES))
    check(expected, parsed(path, tmp_path / "out"))


def test_features_from_0_are_those_that_lightgbm_reads(expected, tmp_path):
    path = tmp_path / "rank.train"
    path.write_text(text(first=0, with_ids=False))
    path.with_name("rank.train.query").write_text("".join(f"{size}\n" for size in SIZES))
    read = lightgbm.Dataset(
        str(path), params={"verbosity": -1, "min_data_in_bin": 1, "min_data_in_leaf": 1}
    ).construct()
    assert read.get_group().tolist() == SIZES
    assert read.num_feature() == 4
    check(expected, parsed(path, tmp_path / "out", Columns(features_from=0)))


def test_the_digest_covers_the_side_file(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(text(with_ids=False))
    digests = set()
    for sizes in (SIZES, [2, 3, 4, 2, 2, 3]):
        path.with_name("data.txt.query").write_text("".join(f"{size}\n" for size in sizes))
        digests.add(parse(path, tmp_path / "out", 1, "mine")["source_sha256"])
    assert len(digests) == 2


def test_rows_of_a_query_that_are_apart_are_grouped(expected, tmp_path):
    order = sorted(range(len(LABELS)), key=lambda row: (row - sum(SIZES[: QUERIES[row] - 1]), QUERIES[row]))
    path = tmp_path / "data.txt"
    path.write_text(text(order=order))
    with pytest.raises(GradrankError, match="comes back after other queries"):
        parsed(path, tmp_path / "out")
    check(expected, parsed(path, tmp_path / "out", Columns(group_rows=True)))


def test_the_last_value_of_a_repeated_feature_counts(expected, tmp_path):
    path = tmp_path / "data.txt"
    first, rest = text().split("\n", 1)
    label, qid, *features = first.split()
    path.write_text(" ".join([label, qid, "2:9.5", *features[::-1]]) + "\n" + rest)
    check(expected, parsed(path, tmp_path / "out", Columns(repeated="last")))


def test_a_repeated_feature_is_an_error_with_both_values(tmp_path):
    path = tmp_path / "data.txt"
    lines = text().split("\n")
    for features, message in (
        ("1:0.5 2:0.25 2:0.75 3:1", "line 2: .*feature 2 has the values 0.25 and 0.75"),
        ("1:0.5 3:0.25 2:0.75", "line 2: .*feature 2 with the value 0.75 comes after feature 3 with the value 0.25"),
    ):
        path.write_text("\n".join([lines[0], f"1 qid:1 {features}", *lines[2:]]))
        with pytest.raises(GradrankError, match=message):
            parsed(path, tmp_path / "out")


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".query", "3\n2\n", "fewer rows"),
        (".query", "100\n", "more rows"),
        (".query", "3\nx\n", "line 2: expected the number of rows"),
        (".group", "0\n", "line 1: expected the number of rows"),
        (".weight", "1\n", "has weights"),
        (".position", "1\n", "has positions"),
        (".init", "1\n", "has initial scores"),
    ],
)
def test_a_side_file_that_does_not_fit_is_refused(suffix, content, message, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(text(with_ids=False))
    path.with_name(f"data.txt{suffix}").write_text(content)
    with pytest.raises(GradrankError, match=message):
        parsed(path, tmp_path / "out")


def test_a_folder_of_lightgbm_s_example_is_one_fold(tmp_path):
    folder = tmp_path / "lambdarank"
    folder.mkdir()
    for split, seed in (("train", 0), ("test", 1)):
        values = np.random.default_rng(seed).random((len(LABELS), 4))
        rows = zip(LABELS, values.tolist(), strict=True)
        content = [f"{y} " + " ".join(f"{k}:{x}" for k, x in enumerate(row, start=1)) for y, row in rows]
        (folder / f"rank.{split}").write_text("\n".join(content) + "\n")
        (folder / f"rank.{split}.query").write_text("\n".join(map(str, SIZES)) + "\n")
    (folder / "train.conf").write_text("task = train\n")
    description = parse(folder, tmp_path / "out", 1, "mine")
    assert len(description["folds"]) == 1
    assert description["rows"] == 2 * len(LABELS)
