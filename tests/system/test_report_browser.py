"""The report's script in a real browser: pages, the switch of conventions, sorting, the filter and pairs of methods."""

import csv
import json
import re
import shutil
import subprocess
from html import unescape
from xml.etree import ElementTree

import polars as pl
import pytest
from chromium import Chromium

from gradrank.bench.report.document import report as render
from gradrank.bench.report.plots.paired_tests import difference_plot
from gradrank.bench.report.tables.summary import summary
from made_results import METRICS, make_results, write_values

MODELS = ("lambdamart", "ranknet_linear", "ranksvm")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
FLAGS += ("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=3000", "--dump-dom")
FLAGS += ("--window-size=390,800",)  # a phone's; some builds make it 500
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The state of MQ2007's page after a user chose `standard`, sorted by MAP and filtered by `rank`.

    `pairs` has the two compared methods: first, after a choice in the selects, and after a click in the heat map.
    """
    root = tmp_path_factory.mktemp("browser")
    for dataset in ("mq2007", "synthetic_net"):
        results = make_results(root, dataset, MODELS)
        values = pl.read_parquet(results / "methods/ranknet_linear" / "per_query.parquet")
        write_values(
            values.with_columns(pl.col(METRICS) / 4), results / "methods/ranknet_linear"
        )  # significantly worse than the best
        summary(results, MODELS, "letor4")
    out = root / "report.html"
    render(root / "results", out, "letor4", data=root / "data" / "parquet", params=root / "params.yaml")
    actions = """<script>
      location.hash = "#data-mq2007-spread";
      const page = document.getElementById("data-mq2007");
      const table = page.querySelector("table.main");
      const choose = (element, value, event) => {
        element.value = value;
        element.dispatchEvent(new Event(event));
      };
      const compare = page.querySelector(".compare");
      const pair = () => ({
        models: [...compare.querySelectorAll("select")].map((select) => select.value),
        keys: [...compare.querySelectorAll(".key")].map((key) => key.textContent),
        tests: [...compare.querySelectorAll(".paired tbody tr")]
          .map((row) => [...row.cells].map((cell) => cell.textContent)),
        polygons: Object.fromEntries([...compare.querySelectorAll("polygon")]
          .map((polygon) => [polygon.getAttribute("class"), polygon.getAttribute("points")])),
        label: compare.querySelector("svg.difference").getAttribute("aria-label"),
        marked: ["one", "two"].map((which) => compare.querySelector(".pr." + which).dataset.model),
      });
      const pairs = { first: pair() };
      const openedAs = {
        heading: page.querySelector(".convention-name").textContent,
        sorted: [...table.tHead.rows[0].cells].findIndex((cell) => cell.getAttribute("aria-sort") === "descending"),
        rows: [...table.tBodies[0].rows].map((row) => Number(row.cells[4].querySelector(".mean").textContent)),
      };
      const detail = document.getElementById("method-ranksvm");
      const linked = { before: detail.open };
      location.hash = page.querySelector("table.main a[href='#method-ranksvm']").hash;
      show();
      Object.assign(linked, { after: detail.open, page: !detail.closest(".page").hidden });
      location.hash = "#data-mq2007-spread";
      show();
      choose(compare.querySelector("select.first"), "ranksvm", "change");
      choose(compare.querySelector("select.second"), "lambdamart", "change");
      pairs.chosen = pair();
      const heat = page.querySelector("table.matrix[data-metric='ndcg@10']");
      const cell = heat.tBodies[0].rows[2].cells[1];
      cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      cell.click();
      pairs.clicked = pair();
      pairs.cell = [cell.parentNode.dataset.model, heat.tHead.rows[0].cells[1].textContent.trim(), cell.title];
      table.tHead.rows[0].cells[6].querySelector("button").click();
      choose(page.querySelector(".switch select"), "letor4", "change");
      choose(page.querySelector(".switch select"), "standard", "change");
      choose(page.querySelector(".filter input"), "rank", "input");
      setTimeout(() => {
        const seen = {
          pairs,
          curves: Object.fromEntries([...compare.querySelectorAll(".pr")]
            .map((curve) => [curve.dataset.model, getComputedStyle(curve).display])),
          pages: [...document.querySelectorAll(".page")].filter((p) => !p.hidden).map((p) => p.id),
          current: document.querySelector("nav [aria-current]").textContent,
          opened: openedAs,
          heading: page.querySelector(".convention-name").textContent,
          otherPage: document.querySelector("#data-synthetic_net .convention-name").textContent,
          stored: localStorage.getItem("gradrank-convention"),
          linked: linked,
          sorted: table.tHead.rows[0].cells[6].getAttribute("aria-sort"),
          rows: [...table.tBodies[0].rows].map((row) => ({
            model: row.cells[0].textContent,
            map: row.cells[6].querySelector(".mean").textContent,
            best: row.cells[6].classList.contains("best"),
            hidden: row.hidden,
          })),
          columns: [...page.querySelector(".matrix").rows[0].cells].filter((c) => !c.hidden)
            .map((c) => c.textContent.trim()),
          screen: innerWidth,
        };
        const all = [...document.querySelectorAll(".page")];
        seen.widths = all.map((one) => {
          for (const other of all) other.hidden = other !== one;
          return [one.id, document.documentElement.scrollWidth];
        });
        document.body.textContent = "SEEN" + JSON.stringify(seen) + "SEEN";
      }, 200);
    </script></body>"""
    driven = root / "driven.html"
    chosen_before = "<head><script>localStorage.setItem('gradrank-convention', 'standard')</script>"
    text = out.read_text(encoding="utf-8").replace("</body>", actions).replace("<head>", chosen_before)
    driven.write_text(text, encoding="utf-8")
    command = [BROWSER, *FLAGS, f"--user-data-dir={root / 'profile'}", driven.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    return json.loads(unescape(re.search(r"SEEN(.*?)SEEN</body>", dom, re.DOTALL).group(1))), root


def test_the_report_opens_under_the_stored_convention_and_stores_a_new_choice(seen):
    opened = seen[0]["opened"]
    assert opened["heading"] == "standard" and opened["sorted"] == 4
    assert opened["rows"] == sorted(opened["rows"], reverse=True), "the best is first"
    assert seen[0]["otherPage"] == seen[0]["heading"] == seen[0]["stored"] == "standard"


def test_an_anchor_shows_only_its_page_and_a_method_links_to_its_parameters(seen):
    assert seen[0]["linked"] == {"before": False, "after": True, "page": True}
    assert seen[0]["pages"] == ["data-mq2007"] and seen[0]["current"] == "mq2007"


def test_no_page_is_wider_than_a_phone(seen):
    assert 390 <= seen[0]["screen"] <= 500
    assert {id: width for id, width in seen[0]["widths"] if width > seen[0]["screen"]} == {}


def test_switch_shows_the_other_convention(seen):
    observed, root = seen
    summary(root / "results" / "mq2007", MODELS, "standard")
    written = json.loads((root / "results" / "mq2007" / "summary.json").read_text())
    shown = {row["model"]: float(row["map"]) for row in observed["rows"]}
    assert shown == {model: means["map"] for model, means in written.items()}


def test_sorting_follows_the_switch(seen):
    values = [float(row["map"]) for row in seen[0]["rows"]]
    assert seen[0]["sorted"] == "descending"
    assert values == sorted(values, reverse=True)
    assert [row["best"] for row in seen[0]["rows"]] == [row["model"] != "ranknet_linear" for row in seen[0]["rows"]]


def test_filter_hides_rows_and_columns(seen):
    hidden = {row["model"]: row["hidden"] for row in seen[0]["rows"]}
    assert hidden == {"lambdamart": True, "ranknet_linear": False, "ranksvm": False}
    assert {model for model, shown in seen[0]["curves"].items() if shown == "none"} == {"lambdamart"}
    assert set(seen[0]["columns"]) == {"", "ranknet_linear", "ranksvm"}


@pytest.fixture(scope="module")
def dataset(seen):
    """The data that the page contains for the pairs of MQ2007."""
    root = seen[1]
    shown = re.search(r'id="data-mq2007-pairs">(.*?)</script>', (root / "report.html").read_text()).group(1)
    return json.loads(shown)


def assert_same_polygons(seen, drawn):
    expected = {name: points for points, name in re.findall(r'points="([^"]*)" class="(\w+)"', drawn)}
    assert set(seen) == set(expected) == {"wins", "losses"}
    for name, points in expected.items():
        numbers = [[float(x) for x in re.split("[ ,]", text)] for text in (seen[name], points)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.11)  # a tenth may be rounded the other way


def test_script_draws_the_first_pair_as_the_report_did(seen, dataset):
    first = seen[0]["pairs"]["first"]
    assert first["models"] == first["keys"] == first["marked"] == dataset["models"][:2]
    drawn = difference_plot(*first["models"], *dataset["values"][:2])
    assert_same_polygons(first["polygons"], drawn)
    assert f'aria-label="{first["label"]}"' in drawn


def test_selects_show_the_pair_that_they_name(seen, dataset):
    chosen = seen[0]["pairs"]["chosen"]
    assert chosen["models"] == chosen["keys"] == chosen["marked"] == ["ranksvm", "lambdamart"]
    i, j = (dataset["models"].index(model) for model in chosen["models"])
    drawn = difference_plot("ranksvm", "lambdamart", dataset["values"][i], dataset["values"][j])
    assert f'aria-label="{chosen["label"]}"' in drawn
    assert_same_polygons(chosen["polygons"], drawn)
    metric, gap, interval, wins, ties, losses, *p = chosen["tests"][0]
    sign = 1 if i < j else -1
    want, *_, wilcoxon, t = dataset["tests"]["ndcg@10"][f"{min(i, j)},{max(i, j)}"]
    assert metric == "NDCG@10"
    assert float(gap.replace("\u2212", "-")) == pytest.approx(sign * want)
    low, high = (float(end.replace("\u2212", "-")) for end in interval.split(" to "))
    assert low <= sign * want <= high
    assert (
        f"{len(dataset['values'][0])} queries: ranksvm is better on {wins}, lambdamart on {losses}" in chosen["label"]
    )
    assert int(wins) + int(ties) + int(losses) == len(dataset["values"][0])
    assert [float(each) for each in p] == [wilcoxon, t]


def test_a_cell_of_the_heat_map_has_its_numbers_and_selects_its_pair(seen):
    pairs = seen[0]["pairs"]
    one, two, title = pairs["cell"]
    assert pairs["clicked"]["models"] == [one, two]
    _, gap, interval, wins, ties, losses, *_ = pairs["clicked"]["tests"][0]
    assert title.startswith(f"{one} against {two}: {gap}, {interval}; {wins} wins, {ties} ties, {losses} losses")


def test_every_table_and_drawing_can_be_downloaded(tmp_path):
    """The files have the values of the page, as CSV, Markdown, LaTeX and SVG; the axis follows the chosen pair."""
    results = make_results(tmp_path, "synthetic_net", MODELS)
    summary(results, MODELS, "letor4")
    out = tmp_path / "report.html"
    render(tmp_path / "results", out, "letor4", data=tmp_path / "data/parquet", params=tmp_path / "params.yaml")
    with Chromium(tmp_path / "profile") as browser:
        browser.open(f"{out.as_uri()}#data-synthetic_net")
        browser.run("URL.createObjectURL = (blob) => { window.last = blob; return '#data-synthetic_net'; }, 0")
        press = """(async (part, form) => {
          [...part.querySelectorAll("button")].find((button) => button.textContent === form).click();
          return await last.text();
        })"""
        main = "document.querySelector('#data-synthetic_net table.main')"
        cells = browser.run(f"[...{main}.rows].map((row) => row.cells[4].innerText.match(/[0-9.]+/)?.[0])")[1:]
        files = {
            form: browser.run(f"{press}({main}.parentNode.nextElementSibling, '{form}')")
            for form in ("CSV", "Markdown", "LaTeX")
        }
        drawing = browser.run(f"{press}(document.querySelector('.compare figure'), 'SVG')")
        axis = "document.querySelectorAll('svg.difference .tick:not(.middle)')"
        ticks = browser.run(f"[...{axis}].map((tick) => tick.textContent)")
    rows = list(csv.reader(files["CSV"].splitlines()))
    assert [row[0] for row in rows[1:]] and {len(row) for row in rows} == {len(rows[0])}
    assert [row[4].split()[0] for row in rows[1:]] == cells
    assert files["Markdown"].splitlines()[1].startswith("| :-- | --:")
    assert files["LaTeX"].count(r"\\") == len(rows) and "_" not in files["LaTeX"].replace(r"\_", "")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert ticks[2] == "0" and ticks[0] == "\u2212" + ticks[4][1:] and float(ticks[4]) <= 1
