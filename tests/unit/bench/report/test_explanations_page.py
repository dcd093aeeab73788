"""The page of explanations, from a made explanations.json: texts, tables, positions of dots and lengths of bars."""

import re

import pytest

from gradrank.base.stamps import write_sealed
from gradrank.bench.report.pages.explanations import MOST_BARS, MOST_FEATURES, agreement_sentence, choice_sentence
from gradrank.bench.report.plots.row_plots import Measured, interval_rows, signed_bars
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.results import DatasetFolder
from made_results import make_results
from rendered import Document, rendered

MODELS = ("lambdamart", "ranksvm")
HOSTILE = "<b>a & 'b'"  # a column name of a table
FEATURES = [HOSTILE, *(f"f{number}" for number in range(1, 20))]


def importances(order: list[str]) -> list[dict]:
    """Return importances in which the first feature is the most important."""
    drops = [0.2 / (place + 1) for place in range(len(order))]
    return [
        {"feature": feature, "drop": drop, "low": drop - 0.01, "high": drop + 0.01}
        for feature, drop in zip(order, drops, strict=True)
    ]


def contributions(values: list[float]) -> list[dict]:
    rows = zip(FEATURES, values, strict=True)
    return [{"feature": name, "a": 1.0, "b": None, "contribution": value, "error": 0.5} for name, value in rows]


FIRST = [4.0, -2.0, *(0.1 for _ in FEATURES[2:])]  # their sum is positive, so the first method prefers A
SECOND = [-1.0, -1.0, *(0.0 for _ in FEATURES[2:])]
SHIFTED = FEATURES[3:] + FEATURES[:3]


def content(**changes) -> dict:
    pair = {
        "fold": 2,
        "query": "<i>",
        "size": 40,
        "documents": [{"number": 3, "docid": "GX1 & GX2", "grade": 2}, {"number": 9, "docid": None, "grade": 0}],
        "methods": [
            {
                "model": "lambdamart",
                "value": 0.9,
                "ranks": [1, 5],
                "scores": [7.8, 4.0],
                "contributions": contributions(FIRST),
            },
            {
                "model": "ranksvm",
                "value": 0.2,
                "ranks": [8, 2],
                "scores": [0, 2.0],
                "contributions": contributions(SECOND),
            },
        ],
    }
    method = {"mean": 0.5, "is_worse": False}
    return {
        "metric": "ndcg@10",
        "convention": "letor4",
        "repeats": 5,
        "has_several_seeds": False,
        "methods": [
            method | {"model": "lambdamart", "family": "trees", "importance": importances(FEATURES)},
            method | {"model": "ranksvm", "family": "RankSVM", "importance": importances(SHIFTED)},
        ],
        "agreement": [{"first": "lambdamart", "second": "ranksvm", "tau": 0.25}],
        "opponents": ["lambdamart", "ranksvm"],
        "pairs": [pair],
        "inputs": {},
    } | changes


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("page")
    summary(make_results(root, "mq2007", MODELS), MODELS, "letor4")
    return root


def shown(root, **changes) -> str:
    """Return the HTML of the report with a made explanations.json."""
    write_sealed(DatasetFolder(root / "results/mq2007").explanations_path, content(**changes))
    return rendered(root)


def words(text: str) -> str:
    return " ".join("".join(Document(text).text).split())


def test_the_page_is_linked_nested_and_escaped(root):
    document = Document(shown(root))
    ids = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) and "explanations-mq2007" in ids
    targets = [attributes.get("href") for _, attributes in document.tags]
    assert targets.count("#explanations-mq2007") == 2, "in the navigation and on the page of the data set"
    assert "#data-mq2007" in targets
    for (tag, attributes), parents in zip(document.tags, document.parents, strict=True):
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if tag == "svg":
            named = attributes.get("role") == "img" and attributes.get("aria-label")
            assert named or "aria-hidden" in attributes or "svg" in parents
    assert HOSTILE in "".join(document.text) and f'<th scope="row">{HOSTILE}' not in shown(root)
    assert "GX1 & GX2" in "".join(document.text) and "<i>" in "".join(document.text)


def test_tables_hold_every_feature_and_plots_the_largest(root):
    document = Document(shown(root))
    assert [row[0]["text"] for row in document.table("importances")[1:]].count(HOSTILE) == 1
    assert len(document.table("importances")) == len(FEATURES) + 1
    rows = [table["rows"] for table in document.tables if "features" in table["attributes"].get("class", "").split()]
    plotted, bars = ([row[0]["text"] for row in table[1:-1]] for table in rows)
    assert len(plotted) == MOST_FEATURES and {FEATURES[0], SHIFTED[0]} <= set(plotted)
    assert len(bars) == MOST_BARS + 2 and bars[-2:] == [f"{len(FEATURES) - MOST_BARS} others", "sum"]
    first, *_ = document.table("contributions")[1:]
    assert [cell["text"].strip() for cell in first] == [HOSTILE, "1", "–", "+4.0000 ±0.5000", "−1.0000 ±0.5000"]


