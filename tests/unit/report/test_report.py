"""The report as a browser would read it: parsed with html.parser, compared with the per-query values."""

import itertools
import json
import re
import shutil
from xml.etree import ElementTree

import polars as pl
import pytest

from gradrank.errors import GradrankError
from gradrank.files import write_json
from gradrank.learning.model import get_model
from gradrank.report.contents import Fold
from gradrank.report.document import report as render
from gradrank.report.document import write_test_queries
from gradrank.report.plots.svg import Scale, padded, thin
from gradrank.report.tables.numbers import number, seconds
from gradrank.report.tables.summary import summary
from gradrank.report.tables.summary_tables import read_tables
from gradrank.report.tables.verdicts import MARKS
from gradrank.results import Results
from made_results import CONVENTIONS, METRICS, make_results
from rendered import Document, rendered

MODELS = ("lambdamart", "ranksvm")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("study")
    for dataset in ("mq2007", "synthetic_net"):
        summary(make_results(root, dataset, MODELS), MODELS, "letor4")
    (root / "params.yaml").write_text("seed: 2005 # <b>not markup</b>\n")
    return root


@pytest.fixture
def root(study, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(study, tmp_path / "study")


def means(root, dataset, convention):
    """{model: {metric: mean}} straight from per_query.parquet."""
    found = {}
    for model in MODELS:
        frame = pl.read_parquet(root / "results" / dataset / model / "per_query.parquet")
        test = frame.filter((pl.col("split") == "test") & (pl.col("convention") == convention))
        found[model] = (
            test.group_by("fold").agg(pl.col(METRICS).mean()).select(METRICS).mean().row(0, named=True)
        )
    return found


def test_main_table_prints_the_per_query_means(root):
    rows = Document(rendered(root)).table("main")
    assert [cell["text"].strip() for cell in rows[0]][1:4] == ["NDCG@1", "NDCG@3", "NDCG@5"]
    expected = means(root, "mq2007", "letor4")
    by = [row[0]["text"] for row in rows[1:]]
    assert by == sorted(MODELS, key=lambda model: -expected[model]["ndcg@10"])  # the best first
    assert rows[0][METRICS.index("ndcg@10") + 1]["sort"] == "descending"
    for head, *cells in rows[1:]:
        for metric, cell in zip(METRICS, cells, strict=True):
            mean, half_width = re.fullmatch(r"(0\.\d{4}) ±(0\.\d{4})", cell["text"].strip()).groups()
            assert float(mean) == pytest.approx(expected[head["text"]][metric], abs=5.001e-5)
            assert float(half_width) > 0
            highest = max(round(values[metric], 4) for values in expected.values())
            assert ("best" in cell["class"].split()) == (float(mean) == highest)


def test_how_the_columns_were_understood_is_shown(root):
    path = root / "data/parquet/mq2007/collection.json"
    meta = json.loads(path.read_text())
    feature = {"role": "feature", "column": "a<b", "type": "Float64", "count": 4, "missing": 0.2}
    roles = [
        feature | {"low": -1.5, "high": 2.0},
        {"role": None, "column": "", "type": "Int64", "reason": "an index"},
    ]
    path.write_text(json.dumps(meta | {"roles": roles, "note": "WARNING: 1 of 3 queries"}))
    document = Document(rendered(root))
    path.write_text(json.dumps(meta))
    texts = [[cell["text"].strip() for cell in row] for row in document.table("roles")[1:]]
    assert texts[0] == ["feature", "a<b", "Float64", "4", "-1.5", "2", "20.0%"]
    assert texts[1] == ["set aside", "", "Int64", "an index"]
    assert "WARNING: 1 of 3 queries" in "".join(document.text)


def test_switch_holds_every_convention(root):
    text = rendered(root)
    stored = json.loads(re.search(r'id="data-mq2007-values">(.*?)</script>', text).group(1))
    assert list(stored["cells"]) == list(CONVENTIONS)
    for convention in CONVENTIONS:
        for model, expected in means(root, "mq2007", convention).items():
            printed = [float(mean) for mean, _, _ in stored["cells"][convention][model]]
            assert printed == pytest.approx([expected[metric] for metric in METRICS], abs=5.001e-5)
        assert stored["summaries"][convention]


def test_convention_is_named_with_every_result(root):
    text = rendered(root)
    assert 'Results under <code class="convention-name">letor4</code>' in text
    assert "NDCG@10 under <code>letor4</code>" in text
    assert 'Results under <code class="convention-name">standard</code>' in rendered(root, "standard")


def test_published_values_and_verdicts(root):
    rows = Document(rendered(root)).table("published")
    published = {row[1]["text"].split()[0]: row for row in rows[1:]}
    assert set(published) == {"RankSVM-Struct", "RankSVM"}
    ours = means(root, "mq2007", "letor4")["ranksvm"]["ndcg@10"]
    cell = published["RankSVM"][3 + METRICS.index("ndcg@10")]["text"].split()
    assert cell[0] == "0.4383"
    assert float(cell[2].replace("−", "-")) == pytest.approx(ours - 0.4383, abs=5.001e-5)
    (row,) = (
        row
        for row in read_tables(root / "results/mq2007/tables")["published"]
        if (row["method"], row["metric"]) == ("RankSVM", "ndcg@10")
    )
    assert cell[1] == MARKS[row["verdict"]]
    assert " ".join(cell[3:]) == f"{row['verdict']} {row['alike']}/{row['others']}"


def test_offline(root):
    """Nothing is fetched: no address in an attribute that loads, no import or url() in the styles."""
    text = rendered(root)
    for tag, attributes in Document(text).tags:
        for name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1)
    assert not re.search(r"@import|url\(", style)
    assert "fetch(" not in text and "XMLHttpRequest" not in text


