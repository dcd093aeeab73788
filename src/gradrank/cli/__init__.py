"""The command line. Every stage of the workflow is one of these commands and runs by hand as well.

Everything heavy is imported inside its command: `gradrank --help` answers at once.
"""

import atexit
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gradrank.base import processor
from gradrank.base.compiled_cache import use_cache_folder
from gradrank.base.errors import GradrankError, unknown
from gradrank.base.files import atomic, write_json
from gradrank.base.results import Results
from gradrank.cli.contest import commands, one_thread
from gradrank.evaluation.conventions import CONVENTIONS

if TYPE_CHECKING:
    import polars as pl

    from gradrank.config.params import RunSettings

app = typer.Typer(
    help="A reproducible learning-to-rank benchmark, from PRank to LambdaMART.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(commands)  # without a name they are commands like all others

REPORT = Results().report_path
Seed = Annotated[int, typer.Option(help="The run's seed; a job's own is derived from it.")]
Data = Annotated[Path, typer.Option(help="Stored collection, as in data/parquet/mq2007.")]
Form = Literal["letor", "trec"]
Ties = Literal["omit", "half"]
Missing = Literal["least", "mean", "zero", "keep"]
Code = Annotated[str | None, typer.Option(help="Digest of the code; by default computed.")]
Query = Annotated[str | None, typer.Option(help="A table's column of query ids.")]
Label = Annotated[str | None, typer.Option(help="A table's column of grades.")]
Docid = Annotated[str | None, typer.Option(help="A table's column of document ids.")]
Ignore = Annotated[list[str] | None, typer.Option(help="A table's column to set aside.")]
Keep = Annotated[
    list[str] | None, typer.Option(help="A table's column that is a feature, though its name could be a role's.")
]
Convention = Annotated[str, typer.Option(help=f"Metric convention: {', '.join(CONVENTIONS)}.")]


@app.callback()
def _before_any_command() -> None:
    processor.check()
    use_cache_folder()


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write into; made if it is not there.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Your own: a folder in LETOR layout, or one file; without it the shipped data sets."),
    ] = None,
) -> None:
    """Write params.yaml, Snakefile, dvc.yaml and profiles into a folder, where `snakemake` then runs the benchmark."""
    from gradrank.config.project_folder import init as run
    from gradrank.config.project_folder import next_command

    for path in run(folder, data):
        typer.echo(path)
    typer.echo(f"\nNext: {next_command(folder)}")


@app.command()
def fetch(
    dataset: Annotated[str, typer.Argument(help="A name of `gradrank datasets`.")],
    out: Annotated[Path, typer.Option(help="Folder that receives the official layout.")],
    mirror: Annotated[
        str | None, typer.Option(envvar="GRADRANK_MIRROR", help="Folder or URL to look in first.")
    ] = None,
) -> None:
    """Get a data set of the catalogue: from the mirror, else from its public addresses."""
    from gradrank.data.sources.fetch import fetch as run

    run(dataset, out, mirror)


@app.command()
def generate(
    target: Annotated[str, typer.Argument(help="net or poly: the two targets of the 2005 RankNet paper.")],
    queries: Annotated[int, typer.Option()],
    documents: Annotated[int, typer.Option(help="Documents a query.")],
    out: Annotated[Path, typer.Option(help="Folder that receives S1.txt to S5.txt.")],
    seed: Seed,
) -> None:
    """Write artificial data as LETOR text (Burges et al. 2005, section 5)."""
    from gradrank.data.sources.synthetic import generate as run

    run(target, queries, documents, seed, out)


