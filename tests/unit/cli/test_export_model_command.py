"""The command `gradrank export-model`: names, the check on data, and its exit codes."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, write_json
from gradrank.bench.cli import app
from gradrank.export.formats.linear import LinearReader
from gradrank.models.single_feature import SingleFeature

TEXT = "".join(f"0 qid:{1 + row // 3} 1:{row % 4} 2:{row % 3 - 1}.5 3:{row}\n" for row in range(9))


@pytest.fixture
def folder(tmp_path):
    """A trained fold without feature names, one with names, and data for each."""
    for name, own in (("text", {}), ("table", {"names": ["bm25", "tf", "age"]})):
        (tmp_path / name / "model").mkdir(parents=True)
        SingleFeature(1, 1).save(tmp_path / name / "model")
        write_json(tmp_path / name / "spec.json", {"model": "single_feature", "features": 3, "missing": "keep"} | own)
    (tmp_path / "new.txt").write_text(TEXT, encoding="utf-8")
    rows = {"qid": [1, 1, 2], "age": [1.0, 2.0, 3.0], "tf": [0.25, 0.5, 0.75], "bm25": [3.0, 2.0, 1.0]}
    pl.DataFrame(rows).write_csv(tmp_path / "new.csv")
    return tmp_path


def invoke(folder, fold, *options, out="w.json"):
    command = ["export-model", str(folder / fold), "--to", "linear", "--out", str(folder / out)]
    return CliRunner().invoke(app, [*command, *map(str, options)])


@pytest.mark.parametrize(("fold", "data", "rows"), [("text", "new.txt", 9), ("table", "new.csv", 3)])
def test_a_checked_export_prints_the_file_and_the_largest_difference(fold, data, rows, folder):
    done = invoke(folder, fold, "--check", folder / data)
    assert done.exit_code == 0, done.output
    path, result = done.stdout.splitlines()
    assert path == str(folder / "w.json") and result.startswith(f"{rows} documents ") and " 0 " in result


def test_names_from_a_file_are_used_in_the_output_and_in_the_check(folder):
    (folder / "names.txt").write_text("x\ny\nz\n", encoding="utf-8")
    done = invoke(folder, "table", "--names", folder / "names.txt", "--check", folder / "new.csv")
    assert done.exit_code == 0, done.output
    assert read_json(folder / "w.json")["weights"] == {"x": 0.0, "y": 1.0, "z": 0.0}


def test_columns_of_the_data_can_be_declared(folder):
    table = pl.read_csv(folder / "new.csv").rename({"qid": "search"}).with_columns(comment=pl.lit("x"))
    table.write_csv(folder / "new.csv")
    done = invoke(folder, "table", "--check", folder / "new.csv", "--query", "search", "--ignore", "comment")
    assert done.exit_code == 0, done.output


def test_other_scores_are_an_error(folder, monkeypatch):
    original = LinearReader.scores
    monkeypatch.setattr(LinearReader, "scores", lambda self, *arguments: original(self, *arguments) + 0.1)
    done = invoke(folder, "text", "--check", folder / "new.txt")
    assert done.exit_code == 1 and isinstance(done.exception, GradrankError)
    assert "query 1, document 1" in str(done.exception)


@pytest.mark.parametrize("missing", ["--names", "--check"])
def test_nothing_is_written_if_an_input_is_missing(missing, folder):
    done = invoke(folder, "text", missing, folder / "absent.txt")
    assert done.exit_code == 1 and "absent.txt" in str(done.exception)
    assert not (folder / "w.json").exists()


def test_csv_and_json(folder):
    for out in ("w.json", "w.csv"):
        assert invoke(folder, "table", out=out).exit_code == 0
    assert json.loads((folder / "w.json").read_text())["weights"]["tf"] == 1.0
    assert (folder / "w.csv").read_text().splitlines() == [
        "feature,weight",
        "(intercept),0.0",
        "bm25,0.0",
        "tf,1.0",
        "age,0.0",
    ]
