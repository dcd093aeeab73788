"""The command `gradrank diff`: read both states, compare them, print the comparison, and check for regressions."""

import json
import sys
from pathlib import Path

import typer

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.bench.diff.compare import Comparison, compare
from gradrank.bench.diff.read_state import read_state
from gradrank.bench.diff.regression import EXIT_CODE, limit, regressions
from gradrank.measures.metrics import metric_label

PIPE_WIDTH = 120  # characters per line if the output is a file or a pipe


def run(a: str, b: str, markdown: bool, as_json: bool, html: Path | None, fail_on_regression: str | None) -> None:
    """Run `gradrank diff`.

    a, b: names of the states, as in `read_state`. html: path of an HTML file to write in addition. fail_on_regression:
    METRIC:DELTA. Raises GradrankError if the states cannot be read or compared, and typer.Exit with EXIT_CODE after a
    regression.
    """
    if markdown and as_json:
        raise GradrankError("--markdown and --json exclude each other. Fix: give one of them")
    allowed = limit(fail_on_regression) if fail_on_regression is not None else None
    comparison = compare(read_state(a), read_state(b))
    _print(comparison, markdown, as_json)
    if html is not None:
        from gradrank.bench.diff.html import page

        with atomic(html) as partial:
            partial.write_text(page(comparison), encoding="utf-8")
    if allowed is not None and (regressed := regressions(comparison, allowed)):
        for row in regressed:
            print(
                f"regression: {row.dataset}/{row.model}: {metric_label(row.metric)} fell from {row.a:.4f} to "
                f"{row.b:.4f}, by more than {allowed.delta:g} ({row.verdict})",
                file=sys.stderr,
            )
        raise typer.Exit(EXIT_CODE)


def _print(comparison: Comparison, markdown: bool, as_json: bool) -> None:
    if as_json:
        from gradrank.bench.diff.as_json import plain

        print(json.dumps(plain(comparison), indent=2, ensure_ascii=False))
    elif markdown:
        from gradrank.bench.diff.markdown import page

        print(page(comparison), end="")
    else:
        from rich.console import Console

        from gradrank.bench.diff.text import show

        show(comparison, Console(width=None if sys.stdout.isatty() else PIPE_WIDTH))