@app.command()
def parse(
    path: Annotated[
        Path, typer.Argument(help="Folder in LETOR layout, or one file: SVMlight with qid, Parquet, CSV, TSV.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write, as in data/parquet/mq2007.")],
    seed: Seed,
    dataset: Annotated[str | None, typer.Option(help="Name; by default that of OUT.")] = None,
    features: Annotated[int | None, typer.Option(help="Width, where sparse rows do not show it.")] = None,
    missing: Annotated[
        Missing | None, typer.Option(help="What missing values become; text: least, tables: keep.")
    ] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
    ignore: Ignore = None,
    keep: Keep = None,
) -> None:
    """Check every line of LETOR or SVMlight text, or a table, and store the collection as Parquet, one file a part."""
    from gradrank.data.description import role_table
    from gradrank.data.parse import parse as run
    from gradrank.data.sources.catalogue import catalogue, check_counts
    from gradrank.data.tables.roles import Columns

    name = dataset or out.name
    columns = Columns(query, label, docid, tuple(ignore or ()), tuple(keep or ()))
    meta = run(path, out, seed, name, features=features, columns=columns, missing=missing)
    entry = catalogue().get(name)
    if entry is not None:
        check_counts(entry, meta)
    for line in role_table(meta["roles"]):
        typer.echo(line)
    if "note" in meta:
        typer.echo(f"{out}: note: {meta['note']}")
    typer.echo(f"{out}: {meta['rows']:,} rows, {meta['queries']:,} queries, {meta['features']} features")


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="A file, or a folder in LETOR layout, in any form that `parse` reads.")],
    features: Annotated[int | None, typer.Option(help="Width, where sparse rows do not show it.")] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
    ignore: Ignore = None,
    keep: Keep = None,
) -> None:
    """Print the role, type, range and missing values of each column as they are understood; nothing is written."""
    from gradrank.data.inspect import inspect as run
    from gradrank.data.tables.roles import Columns

    columns = Columns(query, label, docid, tuple(ignore or ()), tuple(keep or ()))
    for line in run(path, columns, features):
        typer.echo(line)


@app.command()
def pairs(
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write, as in data/pairs/mq2007.")],
    ties: Annotated[Ties, typer.Option(help="Equal grades: no pair, or one of target 1/2.")] = "omit",
    given: Annotated[
        Path | None, typer.Option(help="Your own pairs instead: CSV or Parquet, with targets and weights.")
    ] = None,
) -> None:
    """Store the pairs of a collection, of its grades or a file's, once for all folds and models."""
    from gradrank.data.pair_files import write_pairs as run

    run(data, out, ties, given)


