"""The report's script in a real browser: the page shown, the convention switch, sorting and the filter."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from made_results import make_results

from gradrank.report import render
from gradrank.summary import summarise

MODELS = ("lambdamart", "ranknet_linear", "ranksvm")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=3000",
    "--dump-dom",
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a user sees on MQ2007's page after choosing `standard`, sorting by MAP and filtering by `rank`."""
    root = tmp_path_factory.mktemp("browser")
    for dataset in ("mq2007", "synthetic_net"):
        summarise(make_results(root, dataset, MODELS), MODELS, "letor4")
    out = root / "report.html"
    render(root / "results", out, data=root / "data" / "parquet", params=root / "params.yaml")
    actions = """<script>
      location.hash = "#data-mq2007-spread";
      const page = document.getElementById("data-mq2007");
      const table = page.querySelector("table.main");
      const choose = (element, value, event) => {
        element.value = value;
        element.dispatchEvent(new Event(event));
      };
      table.tHead.rows[0].cells[6].querySelector("button").click();
      choose(page.querySelector(".switch select"), "standard", "change");
      choose(page.querySelector(".filter input"), "rank", "input");
      setTimeout(() => {
        const seen = {
          pages: [...document.querySelectorAll(".page")].filter((p) => !p.hidden).map((p) => p.id),
          current: document.querySelector("nav [aria-current]").textContent,
          heading: page.querySelector(".convention-name").textContent,
          sorted: table.tHead.rows[0].cells[6].getAttribute("aria-sort"),
          rows: [...table.tBodies[0].rows].map((row) => ({
            model: row.cells[0].textContent,
            map: row.cells[6].querySelector(".mean").textContent,
            best: row.cells[6].classList.contains("best"),
            hidden: row.hidden,
          })),
          columns: [...page.querySelector(".matrix").rows[0].cells].filter((c) => !c.hidden)
            .map((c) => c.textContent.trim()),
        };
        document.body.textContent = "SEEN" + JSON.stringify(seen) + "SEEN";
      }, 200);
    </script></body>"""
    driven = root / "driven.html"
    driven.write_text(out.read_text(encoding="utf-8").replace("</body>", actions), encoding="utf-8")
    command = [BROWSER, *FLAGS, f"--user-data-dir={root / 'profile'}", driven.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    return json.loads(unescape(re.search(r"SEEN(.*?)SEEN</body>", dom, re.DOTALL).group(1))), root


def test_an_anchor_shows_its_page_alone(seen):
    assert seen[0]["pages"] == ["data-mq2007"]
    assert seen[0]["current"] == "mq2007"


def test_switch_shows_the_other_convention(seen):
    observed, root = seen
    summarise(root / "results" / "mq2007", MODELS, "standard")
    summary = json.loads((root / "results" / "mq2007" / "summary.json").read_text())
    assert observed["heading"] == "standard"
    assert {row["model"]: float(row["map"]) for row in observed["rows"]} == {
        model: means["map"] for model, means in summary.items()
    }


def test_sorting_follows_the_switch(seen):
    values = [float(row["map"]) for row in seen[0]["rows"]]
    assert seen[0]["sorted"] == "descending"
    assert values == sorted(values, reverse=True)
    assert [row["best"] for row in seen[0]["rows"]] == [True, False, False]


def test_filter_hides_rows_and_columns(seen):
    assert {row["model"]: row["hidden"] for row in seen[0]["rows"]} == {
        "lambdamart": True,
        "ranknet_linear": False,
        "ranksvm": False,
    }
    assert set(seen[0]["columns"]) == {"", "ranknet_linear", "ranksvm"}
