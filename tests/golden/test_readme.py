"""README.md shows the numbers of the committed results."""

from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.report.tables.readme import result_table, with_table

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "results/studies/contest/numbers.json"


@pytest.fixture
def text() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_shows_the_committed_contest(text):
    assert with_table(text, result_table(read_json(NUMBERS), "mq2007")) == text, "run `make readme`"


def test_a_changed_number_is_noticed(text):
    numbers = read_json(NUMBERS)
    numbers["results_mq2007"][0]["ndcg@10"] += 0.0001
    assert with_table(text, result_table(numbers, "mq2007")) != text


def test_methods_that_are_not_separated_from_the_first_are_bold():
    values = {"ndcg@10": 0.5, "map": 0.5, "mean_ndcg": 0.5, "p@10": 0.5}
    values |= {f"{name} half": 0.01 for name in tuple(values)}
    named = ("one", "near", "below", "constant score, file order")
    verdicts = {("one", "near"): "not separated", ("one", "below"): "better", ("near", "below"): "better"}
    numbers = {
        "results_tiny": [{"method": name} | values for name in named],
        "pairs_tiny": [{"first": a, "second": b, "verdict": verdict} for (a, b), verdict in verdicts.items()],
    }
    lines = result_table(numbers, "tiny").splitlines()[2:]
    shown = [line.split(" | ")[1] for line in lines]
    assert shown == ["**0.5000** ± 0.0100"] * 2 + ["0.5000 ± 0.0100"] * 2


def test_readme_without_markers_is_refused():
    with pytest.raises(GradrankError, match="markers"):
        with_table("# gradrank\n", "| table |")