@app.command()
def train(
    model: Annotated[str, typer.Option(help="A name of `gradrank models`.")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    seed: Seed,
    fold: Annotated[int, typer.Option()] = 1,
    params: Annotated[str, typer.Option(help="JSON object, or @FILE; unnamed ones keep their default.")] = "{}",
    pairs: Annotated[Path | None, typer.Option(help="Folder of the pairs; enumerated if not given.")] = None,
    members: Annotated[
        Path | None, typer.Option(help="results/<dataset>, for a model made of other models' scores.")
    ] = None,
    code: Code = None,
) -> None:
    """Train one model on one fold: the model, its scores, its history."""
    one_thread()
    from gradrank.base.validation import read_params
    from gradrank.training.job import train as run

    values = read_params(params)
    run(model, data, fold, values, seed, out, pairs, members, code or _training_code(model, values))


@app.command()
def import_scores(
    scores: Annotated[
        str, typer.Argument(help="Score files: as in 'runs/fold{fold}.txt'; {dataset} and {split} likewise.")
    ],
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    seed: Seed,
    fold: Annotated[int, typer.Option()] = 1,
    code: Code = None,
) -> None:
    """Import the scores of another program as a method's fold: LETOR scores, a TREC run or Parquet."""
    from gradrank.config.code_digest import code_digest
    from gradrank.evaluation.import_scores import import_scores as run

    run(scores, data, fold, seed, out, code or code_digest("import_scores"))


@app.command()
def evaluate(
    scores: Annotated[Path, typer.Option(help="One score a line, a TREC run, or Parquet.")],
    data: Annotated[
        Path, typer.Option(help="Data in any form that `parse` reads, a stored collection, or TREC's qrels.")
    ],
    convention: Convention = "letor4",
    metrics: Annotated[
        str | None, typer.Option(help="As in 'ndcg@10,map,err@5'; by default LETOR's own tables.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the values a query, as Parquet.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Another score file: also say how alike both rankings are, by Kendall and Spearman."),
    ] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Measure any score file: mean over queries, under a named convention. What a run leaves out is said on stderr."""
    from gradrank.data.tables.roles import Columns
    from gradrank.evaluation.evaluate import LETOR_TABLES, evaluate_file, letor_report

    columns = Columns(query, label, docid)
    named = None if metrics is None else [name.strip() for name in metrics.split(",")]
    names = named or [name for table in LETOR_TABLES for name in table.values()]
    if named is None:
        typer.echo(letor_report(scores, data, convention, columns=columns), nl=False)
    alike = None
    if against is not None:
        from gradrank.evaluation.agreement import agreement

        alike = agreement(scores, against, data, columns=columns).drop("qid")
    if named or out:
        values = evaluate_file(scores, data, convention, names, columns=columns)
        if named:
            _echo_means(values.select(names), convention)
        if alike is not None:
            values = values.hstack(alike)
        if out:
            with atomic(out) as partial:
                values.write_parquet(partial)
    if alike is not None:
        _echo_means(alike, f"against {against}")


@app.command()
def evaluate_folds(
    folder: Annotated[Path, typer.Argument(help="results/<dataset>/<variant>, with fold1, fold2, ...")],
    model: Annotated[str, typer.Option(help="The model that the folds must be of.")],
    data: Data,
    params: Annotated[str, typer.Option(help="The model's parameters in force: JSON object, or @FILE.")],
    seed: Seed,
    metrics: Annotated[str, typer.Option(help="As in 'ndcg@10,map'.")],
    further_seeds: Annotated[
        str, typer.Option(help="As in '1,2': those whose folds are FOLDER/fold<k>/seed1 and seed2.")
    ] = "",
    conventions: Annotated[str, typer.Option(help="As in 'letor4,standard'.")] = "letor4",
    code: Code = None,
) -> None:
    """Measure a model's folds per query: FOLDER/per_query.parquet. Scores of other parameters are refused."""
    from gradrank.base.validation import read_params
    from gradrank.config.code_digest import code_digest
    from gradrank.evaluation.evaluate import evaluate_folds as run

    spec = {"model": model, "dataset": folder.parent.name, "params": read_params(params), "seed": seed}
    further = [int(each) for each in further_seeds.split(",") if each]
    digest = code or code_digest("evaluate_folds")
    run(folder, data, spec, conventions.split(","), metrics.split(","), further, digest)


@app.command()
def summary(
    folder: Annotated[Path, typer.Argument(help="results/<dataset>")],
    data: Annotated[Path, typer.Option(help="The stored collection, as in data/parquet/mq2007.")],
    settings: Annotated[
        str | None, typer.Option(help="Settings in force: JSON object, or @FILE; by default of params.yaml.")
    ] = None,
) -> None:
    """Compare a data set's methods: summary.json, summary.md, tables with paired tests, and last provenance.json."""
    from gradrank.base.results import DatasetFolder
    from gradrank.base.validation import read_params
    from gradrank.provenance.records import write_record
    from gradrank.provenance.settings import dataset_settings
    from gradrank.report.tables.summary import summary as run

    own = DatasetFolder(folder)
    values = read_params(settings) if settings else dataset_settings(_params(), own.name)
    run(folder, list(values["models"]), values["evaluation"]["convention"], data)
    write_record(own, values, data.parent)
    typer.echo(own.summary_page_path.read_text(encoding="utf-8"))


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="As in `arsm`, or `arsm/reduced` for the reduced form.")],
    results: Annotated[Path, typer.Option(help="Results root: one folder per data set.")] = Path("results"),
    data: Annotated[Path, typer.Option(help="Folder of the Parquet collections.")] = Path("data/parquet"),
    settings: Annotated[
        str | None, typer.Option(help="Settings in force: JSON object, or @FILE; by default of params.yaml.")
    ] = None,
    code: Annotated[
        str | None, typer.Option(help="Code digests by stage: JSON object, or @FILE; by default computed.")
    ] = None,
) -> None:
    """Re-create a publication's tables and figures from finished results: page, tables, numbers, provenance.json."""
    from gradrank.base.validation import read_params
    from gradrank.provenance.settings import study_settings
    from gradrank.provenance.study_records import study_code, write_study_record
    from gradrank.studies.common.study import Inputs
    from gradrank.studies.common.writing import study as run

    root = Results(results)
    values = read_params(settings) if settings else study_settings(_params(name), name)
    own = root.study(name)
    tables = run(name.partition("/")[0], Inputs(results, data, own.folder, values["settings"]))
    stages = read_params(code) if code else study_code(_params(name), name)
    write_study_record(own, root, name, values, stages, tables)
    typer.echo(own.markdown_path)


@app.command()
def study_job(
    name: Annotated[str, typer.Argument(help="As in 'ranknet2005': a folder of gradrank/studies.")],
    job: Annotated[str, typer.Argument(help="As in 'net-1': one of the jobs that the study declares.")],
    seed: Seed,
    out: Annotated[Path, typer.Option(help="JSON file to write.")],
    data: Annotated[Path, typer.Option(help="Folder of the Parquet collections.")] = Path("data/parquet"),
    settings: Annotated[
        str | None, typer.Option(help="What the job is told: JSON object, or @FILE; by default as params.yaml has it.")
    ] = None,
) -> None:
    """Run one of the jobs of a study's own, such as experiments on data that it makes or further trainings."""
    one_thread()
    from gradrank.base.results import write_job
    from gradrank.base.validation import read_params
    from gradrank.config.studies import get_study

    told = _params(name).study_jobs(name) if settings is None else {job: read_params(settings)}
    if job not in told:
        raise GradrankError(unknown(f"job of {name}", job, told))
    write_job(out, get_study(name, "experiments").run_job(told[job], data, seed))


