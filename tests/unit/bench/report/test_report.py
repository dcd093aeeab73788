"""The HTML of the report, parsed with html.parser and compared with the per-query values."""

import json
import re
import shutil
from xml.etree import ElementTree

import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_sealed
from gradrank.bench.report.document import report as render
from gradrank.bench.report.plots.svg import thin
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import read_tables
from gradrank.bench.report.tables.table import MARKS
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
    """Return {model: {metric: mean}} from per_query.parquet."""
    found = {}
    for model in MODELS:
        frame = pl.read_parquet(root / "results" / dataset / "methods" / model / "per_query.parquet")
        test = frame.filter((pl.col("split") == "test") & (pl.col("convention") == convention))
        found[model] = test.group_by("fold").agg(pl.col(METRICS).mean()).select(METRICS).mean().row(0, named=True)
    return found


def test_main_table_prints_the_per_query_means(root):
    rows = Document(rendered(root)).table("main")
    assert [cell["text"].strip() for cell in rows[0]][1:4] == ["NDCG@1", "NDCG@3", "NDCG@5"]
    expected = means(root, "mq2007", "letor4")
    main = [row for row in read_tables(root / "results/mq2007/tables")["main"] if row["convention"] == "letor4"]
    bold = {
        metric: {row["model"] for row in main if row["metric"] == metric and row["p_best"] >= 0.05}
        for metric in METRICS
    }
    bold = {metric: names if len(names) < len(MODELS) else set() for metric, names in bold.items()}
    by = [row[0]["text"] for row in rows[1:]]
    assert by == sorted(MODELS, key=lambda model: -expected[model]["ndcg@10"])  # the best first
    assert rows[0][METRICS.index("ndcg@10") + 1]["sort"] == "descending"
    for head, *cells in rows[1:]:
        for metric, cell in zip(METRICS, cells, strict=True):
            mean, half_width = re.fullmatch(r"(0\.\d{4}) ±(0\.\d{4})", cell["text"].strip()).groups()
            assert float(mean) == pytest.approx(expected[head["text"]][metric], abs=5.001e-5)
            assert float(half_width) > 0
            assert ("best" in cell["class"].split()) == (head["text"] in bold[metric])


def test_roles_of_the_columns_are_shown(root):
    path = root / "data/parquet/mq2007/collection.json"
    meta = json.loads(path.read_text())
    feature = {"role": "feature", "column": "a<b", "type": "Float64", "count": 4, "missing": 0.2}
    roles = [feature | {"low": -1.5, "high": 2.0}, {"role": None, "column": "", "type": "Int64", "reason": "an index"}]
    path.write_text(json.dumps(meta | {"roles": roles, "note": "WARNING: 1 of 3 queries"}))
    document = Document(rendered(root))
    path.write_text(json.dumps(meta))
    texts = [[cell["text"].strip() for cell in row] for row in document.table("roles")[1:]]
    assert texts[0] == ["feature", "a<b", "Float64", "4", "-1.5", "2", "20.0%"]
    assert texts[1] == ["ignored", "", "Int64", "an index"]
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
    """The page loads nothing: no address in an attribute that loads, no import or url() in the styles."""
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


def test_equal_results_give_equal_bytes(root):
    assert rendered(root) == rendered(root)


def test_names_and_files_are_escaped(root):
    hostile = "<img src=x>"
    path = root / "results/mq2007/methods/lambdamart/fold1/spec.json"
    path.write_text(path.read_text().replace('"epochs"', '"</pre><script>"'))
    folder = root / "results" / hostile
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps({"</script><i>": {"ndcg@10": 0.4}}))
    text = rendered(root)
    assert hostile not in text and "</script><i>" not in text and "<b>not" not in text
    assert "&lt;img src=x&gt;" in text
    Document(text)


def test_every_figure_is_a_self_contained_file(root):
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


def test_a_report_of_some_data_sets_or_studies_shows_nothing_else(root):
    for study in ("mine", "theirs"):
        about = {"name": study, "title": study, "publication": "", "models": [], "sections": []}
        write_sealed(root / f"results/studies/{study}/page.json", about)
    for only, shown in (
        ((["mq2007"], []), {"data-mq2007"}),
        (([], ["mine"]), {"study-mine"}),
        (None, {"data-mq2007", "data-synthetic_net", "study-mine", "study-theirs"}),
    ):
        printed = render(root / "results", root / "report.html", "letor4", only=only)
        ids = {attributes.get("id") for _, attributes in Document((root / "report.html").read_text()).tags}
        assert {name for name in ids if re.fullmatch("(data|study)-[a-z0-9_]+", name or "")} == shown
        assert ("overview-title" in ids) == (only != ([], ["mine"])), "a study alone has its own page first"
        assert ("synthetic_net: " in printed) == (only is None) and str(root / "report.html") in printed


def test_the_report_shows_the_settings_of_its_studies(root):
    for study in ("mine", "theirs"):
        about = {"name": study, "title": study, "publication": "", "models": [], "sections": []}
        write_sealed(root / f"results/studies/{study}/page.json", about)
    (root / "studies/mine").mkdir(parents=True)
    (root / "studies/mine/study.yaml").write_text("draws: 31 # <b>\n")
    (root / "studies/theirs.yaml").write_text("draws: 32\n")
    for only, shown in (([], ["mine"]), {"31"}), (([], ["theirs"]), {"32"}), (None, {"31", "32"}):
        render(root / "results", root / "report.html", params=root / "params.yaml", only=only)
        text = (root / "report.html").read_text()
        assert {value for value in ("31", "32") if f"draws: {value}" in text} == shown and "# <b>" not in text


def test_a_study_explains_verdicts_only_if_it_has_them(root):
    for form, explained in (("verdict", True), ("", False)):
        table = {"id": "values", "title": "Values", "columns": [{"key": "a", "title": "a", "form": form}], "rows": []}
        section = {
            "id": "first",
            "title": "First",
            "paragraphs": [],
            "content": [table | {"note": "", "kind": "table"}],
        }
        about = {"name": "mine", "title": "mine", "publication": "", "models": [], "sections": [section]}
        write_sealed(root / "results/studies/mine/page.json", about)
        render(root / "results", root / "study.html", "letor4", only=([], ["mine"]))
        text = (root / "study.html").read_text()
        page = text[text.index('id="study-mine-title"') : text.index('id="study-mine-values"')]
        assert ('<ul class="verdicts">' in page) == explained


def test_stale_summary_is_marked(root):
    path = root / "results" / "mq2007" / "summary.json"
    path.write_text(path.read_text().replace("0.", "0.1", 1))
    assert "summary.json and the tables differ" in rendered(root)
    assert "summary.json and the tables differ" in rendered(root, "standard")


def test_no_results_at_all(tmp_path):
    with pytest.raises(GradrankError, match=r"no data set with a summary\.json"):
        render(tmp_path / "results", tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_damaged_file_is_named(root):
    (root / "results" / "mq2007" / "summary.json").write_text("{")
    with pytest.raises(GradrankError, match=r"mq2007/summary\.json: not JSON"):
        rendered(root)


def test_thin_keeps_both_ends():
    assert thin(5, 60) == [0, 1, 2, 3, 4]
    kept = thin(1000, 60)
    assert len(kept) == 60 and kept[0] == 0 and kept[-1] == 999 and kept == sorted(set(kept))
