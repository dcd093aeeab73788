"""The leaderboard of the documentation site shows the numbers of the committed files."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from boards import Submission, board_rows, boards, cached, run_boards
from data_cards import data_cards
from documentation_blocks import ROOT
from gradrank.bench.folds.per_query import read_compact
from gradrank.bench.report.readme import contest_differences
from gradrank.bench.results import Results
from gradrank.comparison.statistics import compare_all, paired_test
from gradrank.data.sources.catalogue import catalogue
from gradrank.training.registry import models
from leaderboard import leaderboard_pages
from method_pages import method_pages

PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())
RESULTS = Results(ROOT / "results")
SHOWN = ("ohsumed", "synthetic_net")  # data sets whose boards take little time
BASELINE = "ranksvm"


class Tables(HTMLParser):
    """The rows of the tables of a page: attributes of the row, and the texts and links of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[tuple[dict, list[str], list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append((dict(attrs), [], []))
        elif tag in ("td", "th") and self.rows:
            self.rows[-1][1].append("")
        elif tag == "a" and self.rows:
            self.rows[-1][2].append(dict(attrs)["href"])

    def handle_data(self, data):
        if self.rows and self.rows[-1][1]:
            self.rows[-1][1][-1] += data.strip("\n")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    """The committed results of ten methods on SHOWN under two conventions, and those of the contest."""
    root = tmp_path_factory.mktemp("results")
    (root / "studies").symlink_to(ROOT / "results/studies")
    for name in SHOWN:
        committed = RESULTS.dataset(name)
        summary = committed.summary()
        kept = {method: summary[method] for method in [*list(summary)[:9], BASELINE] if method in summary}
        (root / name).mkdir()
        (root / name / "summary.json").write_text(json.dumps(kept))
        primary, _ = read_compact(committed.queries_path)
        rows = pl.read_parquet(committed.queries_path)
        other = next(each for each in ("standard", "letor4") if each != primary)
        rows = rows.filter(pl.col("model").is_in(list(kept)), pl.col("convention").is_in([primary, other]))
        rows.write_parquet(root / name / "queries.parquet")
    return Results(root)


@pytest.fixture(scope="module")
def shown(results):
    return list(boards(results.folder, PARAMS))


@pytest.fixture(scope="module")
def pages(shown):
    return leaderboard_pages(shown) | method_pages(shown, PARAMS)


def table_of(pages, board):
    """Return the rows of a board's table by method, with the texts of their cells by heading."""
    text = pages[f"leaderboard/{board.page}.md"]
    section = re.search(rf'data-values="{board.id}-tests".*?</table>', text, re.DOTALL)[0]
    head, *rows = Tables(section).rows
    return {row[0]["data-model"]: (dict(zip(head[1], row[1], strict=True)), row[2]) for row in rows}


def test_a_data_set_has_a_board_and_the_contest_has_its_own(shown):
    assert {board.dataset for board in shown if board.protocol == "run"} == set(SHOWN)
    assert {board.dataset for board in shown if board.protocol == "contest"} == {"ohsumed"}


def test_the_means_of_a_page_are_those_of_the_summary(results, shown, pages):
    labels = {"ndcg@10": "NDCG@10", "map": "MAP", "p@10": "P@10", "ndcg@1": "NDCG@1"}
    for board in (board for board in shown if board.protocol == "run" and board.is_primary):
        rows = table_of(pages, board)
        summary = results.dataset(board.dataset).summary()
        assert rows.keys() == summary.keys()
        for method, means in summary.items():
            for metric, label in labels.items():
                if metric in means:
                    assert float(rows[method][0][label].split()[0]) == means[metric], (board.id, method, metric)


def test_the_means_under_another_convention_are_those_of_the_values_per_query(results, shown, pages):
    others = [board for board in shown if not board.is_primary]
    assert {board.dataset for board in others} == set(SHOWN)
    for board in others:
        _, values = read_compact(results.dataset(board.dataset).queries_path, board.convention)
        for method, (cells, _) in table_of(pages, board).items():
            for metric, label in {"ndcg@10": "NDCG@10", "map": "MAP"}.items():
                shown_mean = float(cells[label].split()[0])
                assert shown_mean == pytest.approx(values[method].mean(metric), abs=5.1e-5), (board.id, method, metric)


def test_the_means_of_the_contest_are_those_of_its_numbers(shown, pages):
    numbers = json.loads(RESULTS.study("contest").numbers_path.read_text())
    for board in (board for board in shown if board.protocol == "contest"):
        rows = table_of(pages, board)
        expected = {row["method"]: row["ndcg@10"] for row in numbers[f"results_{board.dataset}"]}
        found = {method: float(cells["NDCG@10"].split()[0]) for method, (cells, _) in rows.items()}
        assert found == {method: pytest.approx(expected[method], abs=5.1e-5) for method in rows}
        decisions = {row["model"]: row["decision"] for row in contest_differences(numbers, board.dataset)}
        signs = {"better": 1, "worse": -1, "no evidence": 0}
        assert board.decisions["ndcg@10"] == {model: signs[decision] for model, decision in decisions.items()}


@pytest.mark.parametrize("name", SHOWN)
def test_the_differences_are_those_of_the_values_per_query(results, shown, name):
    (board,) = (board for board in shown if board.id == f"{name}-run")
    data = json.loads(json.dumps(board.data()))
    _, values = read_compact(results.dataset(name).queries_path)
    rng, count = np.random.default_rng(0), len(data["models"])
    for metric in data["tests"]:
        assert len(data["tests"][metric]) == count * (count - 1) // 2
        for i, j in (sorted(rng.choice(count, 2, replace=False).tolist()) for _ in range(4)):
            one, two = (values[data["models"][k]] for k in (i, j))
            expected = paired_test(one.values[metric], two.values[metric], one.folds, queries=one.qids)
            found = data["tests"][metric][f"{i},{j}"]
            assert found[:3] == pytest.approx([expected.difference, expected.low, expected.high], abs=5.1e-5)
            assert found[3:6] == [expected.wins, expected.ties, expected.losses]


def test_the_declared_baseline_has_the_correction_for_the_methods_of_the_table(results, shown):
    (board,) = (board for board in shown if board.id == "ohsumed-run")
    _, values = read_compact(results.dataset("ohsumed").queries_path)
    first = values[BASELINE]
    tested = {model: of.values["ndcg@10"] for model, of in values.items()}
    for row in compare_all(tested, first.folds, queries=first.qids, baseline=BASELINE):
        is_clear = row["wilcoxon_holm"] < 0.05 and (row["low"] > 0 or row["high"] < 0)
        expected = int(np.sign(row["difference"])) if is_clear else 0
        assert board.decisions["ndcg@10"][row["model_a"]] == expected


def test_every_row_links_to_parameters_source_bibtex_and_command(shown, pages):
    for board in shown:
        for method, (_, links) in table_of(pages, board).items():
            assert links[0] == f"../methods/{method}.html"
            parts = [link.removeprefix(f"../methods/{method}.html#") for link in links[1:]]
            assert parts == ["parameters", "source", "bibtex", "reproduce"]
            for part in parts:
                assert f"{{ #{part} }}" in pages[f"methods/{method}.md"]
            link = f"(../leaderboard/{board.page}.md#{board.id})"
            assert (link in pages[f"methods/{method}.md"]) == board.is_primary


def test_a_method_page_has_the_values_of_params_yaml(pages):
    for name, values in PARAMS["models"].items():
        block = re.search(r"~~~yaml\n(.*?)~~~", pages[f"methods/{name}.md"], re.DOTALL)[1]
        assert yaml.safe_load(block) == values
    assert "~~~yaml" not in pages["methods/mcrank.md"]


def test_the_table_of_all_boards_has_the_means_of_the_pages(shown, pages):
    rows = board_rows(shown)
    assert rows["mean"].dtype == rows["half_width"].dtype == pl.Float64 and rows["may_be_best"].dtype == pl.Boolean
    keys = ("dataset", "convention", "protocol", "method", "metric")
    assert len(rows) == len(rows.unique(keys)) == sum(len(e.cells) for board in shown for e in board.entries)
    for board in shown:
        of_board = rows.filter(
            dataset=board.dataset, convention=board.convention, protocol=board.protocol, metric="map"
        )
        cells = {method: cells["MAP"] for method, (cells, _) in table_of(pages, board).items()}
        assert {row["method"]: f"{row['mean']:.4f}" for row in of_board.to_dicts()} == {
            method: text.split()[0] for method, text in cells.items()
        }


def test_stored_boards_give_the_same_pages_and_another_key_makes_them_again(shown, pages, tmp_path):
    calls = []

    def make():
        calls.append(1)
        return shown

    for key, count in (("a", 1), ("a", 1), ("b", 2)):
        found = cached(tmp_path / "boards.json", key, make)
        assert len(calls) == count
        assert leaderboard_pages(found) | method_pages(found, PARAMS) == pages


def test_a_data_card_has_the_facts_of_the_catalogue_and_the_boards(shown):
    cards = data_cards(shown)
    assert cards.keys() == {f"collections/{name}.md" for name in (*catalogue(), "index")}
    for name, entry in catalogue().items():
        card = cards[f"collections/{name}.md"]
        files = [file.name for file in (*entry.archives, *entry.files)]
        wanted = [
            entry.title,
            entry.citation,
            entry.licence,
            *files,
            *(f"{count:,}" for count in entry.labels.values()),
        ]
        assert [text for text in wanted if text not in card] == []
        assert ("leaderboard/" in card) == (name in SHOWN)
        assert f"{name}.md" in cards["collections/index.md"]
    (board,) = (board for board in shown if board.id == "ohsumed-run")
    assert f"[`{board.convention}`]" in cards["collections/ohsumed.md"]


def test_a_method_page_has_a_card_of_its_properties(pages):
    cards = {name: pages[f"methods/{name}.md"].partition("{ #card }")[2].partition("##")[0] for name in models()}
    for name, cls in models().items():
        assert ("missing values | accepted" in cards[name]) == cls.takes_missing
        assert ("`pip install" in cards[name]) == bool(cls.extra)


def test_a_page_is_small(pages):
    assert max(len(text.encode()) for uri, text in pages.items() if uri.startswith("leaderboard/")) < 1_000_000


def test_a_submission_is_a_row_and_equals_the_method_whose_values_it_repeats(tmp_path):
    rows = pl.read_parquet(RESULTS.dataset("synthetic_net").queries_path)
    (tmp_path / "mine").mkdir()
    copy = rows.filter(model="lambdamart").with_columns(model=pl.lit("mine"))
    copy.write_parquet(tmp_path / "mine/queries.parquet")
    about = {"dataset": "synthetic_net", "method": "mine", "convention": rows["convention"][0], "year": 2026}
    board = next(run_boards(RESULTS, "synthetic_net", PARAMS, [Submission(tmp_path / "mine", about)]))
    entries = {entry.method: entry for entry in board.entries}
    assert (entries["mine"].family, entries["mine"].year) == ("submissions", "2026")
    assert entries["mine"].page == "../submissions/synthetic_net/mine"
    assert entries["mine"].cells["ndcg@10"][:2] == entries["lambdamart"].cells["ndcg@10"][:2]
    i, j = sorted([board.data()["models"].index(name) for name in ("mine", "lambdamart")])
    assert board.tests["ndcg@10"][f"{i},{j}"][:6] == [0, 0, 0, 0, len(copy.filter(convention=rows["convention"][0])), 0]
    known = about | {"method": "lambdamart"}  # the model has entered the summary
    board = next(run_boards(RESULTS, "synthetic_net", PARAMS, [Submission(tmp_path / "mine", known)]))
    assert {entry.family for entry in board.entries if entry.method == "lambdamart"} != {"submissions"}
    copy.with_columns(convention=pl.lit("another")).write_parquet(tmp_path / "mine/queries.parquet")
    with pytest.raises(ValueError, match=r"Fix: "):
        next(run_boards(RESULTS, "synthetic_net", PARAMS, [Submission(tmp_path / "mine", about)]))


def test_a_data_set_has_a_page_for_each_convention_of_its_committed_values(tmp_path):
    folder = Path(shutil.copytree(RESULTS.dataset("synthetic_net").folder, tmp_path / "synthetic_net"))
    path = folder / "queries.parquet"
    primary, values = read_compact(path)
    rows = pl.read_parquet(path).filter(convention=primary)
    lowered = rows.with_columns(convention=pl.lit("standard"), map=pl.col("map") / 2)
    pl.concat([rows, lowered]).write_parquet(path)
    shown = list(boards(tmp_path, PARAMS))
    assert [(board.page, board.is_primary) for board in shown] == [
        ("synthetic_net", True),
        ("synthetic_net-standard", False),
    ]
    pages = leaderboard_pages(shown)
    assert "[standard](synthetic_net-standard.md)" in pages["leaderboard/synthetic_net.md"]
    for model, (cells, _) in table_of(pages, shown[1]).items():
        assert float(cells["MAP"].split()[0]) == pytest.approx(values[model].mean("map") / 2, abs=6e-5)