@app.command()
def diff(
    a: Annotated[
        str,
        typer.Argument(
            help="Before: a results folder, git revision, DVC experiment or MLflow run id (of MLFLOW_TRACKING_URI, "
            "else sqlite:///mlflow.db); the first of these that it is."
        ),
    ],
    b: Annotated[str, typer.Argument(help="After, likewise. `results` is what the last run left here.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write this HTML file, with plots.")] = None,
    fail_on_regression: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC:DELTA",
            help="As in ndcg@10:0.005: exit code 3 if the mean of any method of both sides, on any data set, fell by "
            "more than DELTA, significant or not; 1 if that cannot be told.",
        ),
    ] = None,
) -> None:
    """Say what changed between A and B, what moved, and whether it is real: paired tests over the same queries."""
    from gradrank.diff import output

    output.run(a, b, markdown, as_json, html, fail_on_regression)


@app.command()
def collect(
    datasets: Annotated[str, typer.Option(help="As in 'mq2007,ohsumed'.")],
    results: Annotated[Path, typer.Option(help="Results root: one folder per data set.")] = Path("results"),
) -> None:
    """Collect what DVC versions: per_query.parquet, metrics.json, methods.csv and the stamp run.json in RESULTS."""
    from gradrank.provenance.collect import collect as run

    run(Results(results), datasets.split(","))


@app.command()
def report(
    results: Annotated[Path, typer.Option(help="Results root: one folder per data set.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="HTML file to write; it needs no other file.")] = REPORT,
    convention: Convention = "letor4",
    datasets: Annotated[str, typer.Option(help="Show these data sets only, as in 'mq2007,ohsumed'.")] = "",
    studies: Annotated[str, typer.Option(help="Show these studies only, as in 'arsm'.")] = "",
) -> None:
    """Render the results as one HTML file that opens offline, and print the best methods."""
    from gradrank.report.document import report as run

    names = [[name for name in listed.split(",") if name] for listed in (datasets, studies)]
    typer.echo(run(results, out, convention, only=names if any(names) else None))


@app.command()
def track(
    datasets: Annotated[str, typer.Option(help="Methods by data set: JSON object, or @FILE.")],
    results: Annotated[Path, typer.Option(help="Results root: one folder per data set.")] = Path("results"),
    params: Annotated[Path, typer.Option(help="The run's parameters.")] = Path("params.yaml"),
    studies: Annotated[str, typer.Option(help="Settings of finished studies by name: JSON object, or @FILE.")] = "{}",
    report: Annotated[Path, typer.Option(help="The report whose figures go with the runs.")] = REPORT,
    out: Annotated[Path | None, typer.Option(help="JSON file that names the runs.")] = None,
) -> None:
    """Import results into MLflow (sqlite:///mlflow.db, or MLFLOW_TRACKING_URI); importing twice adds nothing."""
    from gradrank.base.validation import read_params
    from gradrank.config.params_file import read
    from gradrank.tracking.runs import track as run

    runs = run(results, read_params(datasets), read(params), read_params(studies), report)
    typer.echo(f"{len(runs)} runs, {sum(each.new for each in runs)} of them new")
    if out is not None:
        write_json(out, {f"{each.dataset}/{each.model}": each.run_id for each in runs})


@app.command()
def verify(
    results: Annotated[Path, typer.Option(help="Results root: one folder per data set.")] = Path("results"),
    data: Annotated[Path, typer.Option(help="Folder with raw/, parquet/ and pairs/.")] = Path("data"),
    params: Annotated[Path, typer.Option(help="The run's parameters.")] = Path("params.yaml"),
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what does not match its stamp, and what killed jobs left.")
    ] = False,
) -> None:
    """Check that data and results belong to this checkout: files, parameters, code, versions. Exit code 1 if not."""
    from gradrank.provenance.audit import audit, stamps
    from gradrank.provenance.audit import repair as run_repair
    from gradrank.provenance.verify import verify as run

    if repair:
        found = [mismatch for stamp in stamps(results, data) for mismatch in audit(stamp)]
        for path in run_repair(found, results, data):
            typer.echo(f"removed {path}")
        typer.echo("Next: run Snakemake again; it makes what was removed.")
        return
    checks = list(run(_params(path=params), results, data))
    for check in checks:
        typer.echo(f"{ {True: 'ok', False: 'DIFFERS', None: 'note'}[check.ok]:8} {check.text}")
    wrong = [check for check in checks if check.ok is False]
    if wrong:
        typer.echo("\nFix:")
        for fix in dict.fromkeys(check.fix for check in wrong):
            typer.echo(f"  {fix}")
        raise typer.Exit(1)


@app.command()
def predict(
    model: Annotated[Path, typer.Option(help="A trained fold, as in results/mq2007/lambdamart/fold1.")],
    input: Annotated[Path, typer.Option(help="LETOR or SVMlight text, Parquet, CSV or TSV.")],
    out: Annotated[Path | None, typer.Option(help="File to write; standard output if not given.")] = None,
    form: Annotated[
        Form, typer.Option(help="letor: one score a line, in the rows' order; trec: a TREC run.")
    ] = "letor",
    query: Query = None,
    docid: Docid = None,
    ignore: Ignore = None,
) -> None:
    """Rank new data with a trained model. A table's features are found by their names in training."""
    one_thread()
    from gradrank.data.tables.roles import Columns
    from gradrank.evaluation.predict import predict as run

    columns = Columns(query, docid=docid, ignore=tuple(ignore or ()))
    run(model, input, out, form, columns if columns.named() else None)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="results/<dataset>/<model>, with fold1, fold2, ...")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for fold<k>.run.txt, .qrels.txt and .scores.txt.")],
) -> None:
    """Write a model's test rankings for any outside evaluator: TREC run and qrels, LETOR scores."""
    from gradrank.evaluation.export import export_model

    for path in export_model(folder, data, out):
        typer.echo(path)