def test_accessible_structure(root):
    document = Document(rendered(root))
    tags = document.tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert ("html", {"lang": "en"}) in tags
    for (tag, attributes), parents in zip(tags, document.parents, strict=True):
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in ids
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids
        if tag == "svg":
            named = attributes.get("role") == "img" and attributes.get("aria-label")
            assert named or "aria-hidden" in attributes or "svg" in parents
        if tag == "th" and "row" in attributes:
            assert attributes.get("scope") in ("row", "col")
        if tag == "table":
            assert attributes.get("aria-labelledby")


def test_every_topic_has_its_section(root):
    text = rendered(root)
    for topic in ("results", "published", "spread", "curves", "cost"):
        assert f'id="data-mq2007-{topic}"' in text
    assert "ab" * 32 in text and "2.4.0" in text
    document = Document(text)
    words = "".join(document.text)
    assert "45" in words and "2,000" in words, "queries and rows of the data set"
    costs = {row[0]["text"]: [cell["text"].strip() for cell in row[1:]] for row in document.table("cost")[1:]}
    assert costs["ranksvm"] == ["4.00 s", "6.00 s", "25.0 s", "305 MB", "1.3 kB", "6.00 µs"]


def test_size_and_speed_that_no_job_measured_are_dashes(root):
    for path in root.glob("results/*/ranksvm/*/timing.json"):
        path.write_text('{"seconds": 2, "fit_seconds": 1, "peak_memory_mb": 300}')
    cells = {row[0]["text"]: row[-2:] for row in Document(rendered(root)).table("cost")[1:]}
    assert [cell["text"] for cell in cells["ranksvm"]] == ["–", "–"]
    assert [cell["text"] for cell in cells["lambdamart"]] == ["1.3 kB", "6.00 µs"]


def test_equal_results_give_equal_bytes(root):
    assert rendered(root) == rendered(root)


def test_names_and_files_are_escaped(root):
    hostile = "<img src=x>"
    for model in ("lambdamart",):
        path = root / "results" / "mq2007" / model / "fold1" / "spec.json"
        path.write_text(path.read_text().replace('"epochs"', '"</pre><script>"'))
    folder = root / "results" / hostile
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"</script><i>": {"ndcg@10": 0.4}}))
    text = rendered(root)
    assert hostile not in text and "</script><i>" not in text and "<b>not" not in text
    assert "&lt;img src=x&gt;" in text
    Document(text)


def test_only_the_committed_summary(root):
    """A fresh clone has summary.json of studies that it did not run: means without intervals, and why."""
    folder = root / "results" / "ohsumed"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"ranksvm": {"ndcg@10": 0.4412, "map": None}}))
    text = rendered(root)
    page = text[text.index('id="data-ohsumed"') : text.index('id="data-synthetic_net"')]
    assert "0.4412" in page and "snakemake ohsumed" in page and "<svg" not in page


