"""The documentation site: its links, and its pages in a real browser at three widths. Takes 5 minutes on two cores.

Three minutes of them are the build, which executes the notebooks.
"""

import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from chromium import PROGRAM, Chromium

from documentation_blocks import ROOT
from gradrank.bench.folds.per_query import read_compact
from gradrank.bench.results import Results
from gradrank.comparison.significance import decide_row
from gradrank.comparison.statistics import compare_all

WIDTHS = (390, 768, 1400)
ONE_TEMPLATE = ("decisions", "leaderboard", "methods")  # folders whose pages differ in their data only
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}  # what a browser fetches
FIND = """(() => {
  const find = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.matches("input[role=combobox]")) return element;
      const inner = element.shadowRoot && find(element.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  return find(document);
})()"""
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium or Chrome")


class Html(HTMLParser):
    """The ids, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]):
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site, built from this checkout."""
    for module in ("ipykernel", "latex2mathml", "mkdocstrings", "nbconvert", "zensical"):
        pytest.importorskip(module, reason=f"needs {module}: pip install '.[docs]'")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, ROOT / "tools/documentation/build.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/site"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Html]:
    return {path: Html(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


@pytest.fixture
def browser(tmp_path) -> Iterator[Chromium]:
    with Chromium(tmp_path / "profile") as started:
        yield started


@pytest.fixture
def address(site) -> Iterator[str]:
    """The address of a server of the site."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_kind_of_page_is_there(site):
    names = [
        "index",
        "tutorial",
        "notebooks/first_ranking",
        "reference/api",
        "reference/commands",
        "methods/lambdamart",
    ]
    names += ["conventions", "decisions/index", "faithfulness", "leaderboard/mq2007", "studies/contest", "submit"]
    names += ["collections/mq2007", "wishes"]
    assert [name for name in names if not (site / f"{name}.html").is_file()] == []
    assert all((site / f"leaderboard/leaderboard.{suffix}").is_file() for suffix in ("csv", "parquet"))


def test_references_name_every_public_function_and_command(site):
    import gradrank
    from gradrank.bench.cli import app

    api = (site / "reference/api.html").read_text()
    public = [name for name in gradrank.__all__ if not name.startswith("__")]
    assert [name for name in public if f'id="gradrank.{name}"' not in api] == []
    commands = (site / "reference/commands.html").read_text()
    named = [
        command.name or command.callback.__name__.replace("_", "-")
        for group in app.registered_groups
        for command in group.typer_instance.registered_commands
    ]
    assert len(named) > 30 and [name for name in named if f'id="gradrank-{name}"' not in commands] == []


def test_notebooks_show_their_outputs(site):
    assert "ndcg@10" in (site / "notebooks/first_ranking.html").read_text()
    assert (site / "notebooks/paper_figure_files").is_dir()


def test_formulas_are_mathml(site):
    page = (site / "learn/2_ranknet.html").read_text()
    assert "<mfrac>" in page and "$$" not in page


def test_every_internal_link_leads_to_a_page_and_an_anchor(site, pages):
    wrong = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            is_found = target.is_file() and target.is_relative_to(site)
            anchor = unquote(parts.fragment)
            if not is_found or (anchor and target.suffix == ".html" and anchor not in pages[target].ids):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []


def test_no_page_loads_a_file_of_another_host(site, pages):
    loaded = {
        f"{path.relative_to(site)}: {link}" for path, page in pages.items() for link in page.loaded if "//" in link
    }
    assert loaded == set()
    for path in site.rglob("*.css"):
        assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//[^)\"']+", path.read_text(encoding="utf-8")) == []


@needs_browser
def test_no_page_is_wider_than_the_window_and_no_request_leaves_the_site(site, pages, browser):
    shown = [path for path in pages if path.relative_to(site).parts[0] not in ("source", "404.html", *ONE_TEMPLATE)]
    for folder in ONE_TEMPLATE:
        shown += sorted(site.joinpath(folder).glob("*.html"), key=lambda path: path.stat().st_size)[-3:]
    too_wide = []
    for path in shown:
        for width in WIDTHS:
            browser.resize(width)
            if width == WIDTHS[0]:
                browser.open(path.as_uri())
            found = browser.run("document.documentElement.scrollWidth")
            too_wide += [f"{path.relative_to(site)}: {found} at {width}"] * (found > width)
    assert too_wide == []
    assert {address for address in browser.requests if not address.startswith(("file:", "data:"))} == set()


@needs_browser
@pytest.mark.parametrize("scheme", ["file", "http"])
def test_search_finds_a_page(site, address, browser, scheme):
    start = (site / "tutorial.html").as_uri() if scheme == "file" else f"{address}/tutorial.html"
    browser.resize(WIDTHS[-1])
    browser.open(start)
    browser.run("document.querySelector('.md-search__button').click()")
    browser.wait_for(f"!!{FIND}")
    browser.run(f"{FIND}.focus()")
    browser.type("equivalence margin")
    assert browser.wait_for(f"{FIND}.value") == "equivalence margin"
    links = browser.wait_for(f"[...{FIND}.getRootNode().querySelectorAll('a')].map((a) => a.href).join(' ')")
    assert "notebooks/comparing_rankings.html" in links
    base = start.removesuffix("tutorial.html")
    assert {url for url in browser.requests if not url.startswith((base, "data:", "about:"))} == set()


def test_every_committed_data_set_has_a_board_and_the_contest_has_its_own(site):
    committed = [dataset.name for dataset in Results(ROOT / "results").datasets() if dataset.summarised]
    pages = {name: (site / f"leaderboard/{name}.html").read_text(encoding="utf-8") for name in committed}
    assert {name for name, page in pages.items() if f"{name}-run" in page} == set(committed)
    contested = {name for name, page in pages.items() if f"{name}-contest" in page}
    assert contested == {"mq2007", "ohsumed", "clueweb09", "yandex_imat2009"}
    assert max(path.stat().st_size for path in (site / "leaderboard").glob("*.html")) < 2_000_000


@needs_browser
def test_the_leaderboard_shows_differences_from_the_chosen_baseline(site, browser):
    browser.resize(WIDTHS[-1])
    browser.open((site / "leaderboard/mq2007.html").as_uri())
    browser.run("""(() => {
      window.board = document.querySelector(".leaderboard");
      window.choose = (selector, value, event) => {
        const control = board.querySelector(selector);
        control.value = value;
        control.dispatchEvent(new Event(event, { bubbles: true }));
      };
      choose("select.metric", "map", "change");
      choose("select.baseline", "lambdamart", "change");
      board.querySelectorAll("thead button")[2].click();
    })()""")
    rows = dict(
        browser.run("""[...board.querySelectorAll("tbody tr")].map((row) =>
      [row.dataset.model, row.querySelector(".difference").textContent])""")
    )
    _, values = read_compact(ROOT / "results/mq2007/queries.parquet")
    first = values["lambdamart"]
    tested = {model: of.values["map"] for model, of in values.items()}
    expected = compare_all(tested, first.folds, queries=first.qids, baseline="lambdamart")
    assert rows.pop("lambdamart") == "baseline"
    numbers = {
        model: [float(x) for x in re.findall(r"[+-]\d\.\d{4}", text.replace("−", "-"))] for model, text in rows.items()
    }
    assert numbers == {
        row["model_a"]: pytest.approx([row["difference"], row["low"], row["high"]], abs=5.1e-5) for row in expected
    }
    order = [found[0] for model, found in numbers.items()]
    assert order == sorted(order, reverse=True), "sorted by the difference"
    pairs = compare_all(tested, first.folds, queries=first.qids)
    stands = {
        row["model_b"] if row["model_a"] == "lambdamart" else row["model_a"]
        for row in pairs
        if "lambdamart" in (row["model_a"], row["model_b"]) and decide_row(row) != "no evidence"
    }
    assert {model for model, text in rows.items() if text[-1] in "▲▼"} == stands


@needs_browser
def test_the_leaderboard_is_filtered_by_family_year_and_name(site, browser):
    browser.open((site / "leaderboard/ohsumed.html").as_uri())
    shown = browser.run("""(() => {
      const board = document.querySelector(".leaderboard");
      const choose = (name, value) => {
        const control = board.querySelector(`[data-filter=${name}]`);
        control.value = value;
        control.dispatchEvent(new Event("input", { bubbles: true }));
        return [...board.querySelectorAll("tbody tr")].filter((row) => row.offsetHeight).map((row) =>
          [row.dataset.model, row.dataset.family, row.dataset.year]);
      };
      const chosen = [["family", "boosted trees"], ["from", "2010"], ["model", "lambda"], ["until", "2000"]];
      return chosen.map(([name, value]) => choose(name, value));
    })()""")
    by_family, by_year, by_name, none = shown
    assert len(by_family) > len(by_year) > len(by_name) > len(none) == 0
    assert {family for _, family, _ in by_family} == {"boosted trees"}
    assert all(int(year) >= 2010 for _, _, year in by_year) and all("lambda" in model for model, _, _ in by_name)