def test_the_text_says_which_document_each_method_prefers_and_why(root):
    text = words(shown(root))
    assert "`" not in text.partition("Explanations:")[2].partition("Where")[0]
    for model, ranks, reasons in (
        ("lambdamart", "A at rank 1 and B at rank 5 of 40", f"{HOSTILE} (51%), "),
        ("ranksvm", "A at rank 8 and B at rank 2 of 40", f"{HOSTILE} (50%) and f1 (50%) favour B most."),
    ):
        assert f"{model} puts {ranks} documents. {reasons}" in text
    assert "f1 (26%) favours B most" in text and "NDCG@10 is 0.9000 for lambdamart and 0.2000 for ranksvm" in text


def test_one_method_has_no_comparison_and_no_method_no_page(root):
    only = content()["methods"][:1]
    text = shown(root, methods=only, agreement=[], opponents=["lambdamart"], pairs=[])
    article = re.search(r'<article class="page" id="explanations-mq2007".*?</article>', text, re.DOTALL)[0]
    assert "the only method" in article and "Kendall" not in article and "isagree" not in article
    assert 'id="explanations-mq2007"' not in shown(root, methods=[], agreement=[], opponents=[], pairs=[])


@pytest.mark.parametrize(("tau", "verdict"), [(1.0, "agree well"), (0.3, "agree in part"), (-0.2, "do not agree")])
def test_the_verdict_follows_tau_and_names_shared_and_other_features(tau, verdict):
    agreement = [{"first": "lambdamart", "second": "ranksvm", "tau": tau}]
    sentence = agreement_sentence(content(agreement=agreement))
    assert verdict in sentence and f"{abs(tau):.2f}" in sentence
    assert "both have `f3` and `f4`, only `lambdamart` has" in sentence and f"`{HOSTILE}`" in sentence
    equal = [method | {"importance": importances(FEATURES)} for method in content()["methods"]]
    assert "Both have the same 5" in agreement_sentence(content(methods=equal, agreement=agreement))
    undefined = [{"first": "lambdamart", "second": "ranksvm", "tau": None}]
    assert "cannot be compared" in agreement_sentence(content(agreement=undefined))


def test_the_choice_names_a_worse_method_and_untested_methods():
    first, second = content()["methods"]
    assert "significantly worse" not in choice_sentence(content())
    worse = content(methods=[first, second | {"is_worse": True}])
    assert "`ranksvm`, which is significantly worse" in choice_sentence(worse)
    third = first | {"model": "mart"}
    assert "`mart`, which is not significantly worse than `lambdamart`" in choice_sentence(
        content(methods=[first, second, third])
    )
    untested = [method | {"is_worse": None} for method in (first, second, third)]
    assert "significantly" not in choice_sentence(content(methods=untested))


def numbers(drawing: str, attribute: str, tag: str) -> list[float]:
    return [float(value) for value in re.findall(rf'<{tag} [^>]*?\b{attribute}="([\d.]+)%', drawing)]


def test_bars_start_at_zero_and_have_lengths_in_proportion_to_the_values():
    values = {"f1": [30.0, -10.0], "f2": [0.0, 60.0]}
    for name, row in zip(values, signed_bars(["a", "b"], values).rows, strict=True):
        starts, widths = numbers(row.drawing, "x", "rect"), numbers(row.drawing, "width", "rect")
        unit = 50 / (60 * 1.05)
        for value, start, width in zip(values[name], starts, widths, strict=True):
            assert width == pytest.approx(abs(value) * unit, abs=0.02)
            assert start == pytest.approx(50 + min(value, 0) * unit, abs=0.02)


def test_dots_and_intervals_have_positions_in_proportion_to_the_values():
    rows = {"f1": [Measured(0.1, 0.0, 0.2), Measured(0.4, None, None)]}
    (row,) = interval_rows(["a", "b"], rows).rows
    first, second = numbers(row.drawing, "cx", "circle")
    low, high = (
        numbers(re.search(r'<line [^>]*class="bar[^>]*>', row.drawing)[0], end, "line")[0] for end in ("x1", "x2")
    )
    assert first == pytest.approx((low + high) / 2, abs=0.02)
    assert (second - first) / (high - low) == pytest.approx(0.3 / 0.2, abs=0.001)
    assert len(re.findall('class="bar', row.drawing)) == 1, "the second interval is undefined"
