"""`gradrank models` has one line per model, and `--long` everything."""

import pytest
from typer.testing import CliRunner

from gradrank.bench.cli import app
from gradrank.training.literature.model_tables import model_table


def lines(*words: str, columns: int) -> list[str]:
    done = CliRunner().invoke(app, ["models", *words], env={"COLUMNS": str(columns)})
    assert done.exit_code == 0
    return done.output.splitlines()


@pytest.mark.parametrize("columns", [80, 120])
def test_each_model_has_one_line_within_the_terminal(columns):
    found, table = lines(columns=columns), model_table()
    assert max(map(len, found)) <= columns
    assert len(found) <= table.height + table["family"].n_unique() + 4
    names = [line.split()[0] for line in found if line[:1].strip()]
    assert [names.count(name) for name in table["name"]] == [1] * table.height


def test_long_shows_what_a_model_needs_and_the_whole_summary():
    text = " ".join(" ".join(lines("--long", columns=300)).split())
    assert "pip install 'gradrank[nets]'" in text and "weights of queries" in text
    assert all(" ".join(summary.split()) in text for summary in model_table()["summary"])


def test_a_name_shows_the_parameters():
    assert any("learning_rate" in line for line in lines("lambdamart", columns=120))
