"""What a user sees: text, Markdown, JSON, HTML, exit codes."""

import io
import json
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from rich.console import Console

from diff_sides import make_study, side, values
from gradrank.diff import html, markdown, text
from gradrank.diff.as_json import plain
from gradrank.diff.compare import compare
from gradrank.diff.side import Method

VOID = {"meta", "link", "input", "br"}


@pytest.fixture
def comparison():
    """A little of everything, with a name that is HTML."""
    a = {"d": {"<b>&|": values(1), "same": values(2), "old": values(3)}, "e": {"m": Method({"map": 0.5})}}
    b = {"d": {"<b>&|": values(1, ndcg=0.1), "same": values(2)}, "e": {"m": Method({"map": 0.4})}}
    code = {"d": {f"src/{i}.py": str(i) for i in range(50)}}
    return compare(
        side("before", a, params={"d": {"models.m": {"rate": 0.1}}}, code=code, notices=("look here",)),
        side("after", b, params={"d": {"models.m": {"rate": 0.2}}}, code={"d": {"src/0.py": "1"}}),
    )


def shown(comparison, **options) -> str:
    stream = io.StringIO()
    text.show(comparison, Console(file=stream, width=120, **options))
    return stream.getvalue()


def test_text(comparison):
    seen = shown(comparison)
    assert "\x1b" not in seen and "\x1b[1;32m" in shown(
        comparison, force_terminal=True, color_system="standard"
    )
    assert "note: A: look here" in seen and "Only in A: d/old" in seen
    assert "models.m.rate (d)  0.1  0.2" in seen
    assert "and 30 more" in seen
    assert "d: Unchanged on every query: same" in seen
    assert "better ▲" in seen and "untested" in seen
    assert "time A" in seen and "100 MB" in seen
    assert not [line for line in seen.splitlines() if len(line) > 120]


def test_many_methods_that_stayed_are_counted():
    before = {"d": {"moved": values(1)} | {f"same{i}": values(2) for i in range(9)}}
    after = before | {"d": before["d"] | {"moved": values(1, ndcg=0.1)}}
    assert "d: Unchanged on every query: 9 of 10 methods" in shown(
        compare(side("a", before), side("b", after))
    )


def test_a_method_of_which_some_queries_are_known_is_named_once():
    found = Method(
        {"ndcg@10": values(1).mean("ndcg@10"), "map": values(1).mean("map"), "err@10": 0.3}, values(1)
    )
    seen = shown(compare(side("a", {"d": {"m": found}}), side("b", {"d": {"m": found}})))
    assert seen.count(": m\n") == 1 and "equal means to four decimals under the others: m" in seen.replace(
        "\n", " "
    )


def test_markdown_tables_are_whole(comparison):
    lines = markdown.page(comparison).splitlines()
    columns = [line.replace("\\|", "").count("|") for line in lines if line.startswith("| ")]
    assert columns.count(10) == 2 + 1 + 2 + 1  # of two data sets: head and rule, one row each
    assert any("better ▲" in line and "+0.1000" in line for line in lines)
    assert sum(line.startswith("<details>") for line in lines) == lines.count("</details>") == 3


def test_json_holds_all_and_no_nan(comparison):
    def refuse(constant):
        raise AssertionError(constant)

    read = json.loads(json.dumps(plain(comparison)), parse_constant=refuse)
    assert len(read["rows"]) == len(comparison.rows)
    assert {row["verdict"] for row in read["rows"]} == {"better", "unchanged", "untested"}
    assert read["only_a"] == [["d", "old"]]
    assert read["moved"][0]["gained"][0]["gap"] == pytest.approx(0.1)
    assert next(row for row in read["rows"] if row["verdict"] == "untested")["wilcoxon_holm"] is None


class Reader(HTMLParser):
    """Follows open tags; keeps the text, and every address that a browser would ask for."""

    def __init__(self):
        super().__init__()
        self.open, self.words, self.asked, self.drawings = [], [], [], 0

    def handle_starttag(self, tag, attributes):
        self.drawings += tag == "svg"
        self.asked += [value for key, value in attributes if key in ("src", "href") and value[:1] != "#"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_html_is_one_whole_file(comparison):
    reader = Reader()
    reader.feed(html.page(comparison))
    assert reader.open == [] and reader.asked == ["data:,"]
    assert "<b>&|" in reader.words and "gradrank: diff" in reader.words
    assert (
        reader.drawings == (2 + 1) + 2
    )  # strip and axis of both data sets' one metric, queries of one method
    assert html.page(comparison) == html.page(comparison)


def run(*arguments: str, folder) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "gradrank", "diff", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_command(tmp_path):
    here = tmp_path / "a b"
    for name, shift in (("before", 0.1), ("after", 0.0)):
        make_study(here / name, shift)
    done = run("before", "after/results", "--json", "--html", "x y.html", folder=here)
    assert done.returncode == 0, done.stderr
    assert {row["metric"] for row in json.loads(done.stdout)["rows"] if row["verdict"] == "worse"} == {
        "ndcg@10"
    }
    assert (here / "x y.html").read_text().startswith("<!doctype html>")
    done = run("before", "after", "--fail-on-regression", "ndcg@10:0.05", folder=here)
    assert done.returncode == 3
    assert "mq2007/lambdamart: NDCG@10" in done.stderr and "(worse)" in done.stderr
    assert run("before", "after", "--fail-on-regression", "ndcg@10:0.2", folder=here).returncode == 0
    assert run("before", "after", "--fail-on-regression", "ndcg@10", folder=here).returncode == 1
    done = run("before", "nowhere", folder=here)
    assert done.returncode == 1
    assert (
        "nowhere: no folder, git revision, DVC experiment" in done.stderr and "Traceback" not in done.stderr
    )
