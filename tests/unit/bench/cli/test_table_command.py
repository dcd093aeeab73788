"""The command `gradrank table`."""

import polars as pl
import pytest
from typer.testing import CliRunner

from gradrank import table
from gradrank.base.errors import GradrankError
from gradrank.bench.cli import app
from gradrank.bench.report.tables.summary import summary
from made_results import make_results

MODELS = ("lambdamart", "mart", "ranksvm")


@pytest.fixture
def folder(tmp_path):
    folder = make_results(tmp_path, "my_data", MODELS)
    summary(folder, MODELS, "letor4")
    return folder


def invoke(*words):
    return CliRunner().invoke(app, ["table", *map(str, words)])


def test_the_command_prints_what_the_function_returns(folder):
    whole = table(folder)
    chosen = table(folder, methods=["mart", "ranksvm"], metrics=["map", "p@10"], convention="standard", intervals=True)
    options = ("--convention", "standard", "--intervals")
    for words in (
        ("--methods", "mart", "ranksvm", "--metrics", "map", "p@10"),
        ("--methods", "mart,ranksvm", "--metrics", "map,p@10"),
        ("--methods", "mart", "--methods", "ranksvm", "--metrics", "AP", "P@10"),
    ):
        assert invoke(folder, *words, *options).stdout == f"{chosen.to_markdown()}\n"
    assert invoke(folder).stdout == f"{whole.to_markdown()}\n"
    assert invoke("--format", "latex", folder).stdout == f"{whole.to_latex()}\n"
    assert invoke(folder, "--format", "csv").stdout == whole.to_csv()


def test_the_suffix_of_the_file_names_the_format(folder, tmp_path):
    whole = table(folder)
    for name, text in (
        ("a.tex", f"{whole.to_latex()}\n"),
        ("a.csv", whole.to_csv()),
        ("a.md", f"{whole.to_markdown()}\n"),
    ):
        assert invoke(folder, "--out", tmp_path / name).exit_code == 0
        assert (tmp_path / name).read_text() == text
    assert invoke(folder, "--out", tmp_path / "a.txt", "--format", "latex").exit_code == 0
    assert (tmp_path / "a.txt").read_text() == f"{whole.to_latex()}\n"
    assert pl.read_csv(tmp_path / "a.csv").equals(whole.frame)


def test_without_results_or_with_an_unknown_name_there_is_an_error(folder):
    assert invoke().exit_code == 2
    error = invoke(folder, "--methods", "mrat").exception
    assert isinstance(error, GradrankError) and "did you mean 'mart'" in str(error)
