"""The command `gradrank table`, which prints a table for a paper."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from gradrank.base.files import atomic
from gradrank.cli.options import INSPECT, example

commands = typer.Typer()
SEVERAL = ("--methods", "--metrics")


class SeveralValues(TyperCommand):
    """A command whose options SEVERAL take all words up to the next option: `--metrics ndcg@10 map`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the name of the option before each further word, then parse."""
        repeated, option = [], ""
        for word in args:
            if word.startswith("-"):
                option = word if word in SEVERAL else ""
            elif option and repeated[-1] != option:
                repeated.append(option)
            repeated.append(word)
        return super().parse_args(ctx, repeated)


@commands.command(
    cls=SeveralValues,
    rich_help_panel=INSPECT,
    epilog=example("gradrank table mq2007 ohsumed --metrics ndcg@10 map --format latex"),
)
def table(
    results: Annotated[
        list[str], typer.Argument(help="Data sets: names in results/, folders results/<dataset>, or a results root.")
    ],
    methods: Annotated[
        list[str] | None, typer.Option(help="Methods, separated by blanks or commas. By default, those of the summary.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(help="Evaluated metrics; rows are sorted by the first. By default, all, sorted by NDCG@10."),
    ] = None,
    convention: Annotated[
        str | None, typer.Option(help="Evaluated convention. By default, the primary convention of each data set.")
    ] = None,
    intervals: Annotated[bool, typer.Option("--intervals", help="Add half the 95% interval to each mean.")] = False,
    baseline: Annotated[
        str | None, typer.Option(help="Add the difference of each method from this one, with its 95% interval.")
    ] = None,
    format: Annotated[
        Literal["markdown", "latex", "csv"] | None,
        typer.Option(help="By default, the format that the suffix of --out names, else Markdown."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. By default, standard output.")
    ] = None,
) -> None:
    """Print a table of methods by metrics from finished results, for a paper.

    Rows are sorted by value. The methods that may be the best are bold; the caption states the rule. CSV has every
    digit.
    """
    from gradrank.bench.report.tables.results_table import table as run

    found = run(
        *results,
        methods=_words(methods),
        metrics=_words(metrics),
        convention=convention,
        intervals=intervals,
        baseline=baseline,
    )
    suffixes = {".tex": "latex", ".csv": "csv"}
    form = format or suffixes.get(out.suffix if out else "", "markdown")
    text = {"markdown": found.to_markdown, "latex": found.to_latex, "csv": found.to_csv}[form]().rstrip("\n")
    if out is None:
        typer.echo(text)
        return
    with atomic(out) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    typer.echo(out)


def _words(values: list[str] | None) -> list[str] | None:
    """Return the words of an option that was given several times or with commas; None if it was not given."""
    return None if values is None else [word for value in values for word in value.split(",") if word]
