"""Commands that show or submit results: submit, schema, diff, verify, cite and table."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.bench.cli.options import Pairs, ParamsFile, ResultsFolder, run_settings
from gradrank.bench.results import Results
from gradrank.cli.inspect import STATES
from gradrank.cli.options import INSPECT, USE, Data, example, use_one_thread

commands = typer.Typer()


@commands.command(
    rich_help_panel=USE,
    epilog=example(
        "gradrank submit results/mq2007/methods/rocchio --data data/parquet/mq2007 --authors 'A. Author' "
        "--selection validation"
    ),
)
def submit(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>/methods/<method> of an evaluated method.")],
    data: Data,
    authors: Annotated[str, typer.Option(help="Authors of the submission.")],
    selection: Annotated[
        Literal["validation", "default"],
        typer.Option(
            help="How the settings were chosen. validation: on the validation part of each fold. default: not on these "
            "data. Settings that were chosen on a test part cannot be submitted."
        ),
    ],
    scores: Annotated[
        str | None, typer.Option(help="Score files of another program to import first, such as 'runs/fold{fold}.txt'.")
    ] = None,
    summary: Annotated[str, typer.Option(help="One sentence that describes the method.")] = "",
    year: Annotated[int | None, typer.Option(help="Year of the publication.")] = None,
    publication: Annotated[Path | None, typer.Option(help="BibTeX file of the publication.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder to write. By default, submissions/<dataset>/<method>.")
    ] = None,
) -> None:
    """Prepare a method for the leaderboard: scores, values per query, code, description and checksums.

    Add the written folder to a pull request. `gradrank verify` checks it.
    """
    from gradrank.bench.provenance.submissions import import_method
    from gradrank.bench.provenance.submissions import submit as run
    from gradrank.bench.results import MethodFolder

    method = MethodFolder(folder)
    if scores is not None:
        import_method(method, scores, data)
    target = out or Path("submissions", method.dataset, method.name)
    run(
        method,
        data,
        target,
        {"authors": authors, "selection": selection, "summary": summary, "year": year},
        publication,
    )
    typer.echo(f"{target}\nNext: run `gradrank verify`, and open a pull request with this folder.")


@commands.command(rich_help_panel=USE, epilog=example("gradrank refit results/mq2007/lambdamart --out model"))
def refit(
    method: Annotated[Path, typer.Argument(help="A compared method: results/<dataset>/<method>.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write, as a trained fold.")],
    data: Annotated[Path | None, typer.Option(help="Stored collection. By default, data/parquet/<dataset>.")] = None,
    pairs: Pairs = None,
) -> None:
    """Train a compared method on all queries of its data set, as a model to deploy, and write a model card.

    The settings are those of its folds. The number of rounds or epochs is the lower median of those that the folds
    selected. `gradrank refit-choices` is a stage of a contest.
    """
    use_one_thread()
    from gradrank.bench.folds.refit import refit as run

    entry = run(method, out, data, pairs)
    found = entry["folds"]
    if "step" in entry:
        steps = ", ".join(str(each["step"]) for each in found if "step" in each)
        typer.echo(f"trained for {entry['step']} steps, the lower median of the folds' {steps}")
    half = "" if entry["half_width"] is None else f" ± {entry['half_width']:.4f}"
    value = "undefined" if entry["value"] is None else f"{entry['value']:.4f}{half}"
    typer.echo(
        f"{out}: {entry['queries']:,} queries, {entry['documents']:,} documents; validation {entry['metric']} of the "
        f"{len({each['fold'] for each in found})} folds: {value} under {entry['convention']}, ties in expectation"
    )
    typer.echo(f"Next: `gradrank predict --model {out} --input new.csv --form csv --out ranked.csv`")


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank schema"))
def schema(
    study: Annotated[str, typer.Argument(help="A study, whose settings in study.yaml are described instead.")] = "",
) -> None:
    """Print the JSON Schema of params.yaml or of study.yaml, with which editors complete keys and mark faults.

    The schema has the parameters of all models, including those of your files in models/.
    """
    import json

    from gradrank.bench.config.params_schema import params_schema, study_schema

    typer.echo(json.dumps(study_schema(study) if study else params_schema(), indent=1, ensure_ascii=False))


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank diff HEAD results --markdown"))
def diff(
    a: Annotated[
        str,
        typer.Argument(
            help="State before: a results folder, git revision or DVC experiment. They are tried in this order."
        ),
    ],
    b: Annotated[str, typer.Argument(help="State after, in the same forms. `results` is the folder of the last run.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write this HTML file, with plots.")] = None,
    fail_on_regression: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC:DELTA",
            help="Example: ndcg@10:0.005. Exit with code 3 if the mean of any method that both states have fell by "
            "more than DELTA on any data set, significant or not. Exit with code 1 if this cannot be determined.",
        ),
    ] = None,
) -> None:
    """Compare two states of the results: what changed, and which differences are significant.

    Differences are tested with paired tests over the same queries.
    """
    from gradrank.bench.diff import output

    output.run(a, b, markdown, as_json, html, fail_on_regression)


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank verify --repair"))
def verify(
    results: ResultsFolder = Path("results"),
    data: Annotated[Path, typer.Option(help="Folder with raw/, parquet/ and pairs/.")] = Path("data"),
    params: ParamsFile = Path("params.yaml"),
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="List files of gradrank that do not match their stamp, and partial files of killed jobs. Ask, then "
            "remove them.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --repair: remove the listed files without asking.")] = False,
    recheck: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Train N sampled folds again of each method whose code changed, and compute N samples per study. "
            "Confirm what is equal in the records.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the sample. By default, the seed of params.yaml.")] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set to which the sample is restricted. Repeat it for several.")
    ] = None,
    cores: Annotated[int, typer.Option(min=1, help="Number of cores that the sample uses.")] = 1,
) -> None:
    """Check that data and results belong to this checkout: files, parameters, code and versions. Check submissions.

    The exit code is 1 if anything differs.
    """
    from gradrank.bench.provenance.submissions import SUBMISSIONS, check_submissions
    from gradrank.bench.provenance.verify import verify as run

    if repair:
        _repair(results, data, yes)
        return
    if yes:
        raise GradrankError("--yes answers the question of --repair. Fix: gradrank verify --repair --yes")
    if recheck is not None:
        _recheck(params, results, recheck, seed, dataset or [], cores)
        return
    checks = [*run(run_settings(params), results, data), *check_submissions(SUBMISSIONS, results, data / "parquet")]
    for check in checks:
        typer.echo(f"{STATES[check.ok]:8} {_printable(check.text)}")
    failed = [check for check in checks if check.ok is False]
    if failed:
        typer.echo("\nFix:")
        for fix in dict.fromkeys(check.fix for check in failed):
            typer.echo(f"  {_printable(fix)}")
        raise typer.Exit(1)


def _recheck(params: Path, results: Path, count: int, seed: int | None, only: list[str], cores: int) -> None:
    from gradrank.bench.workflow_support.recheck import Recheck

    settings = run_settings(params)
    check = Recheck(settings, Results(results), params, count, settings.seed if seed is None else seed, only)
    for line in check.plan_lines():
        typer.echo(line)
    check.run(cores)
    outcomes = [*check.outcomes()]
    for outcome in outcomes:
        typer.echo(f"{STATES[outcome.ok]:8} {outcome.text}")
    raise typer.Exit(int(any(outcome.ok is False for outcome in outcomes)))


def _repair(results: Path, data: Path, yes: bool) -> None:
    """List what `gradrank verify --repair` removes, and remove it if the user agrees. `yes`: do not ask."""
    from gradrank.bench.provenance.audit import audit, carry_out, plan_repair, stamps

    can_ask = sys.stdin is not None and sys.stdin.isatty()
    plan = plan_repair((mismatch for stamp in stamps(results, data) for mismatch in audit(stamp)), results, data)
    for state, paths in (("left", plan.kept | plan.waiting), ("remove", plan.removed)):
        for path, reason in paths.items():
            typer.echo(f"{state:8} {_printable(f'{path}: {reason}')}")
    if not plan.removed:
        typer.echo("Nothing to remove.")
    elif yes or (can_ask and typer.confirm(f"Remove these {len(plan.removed)} files and folders?")):
        for path in carry_out(plan):
            typer.echo(f"removed {_printable(str(path))}")
        typer.echo("Next: run Snakemake again. It makes the removed files again.")
    elif can_ask:
        raise GradrankError("nothing was removed")
    else:
        raise GradrankError(
            "nothing was removed, because there is no terminal to ask. Fix: read the list, then run "
            "`gradrank verify --repair --yes`"
        )
    if plan.kept:
        raise typer.Exit(1)


def _printable(text: str) -> str:
    """Return a text with escape sequences for characters of file names that a terminal interprets or cannot show."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", lambda match: ascii(match[0])[1:-1], text)


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank cite lambdamart ranksvm --data mq2007"))
def cite(
    methods: Annotated[
        list[str] | None, typer.Argument(metavar="[METHOD]...", help="Names that `gradrank models` lists.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Data sets, such as 'mq2007,ohsumed'.")] = None,
    params: ParamsFile = Path("params.yaml"),
) -> None:
    """Print the BibTeX entries of methods and data sets.

    Without arguments, print the entries of everything that `run` in params.yaml names.
    """
    from gradrank.bench.cli.citations import cite as run

    for text in run(methods or [], data.split(",") if data else [], params):
        typer.echo(text)


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
