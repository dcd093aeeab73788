"""README and committed results say the same."""

from pathlib import Path

import pytest

from gradrank.errors import GradrankError
from gradrank.files import read_json
from gradrank.report.tables.readme import result_table, with_table

ROOT = Path(__file__).parents[2]


def test_readme_shows_the_committed_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = result_table(read_json(ROOT / "results/mq2007/summary.json"), "mq2007")
    assert with_table(text, table) == text, "run `make readme`"


def test_a_changed_number_is_noticed():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    summary = read_json(ROOT / "results/mq2007/summary.json")
    summary["ranksvm"]["ndcg@10"] += 0.0001
    assert with_table(text, result_table(summary, "mq2007")) != text


def test_readme_without_markers_is_refused():
    with pytest.raises(GradrankError, match="markers"):
        with_table("# gradrank\n", "| table |")
