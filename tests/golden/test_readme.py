"""README and committed results say the same."""

from pathlib import Path

import pytest

from gradrank.errors import GradrankError
from gradrank.evaluation.per_query import read_compact
from gradrank.report.tables.readme import result_table, with_table
from gradrank.results import DataSet

ROOT = Path(__file__).parents[2]
OWN = DataSet(ROOT / "results/mq2007")


def test_readme_shows_the_committed_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = result_table(OWN.summary(), read_compact(OWN), "mq2007")
    assert with_table(text, table) == text, "run `make readme`"


def test_a_changed_number_is_noticed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    summary = OWN.summary()
    summary["ranksvm"]["ndcg@10"] += 0.0001
    assert with_table(text, result_table(summary, read_compact(OWN), "mq2007")) != text


def test_readme_without_markers_is_refused():
    with pytest.raises(GradrankError, match="markers"):
        with_table("# gradrank\n", "| table |")