@app.command()
def datasets() -> None:
    """List the data sets: licence, size, what to do to get them."""
    from gradrank.cli.listings import list_datasets

    list_datasets()


@app.command()
def models(name: Annotated[str | None, typer.Argument(help="Show this model's parameters only.")] = None) -> None:
    """List the models: what each is, its parameters, their defaults and sources."""
    from gradrank.cli.listings import list_models

    list_models(name)


@app.command()
def cite(
    methods: Annotated[
        list[str] | None, typer.Argument(metavar="[METHOD]...", help="As `gradrank models` lists them.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Data sets, as in 'mq2007,ohsumed'.")] = None,
    params: Annotated[Path, typer.Option(help="The run's parameters.")] = Path("params.yaml"),
) -> None:
    """Print the BibTeX of methods and data sets; without any, of all that `run` of params.yaml builds."""
    from gradrank.cli.listings import cite as run

    for text in run(methods or [], data.split(",") if data else [], params):
        typer.echo(text)


def _params(study: str = "", path: Path = Path("params.yaml")) -> "RunSettings":
    """Read params.yaml. Raises GradrankError where it lacks the study."""
    from gradrank.config.params import load

    params = load(path)
    if study and study not in params.studies:
        raise GradrankError(f"{path}: no `studies.{study}`. Fix: add it, or give --settings")
    return params


def _training_code(model: str, params: dict[str, Any]) -> str:
    from gradrank.provenance.code import training_code

    return training_code(model, params)


def _echo_means(values: "pl.DataFrame", how: str) -> None:
    """A line a column: its name, its mean over queries, and how it was measured."""
    for column in values:
        mean = column.mean()
        typer.echo(f"{column.name}\t{'undefined' if mean is None else f'{mean:.4f}'}\t{how}")


def main() -> None:
    """The program: `answer`, and an end that takes no time.

    To free each object by itself, of which Polars, MLflow and all that they import hold a million, is a fifth of what
    a small job takes; the system frees them at once.
    """
    succeeded = False

    @atexit.register  # the first that is registered is called last
    def _end() -> None:
        if succeeded:
            for stream in filter(None, (sys.stdout, sys.stderr)):  # None: closed by who called
                stream.flush()
            os._exit(0)

    try:
        answer()
    except SystemExit as end:
        succeeded = not end.code
        raise


def answer() -> None:
    """Run the command line; what a user can mend ends it with a message and exit code 1, no traceback."""
    try:
        app()
    except Exception as error:
        from gradrank.cli.disk_errors import explanation

        told = explanation(error, sys.argv[1:])
        if isinstance(error, MemoryError):
            from gradrank.data.memory import available

            told = f"out of memory ({error}); this process may take {available() / 1e9:.1f} GB more: raise the limit"
        if told is None and not isinstance(error, (GradrankError, OSError)):
            raise
        print(f"gradrank: error: {told or error}", file=sys.stderr)
        sys.exit(1)