def test_committed_means_stand_apart_from_what_was_run(root):
    folder = root / "results" / "ohsumed"
    folder.mkdir()
    (folder / "summary.json").write_text(
        json.dumps({"mart": {"ndcg@10": 0.3}, "ranksvm": {"ndcg@10": 0.4412}})
    )
    text = rendered(root)
    document = Document(text)
    words = " ".join("".join(document.text).split())
    assert "2 methods on 2 data sets: 20 models trained in 1 min 40 s of job time" in words
    here, committed = (
        table["rows"] for table in document.tables if "glance" in table["attributes"].get("class", "")
    )
    assert [cell["text"] for cell in here[0]] == ["method", "mq2007", "synthetic_net"]
    assert [cell["text"] for cell in committed[0]] == ["method", "ohsumed"]
    assert [row[0]["text"] for row in committed[1:]] == ["ranksvm", "mart"]
    assert "Committed, not of this run" in words and "ohsumed (committed)" in words
    assert "ohsumed" not in (root / "results" / "report" / "overview.csv").read_text()


def test_nothing_was_run_here(root):
    shutil.rmtree(root / "results")
    (root / "results" / "ohsumed").mkdir(parents=True)
    (root / "results" / "ohsumed" / "summary.json").write_text(json.dumps({"ranksvm": {"ndcg@10": 0.4412}}))
    words = " ".join("".join(Document(rendered(root)).text).split())
    assert "Nothing was run here" in words and "models trained" not in words and "0.4412" in words


def test_a_data_set_has_its_own_convention(root):
    (root / "params.yaml").write_text("datasets: {mq2007: {convention: standard}}\n")
    summary(root / "results" / "mq2007", MODELS, "standard")
    text = rendered(root)
    assert "summary.json and the tables differ" not in text
    assert (
        "NDCG@10 under <code>standard</code> (mq2007), NDCG@10 under <code>letor4</code> (synthetic_net)"
        in text
    )
    rows = Document(text).table("main")
    ours = means(root, "mq2007", "standard")
    assert {row[0]["text"]: row[4]["text"].split()[0] for row in rows[1:]} == {
        model: f"{ours[model]['ndcg@10']:.4f}" for model in MODELS
    }


def test_methods_lead_to_their_parameters_and_sources(root):
    for dataset, fold in itertools.product(("mq2007", "synthetic_net"), range(1, 6)):
        path = root / "results" / dataset / "ranksvm" / f"fold{fold}" / "spec.json"
        write_json(
            path, json.loads(path.read_text()) | {"params": {"weighting": "query", "mine": {"a": [1]}}}
        )
    document = Document(rendered(root))
    links = [attributes["href"] for tag, attributes in document.tags if tag == "a"]
    assert links.count("#method-ranksvm") >= 4 and links.count("#method-lambdamart") >= 4
    params = {row[0]["text"]: [cell["text"] for cell in row[1:]] for row in document.table("params")[1:]}
    assert params == {"epochs": [str(20 + 1), ""]}  # of lambdamart, which has no such parameter: no source
    words = " ".join("".join(document.text).split())
    assert (
        "query (default" in words
        and get_model("ranksvm").Params.model_fields["weighting"].description in words
    )
    assert (
        "Joachims: Optimizing Search Engines Using Clickthrough Data, 2002, doi:10.1145/775047.775067"
        in words
    )
    assert '{"a": [1]}' in words


def test_every_figure_is_a_file_that_stands_alone(root):
    rendered(root)
    folder = root / "results" / "report"
    names = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.svg")}
    assert {"mq2007/spread", "mq2007/learning-ranksvm", "synthetic_net/precision-recall"} <= names
    assert len([name for name in names if "-against-" in name]) == 2
    for path in folder.rglob("*.svg"):
        text = path.read_text()
        drawing = ElementTree.fromstring(text)
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg" and float(drawing.get("width")) > 100
        assert "var(" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "stroke: #" in text


def test_own_data_are_called_what_params_say(root):
    (root / "params.yaml").write_text("datasets: {mine: {path: x, title: My & own}}\n")
    make_results(root, "mine", MODELS)
    summary(root / "results" / "mine", MODELS, "letor4")
    assert '<h1 id="data-mine-title">My &amp; own</h1>' in rendered(root)


