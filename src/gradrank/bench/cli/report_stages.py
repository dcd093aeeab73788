"""Stages of the workflow after the summary as commands, one per rule. Each command can also be run by hand."""

from pathlib import Path
from typing import Annotated

import typer

from gradrank.base.files import write_json
from gradrank.bench.cli.options import REPORT, Code, ParamsFile, ResultsFolder, Seed
from gradrank.bench.results import Results
from gradrank.cli.options import STAGES, Convention, Data, example, use_one_thread

commands = typer.Typer()


@commands.command(
    rich_help_panel=STAGES, epilog=example("gradrank explanations results/mq2007 --data data/parquet/mq2007 --seed 1")
)
def explanations(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>, with a summary.")],
    data: Data,
    seed: Seed,
    convention: Convention = "letor4",
    code: Code = None,
) -> None:
    """Explain what the best methods of a data set learned, and write FOLDER/explanations.json for the report.

    The file has the importance of each feature on the test parts, and the contributions of the features to pairs of
    documents that two methods order differently. Nothing is chosen by it.
    """
    use_one_thread()
    from gradrank.bench.config.code_digest import code_digest
    from gradrank.bench.report.explanations.stage import explanations as run

    run(folder, data, convention, seed, code or code_digest("explanations"))


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank collect --datasets mq2007,ohsumed"))
def collect(
    datasets: Annotated[str, typer.Option(help="Data sets, such as 'mq2007,ohsumed'.")],
    results: ResultsFolder = Path("results"),
) -> None:
    """Collect the files that DVC versions: per_query.parquet, metrics.json, methods.csv and the stamp run.json."""
    from gradrank.bench.provenance.collect import collect as run

    run(Results(results), datasets.split(","))


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank report --datasets mq2007 --out mq2007.html"))
def report(
    results: ResultsFolder = Path("results"),
    out: Annotated[Path, typer.Option(metavar="FILE", help="HTML file to write. It needs no other file.")] = REPORT,
    convention: Convention = "letor4",
    datasets: Annotated[str, typer.Option(help="Show only these data sets, such as 'mq2007,ohsumed'.")] = "",
    studies: Annotated[str, typer.Option(help="Show only these studies, such as 'arsm'.")] = "",
) -> None:
    """Write the results as one HTML file that opens offline, and print the best methods."""
    from gradrank.bench.report.document import report as run

    only = (_names(datasets), _names(studies))
    typer.echo(run(results, out, convention, only=only if any(only) else None))


def _names(listed: str) -> list[str]:
    """Return the names of a comma-separated list."""
    return [name for name in listed.split(",") if name]


@commands.command(rich_help_panel=STAGES, epilog=example("""gradrank track --datasets '{"mq2007": ["lambdamart"]}'"""))
def track(
    datasets: Annotated[str, typer.Option(help="Methods per data set, as a JSON object or @FILE.")],
    results: ResultsFolder = Path("results"),
    params: ParamsFile = Path("params.yaml"),
    studies: Annotated[str, typer.Option(help="Settings per finished study, as a JSON object or @FILE.")] = "{}",
    report: Annotated[Path, typer.Option(help="Report whose figures are logged with the runs.")] = REPORT,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON file to write, with the run id of each method.")
    ] = None,
) -> None:
    """Import results into MLflow (sqlite:///mlflow.db, or MLFLOW_TRACKING_URI).

    Results that are already in MLflow are not imported again.
    """
    from gradrank.base.validation import read_params
    from gradrank.bench.config.params_file import read
    from gradrank.bench.tracking.runs import track as run

    runs = run(results, read_params(datasets), read(params), read_params(studies), report)
    typer.echo(f"{len(runs)} runs, {sum(run.new for run in runs)} of them new")
    if out is not None:
        write_json(out, {f"{run.dataset}/{run.model}": run.run_id for run in runs})