def test_unfinished_folders_are_listed(root):
    (root / "results" / "mslr" / "ranksvm" / "fold1").mkdir(parents=True)
    assert "No summary yet: mslr." in rendered(root)


def test_stale_summary_is_marked(root):
    path = root / "results" / "mq2007" / "summary.json"
    path.write_text(path.read_text().replace("0.", "0.1", 1))
    assert "summary.json and the tables differ" in rendered(root)
    assert "summary.json and the tables differ" in rendered(root, "standard")


def test_models_left_out_of_the_summary_are_named(root):
    summary(root / "results" / "mq2007", ["ranksvm"], "letor4")
    assert "not part of this summary: lambdamart." in rendered(root)
    about = {"name": "mine", "title": "Mine", "publication": "", "models": ["lambdamart"], "sections": []}
    write_json(root / "results" / "studies" / "mine" / "page.json", about)  # named on a page of its own
    assert "not part of this summary" not in rendered(root)


def test_no_results_at_all(tmp_path):
    with pytest.raises(GradrankError, match=r"no data set with a summary\.json"):
        render(tmp_path / "results", tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_study_alone_is_a_report(tmp_path):
    about = {"name": "mine", "title": "Mine", "publication": "Nobody.", "models": [], "sections": []}
    write_json(tmp_path / "results/studies/mine/page.json", about)
    render(tmp_path / "results", tmp_path / "report.html")
    assert 'id="study-mine"' in (tmp_path / "report.html").read_text()
    write_test_queries(Results(tmp_path / "results"), tmp_path / "queries.parquet")
    assert pl.read_parquet(tmp_path / "queries.parquet").is_empty()


def test_damaged_file_is_named(root):
    (root / "results" / "mq2007" / "summary.json").write_text("{")
    with pytest.raises(GradrankError, match=r"mq2007/summary\.json: not JSON"):
        rendered(root)


def test_curve_mean_ends_with_the_shortest_fold():
    from gradrank.report.plots.curves import learning_curves

    histories = [{"step": [1, 2, 3], "vali_map": [0.1, 0.2, 0.3]}, {"step": [1, 2], "vali_map": [0.3, 0.4]}]
    panel = learning_curves("m", [Fold(i, h, {}) for i, h in enumerate(histories, 1)])
    assert panel.measure == "validation MAP"
    assert "the mean goes from 0.2000 to 0.3000" in panel.drawing
    lengths = [len(points.split()) for points in re.findall(r'points="([^"]*)"', panel.drawing)]
    assert lengths == [3, 2, 2]
    assert "fold 1: best 0.3000 at step 3" in panel.drawing


def test_no_curve_without_steps():
    from gradrank.report.plots.curves import learning_curves

    assert learning_curves("m", [Fold(1, {"step": [1], "vali_map": [0.1]}, {}), Fold(2, {}, {})]) is None


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.412, 0.457, ["0.42", "0.43", "0.44", "0.45"]),
        (1, 6, ["1", "2", "3", "4", "5", "6"]),
        (1, 4, ["1", "2", "3", "4"]),
        (1, 1000, ["200", "400", "600", "800", "1,000"]),
        (0.4, 0.5, ["0.40", "0.42", "0.44", "0.46", "0.48", "0.50"]),
        (-0.02, 0.02, ["-0.02", "-0.01", "0.00", "0.01", "0.02"]),
    ],
)
def test_ticks_are_round(low, high, labels):
    assert [label for _, label in Scale(low, high, 0, 100).ticks(5)] == labels


def test_padded_scale_holds_its_values():
    assert 0 < padded([3.0, 3.0], 0, 100)(3.0) < 100
    assert 0 < padded([0.0], 0, 100)(0.0) < 100
    scale = padded([1.0, 2.0], 100, 0)
    assert 0 < scale(2.0) < scale(1.0) < 100


def test_thin_keeps_both_ends():
    assert thin(5, 60) == [0, 1, 2, 3, 4]
    kept = thin(1000, 60)
    assert len(kept) == 60 and kept[0] == 0 and kept[-1] == 999 and kept == sorted(set(kept))


def test_numbers_in_words():
    assert number(-0.5, "+.1f") == "−0.5"
    assert number(None) == number(float("nan")) == "–"
    assert [seconds(s) for s in (0.417, 12.34, 125, 3725)] == ["0.42 s", "12.3 s", "2 min 05 s", "1 h 02 min"]
