"""Stages of the workflow as commands, one per rule. Each command can also be run by hand."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.files import write_json
from gradrank.bench.cli.options import (
    REPORT,
    Code,
    Fold,
    Members,
    Missing,
    Model,
    Normalise,
    Pairs,
    ParamsFile,
    ResultsFolder,
    Seed,
    Settings,
    Ties,
    run_settings,
)
from gradrank.bench.results import Results
from gradrank.cli.options import (
    STAGES,
    Categorical,
    Convention,
    Data,
    Docid,
    Features,
    FeaturesFrom,
    FoldColumn,
    Folds,
    GradeEdges,
    GroupRows,
    Header,
    Ignore,
    Keep,
    Label,
    Query,
    Repeated,
    Validation,
    Weight,
    declared_columns,
    example,
    fold_options,
    use_one_thread,
)
from gradrank.measures.conventions import DEFAULT

commands = typer.Typer()


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank fetch mq2007 --out data/raw/mq2007"))
def fetch(
    dataset: Annotated[str, typer.Argument(help="Name of a data set; `gradrank datasets` lists them.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write, in the official layout.")],
    mirror: Annotated[str | None, typer.Option(envvar="GRADRANK_MIRROR", help="Folder or URL to search first.")] = None,
) -> None:
    """Get a data set of the catalogue, from the mirror or from its public addresses."""
    from gradrank.data.sources.fetch import fetch as run

    run(dataset, out, mirror)


@commands.command(
    rich_help_panel=STAGES,
    epilog=example("gradrank generate net --queries 100 --documents 50 --out data/raw/small --seed 1"),
)
def generate(
    target: Annotated[
        Literal["net", "poly"], typer.Argument(help="Target function: one of the two of the 2005 RankNet paper.")
    ],
    queries: Annotated[int, typer.Option(help="Number of queries in all five parts together.")],
    documents: Annotated[int, typer.Option(help="Number of documents per query.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write, with S1.txt to S5.txt.")],
    seed: Seed,
) -> None:
    """Write artificial data as LETOR text (Burges et al. 2005, section 5)."""
    from gradrank.data.sources.synthetic import generate as run

    run(target, queries, documents, seed, out)


@commands.command(
    rich_help_panel=STAGES, epilog=example("gradrank parse /path/to/data --out data/parquet/my_data --seed 1")
)
def parse(
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder with Fold1, Fold2 and so on, a folder with train, vali and test files, or one file: "
            "SVMlight, Parquet, Feather, JSON lines, CSV or TSV."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write, such as data/parquet/mq2007.")],
    seed: Seed,
    dataset: Annotated[str | None, typer.Option(help="Name of the data set. By default, the name of OUT.")] = None,
    features: Features = None,
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="Replacement of missing values: `least` and `zero` in the stored data; `mean`, `median` and "
            "`indicator` in the training of models that do not accept them. By default, `least` for text and "
            "`keep` for tables."
        ),
    ] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
    ignore: Ignore = None,
    keep: Keep = None,
    header: Header = True,
    group_rows: GroupRows = False,
    grade_edges: GradeEdges = None,
    weight: Weight = None,
    features_from: FeaturesFrom = 1,
    repeated: Repeated = "error",
    categorical: Categorical = None,
    normalise: Normalise = "none",
    folds: Folds = None,
    fold: FoldColumn = None,
    validation: Validation = None,
    complete_for: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated methods that do not accept missing values. If the stored data have missing values, "
            "the command fails, and names these methods and the features."
        ),
    ] = None,
) -> None:
    """Check every line of LETOR or SVMlight text, or a table, and store the collection as Parquet.

    One file is written per part. If DATASET is in the catalogue and no column is declared, the form of the files is
    taken from the catalogue.
    """
    from gradrank.data.description import fold_lines, role_table
    from gradrank.data.parse import parse as run
    from gradrank.data.sources.catalogue import catalogue, check_counts
    from gradrank.data.tables.roles import Columns

    name = dataset or out.name
    columns = declared_columns(
        query, label, docid, ignore, keep, header, group_rows, grade_edges, weight, features_from, repeated, categorical
    )
    entry = catalogue().get(name)
    if entry is not None and columns == Columns():
        columns, features = entry.columns(), features or entry.declared_features
    division = fold_options(folds, fold, validation, header)
    description = run(path, out, seed, name, features, columns, missing, normalise, division)
    if entry is not None:
        check_counts(entry, description)
    for line in (*role_table(description["roles"]), *fold_lines(description)):
        typer.echo(line)
    for warning in description.get("warnings", []):
        typer.echo(f"{out}: WARNING: {warning}")
    if "note" in description:
        typer.echo(f"{out}: note: {description['note']}")
    typer.echo(
        f"{out}: {description['rows']:,} rows, {description['queries']:,} queries, {description['features']} features"
    )
    if complete_for and "missing_values" in description:
        from gradrank.training.fit import check_missing_values

        check_missing_values(out, description, complete_for.split(","))


@commands.command(
    rich_help_panel=STAGES, epilog=example("gradrank pairs --data data/parquet/mq2007 --out data/pairs/mq2007")
)
def pairs(
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write, such as data/pairs/mq2007.")],
    ties: Annotated[
        Ties, typer.Option(help="Documents of equal grade: `omit` makes no pair, `half` one with target 1/2.")
    ] = "omit",
    given: Annotated[
        Path | None, typer.Option(help="File with your own pairs: CSV or Parquet, with targets and weights.")
    ] = None,
) -> None:
    """Store the pairs of a collection, once for all folds and models.

    By default, they are the pairs of documents of one query that have different grades.
    """
    from gradrank.data.pair_files import write_pairs as run

    run(data, out, ties, given)


@commands.command(
    rich_help_panel=STAGES,
    epilog=example(
        "gradrank train --model lambdamart --data data/parquet/mq2007 --fold 1 --seed 1 "
        "--out results/mq2007/methods/mine/fold1"
    ),
)
def train(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write.")],
    seed: Seed,
    fold: Fold = 1,
    params: Annotated[
        str, typer.Option(help="Parameters as a JSON object, or @FILE. Omitted ones keep their default.")
    ] = "{}",
    pairs: Pairs = None,
    members: Members = None,
    convention: Convention = DEFAULT,
    gain: Annotated[
        str | None, typer.Option(help="Gain in training and selection: exponential, linear, or one number per grade.")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, help="Number of threads, for trees. The results do not depend on it.")
    ] = 1,
    code: Code = None,
) -> None:
    """Train one model on one fold, and write the model, its scores and its history.

    Epochs, rounds and grid points are selected on the validation part, under the convention in expectation over ties.
    """
    use_one_thread()
    from gradrank.base.processor import use_threads
    from gradrank.base.validation import read_params
    from gradrank.bench.folds.job import train as run
    from gradrank.measures.conventions import resolve
    from gradrank.training.label_gains import parse_gain
    from gradrank.training.registry import get_model

    if threads > 1 and not get_model(model).uses_threads:
        raise GradrankError(
            f"--threads: {model} trains with one thread, because the last digits of its results would depend on the "
            "number. Fix: leave the option out"
        )
    values = read_params(params)
    digest = code or _training_code(model, values)
    with use_threads(threads):
        own_gain = None if gain is None else parse_gain(gain)
        run(model, data, fold, values, seed, out, pairs, members, digest, resolve(convention), gain=own_gain)


def _training_code(model: str, params: dict[str, Any]) -> str:
    from gradrank.bench.provenance.records import training_code
    from gradrank.training.fit import resolve

    resolve(model, params)  # raises an error with the name of a wrong parameter
    return training_code(model, params)


@commands.command(
    rich_help_panel=STAGES,
    epilog=example(
        "gradrank import-scores 'runs/fold{fold}.txt' --data data/parquet/mq2007 --fold 1 --seed 1 "
        "--out results/mq2007/methods/their_system/fold1"
    ),
)
def import_scores(
    scores: Annotated[
        str,
        typer.Argument(help="Score files, such as 'runs/fold{fold}.txt'. {dataset} and {split} are replaced as well."),
    ],
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write.")],
    seed: Seed,
    fold: Fold = 1,
    code: Code = None,
) -> None:
    """Import the scores of another program as a fold of a method: LETOR scores, a TREC run or Parquet."""
    from gradrank.bench.config.code_digest import code_digest
    from gradrank.bench.folds.score_exchange import import_scores as run

    run(scores, data, fold, seed, out, code or code_digest("import_scores"))


@commands.command(
    rich_help_panel=STAGES,
    epilog=example(
        "gradrank evaluate-folds results/mq2007/methods/mine --model lambdamart --data data/parquet/mq2007 "
        "--params '{}' --seed 1 --metrics ndcg@10,map"
    ),
)
def evaluate_folds(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>/methods/<variant>, with fold1, fold2, ...")],
    model: Annotated[str, typer.Option(help="Name of the model that the folds were trained with.")],
    data: Data,
    params: Annotated[str, typer.Option(help="Parameters in force, as a JSON object or @FILE.")],
    seed: Seed,
    metrics: Annotated[str, typer.Option(help="Metrics, such as 'ndcg@10,map'.")],
    further_seeds: Annotated[
        str, typer.Option(help="Further seeds, such as '1,2', whose folds are FOLDER/fold<k>/seed1 and seed2.")
    ] = "",
    conventions: Annotated[str, typer.Option(help="Conventions, such as 'letor4,standard'.")] = DEFAULT,
    code: Code = None,
) -> None:
    """Evaluate the folds of a model per query, and write FOLDER/per_query.parquet.

    Folds that were trained with other parameters are refused.
    """
    from gradrank.base.validation import read_params
    from gradrank.bench.config.code_digest import code_digest
    from gradrank.bench.folds.evaluate import evaluate_folds as run
    from gradrank.data.stored import StoredCollection
    from gradrank.measures.conventions import resolve

    names = [resolve(name).name for name in conventions.split(",")]
    spec = {"model": model, "dataset": StoredCollection.open(data).name, "params": read_params(params), "seed": seed}
    further = [int(number) for number in further_seeds.split(",") if number]
    digest = code or code_digest("evaluate_folds")
    run(folder, data, spec, names, metrics.split(","), further, digest)


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank summary results/mq2007 --data data/parquet/mq2007"))
def summary(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>.")], data: Data, settings: Settings = None
) -> None:
    """Compare the methods of a data set.

    Writes summary.json, summary.md, tables with paired tests and, last, provenance.json.
    """
    from gradrank.base.stamps import check_own_files
    from gradrank.base.validation import read_params
    from gradrank.bench.provenance.records import dataset_settings, write_record
    from gradrank.bench.report.tables.summary import summary as run
    from gradrank.bench.results import DatasetFolder

    dataset = DatasetFolder(folder)
    values = read_params(settings) if settings else dataset_settings(run_settings(), dataset.name)
    written = (dataset.summary_path, dataset.summary_page_path, dataset.queries_path, dataset.provenance_path)
    check_own_files(dataset.provenance_path, written)
    evaluation, members = values["evaluation"], list(values.get("members", {}))
    run(folder, list(values["models"]), evaluation["convention"], data, members, evaluation["baseline"])
    write_record(dataset, values, data.parent)
    typer.echo(dataset.summary_page_path.read_text(encoding="utf-8"))


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank study arsm"))
def study(
    name: Annotated[
        str, typer.Argument(help="Name of a study, such as `arsm`, or `arsm/reduced` for the reduced form.")
    ],
    results: ResultsFolder = Path("results"),
    data: Annotated[Path, typer.Option(help="Folder of the stored collections.")] = Path("data/parquet"),
    settings: Settings = None,
    code: Annotated[
        str | None, typer.Option(help="Code digests per stage, as a JSON object or @FILE. By default, computed.")
    ] = None,
) -> None:
    """Re-create the tables and figures of a publication from finished results.

    Writes the page, its tables and numbers, and provenance.json.
    """
    from gradrank.base.stamps import check_own_files
    from gradrank.base.validation import read_params
    from gradrank.bench.provenance.records import study_settings
    from gradrank.bench.provenance.study_records import study_code, write_study_record
    from gradrank.bench.studies.study import Inputs
    from gradrank.bench.studies.writing import write_study

    root = Results(results)
    values = read_params(settings) if settings else study_settings(run_settings(study=name), name)
    folder = root.study(name)
    written = (folder.page_path, folder.numbers_path, folder.markdown_path, folder.provenance_path)
    check_own_files(folder.provenance_path, written)
    tables = write_study(name.partition("/")[0], Inputs(results, data, folder.folder, values["settings"]))
    stages = read_params(code) if code else study_code(run_settings(study=name), name)
    write_study_record(folder, root, name, values, stages, tables)
    typer.echo(folder.markdown_path)


@commands.command(
    rich_help_panel=STAGES, epilog=example("gradrank study-job ranknet2005 net-1 --seed 1 --out net-1.json")
)
def study_job(
    name: Annotated[str, typer.Argument(help="Name of a study, such as 'ranknet2005'.")],
    job: Annotated[str, typer.Argument(help="Name of a job that the study declares, such as 'net-1'.")],
    seed: Seed,
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")],
    data: Annotated[Path, typer.Option(help="Folder of the stored collections.")] = Path("data/parquet"),
    settings: Annotated[
        str | None, typer.Option(help="Settings of the job, as a JSON object or @FILE. By default, as in study.yaml.")
    ] = None,
) -> None:
    """Run one of a study's own jobs, such as an experiment on artificial data."""
    use_one_thread()
    from gradrank.base.validation import read_params
    from gradrank.bench.config.studies import get_study
    from gradrank.bench.parts import write_job

    jobs = run_settings(study=name).study_jobs(name) if settings is None else {job: read_params(settings)}
    if job not in jobs:
        raise GradrankError(unknown(f"job of {name}", job, jobs))
    write_job(out, get_study(name, "experiments").run_job(jobs[job], data, seed))


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank pack results/studies/contest"))
def pack(
    folder: Annotated[Path, typer.Argument(help="Folder of a study, or of its reduced form.")],
    kind: Annotated[
        str | None, typer.Argument(help="'trials', 'values', 'divisions' or 'jobs'; by default, all that exist.")
    ] = None,
) -> None:
    """Pack the parts that the jobs of a study wrote in FOLDER/KIND into one file, FOLDER/KIND.parquet, for git."""
    from gradrank.bench.parts import KINDS, Parts, study_parts

    if kind is not None and kind not in KINDS:
        raise GradrankError(unknown("kind of parts", kind, KINDS))
    chosen = [Parts(folder, KINDS[kind])] if kind else [parts for parts in study_parts(folder) if parts.are_unpacked]
    if not chosen:
        raise GradrankError(f"{folder}: no parts to pack. Fix: give the folder of a study with results of its jobs")
    for parts in chosen:
        typer.echo(f"{parts.packed_path}: {parts.pack()} parts")


@commands.command(
    rich_help_panel=STAGES, epilog=example("gradrank explanations results/mq2007 --data data/parquet/mq2007 --seed 1")
)
def explanations(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>, with a summary.")],
    data: Data,
    seed: Seed,
    convention: Convention = DEFAULT,
    code: Code = None,
) -> None:
    """Explain what the best methods of a data set learned, and write FOLDER/explanations.json for the report.

    The file has the importance of each feature on the test parts, and the contributions of the features to pairs of
    documents that two methods order differently. Nothing is chosen by it.
    """
    use_one_thread()
    from gradrank.bench.config.code_digest import code_digest
    from gradrank.bench.report.explanations import explanations as run

    run(folder, data, convention, seed, code or code_digest("explanations"))


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank collect --datasets mq2007,ohsumed"))
def collect(
    datasets: Annotated[str, typer.Option(help="Data sets, such as 'mq2007,ohsumed'.")],
    results: ResultsFolder = Path("results"),
) -> None:
    """Collect the files that DVC versions: per_query.parquet, metrics.json, methods.csv, run.json and plots/."""
    from gradrank.bench.provenance.records import collect as run
    from gradrank.bench.report.dvc_plots import write_plots

    root, names = Results(results), datasets.split(",")
    run(root, names)
    write_plots(root, names)


@commands.command(rich_help_panel=STAGES, epilog=example("gradrank report --datasets mq2007 --out mq2007.html"))
def report(
    results: ResultsFolder = Path("results"),
    out: Annotated[Path, typer.Option(metavar="FILE", help="HTML file to write. It needs no other file.")] = REPORT,
    convention: Convention = DEFAULT,
    datasets: Annotated[str, typer.Option(help="Show only these data sets, such as 'mq2007,ohsumed'.")] = "",
    studies: Annotated[str, typer.Option(help="Show only these studies, such as 'arsm'.")] = "",
    finished: Annotated[
        bool,
        typer.Option(
            "--finished",
            help="Show the finished methods of `run` in params.yaml, and name the others. By default, OUT is then "
            "results/finished.html.",
        ),
    ] = False,
    params: ParamsFile = Path("params.yaml"),
) -> None:
    """Write the results as one HTML file that opens offline, and print the best methods."""
    if finished:
        from gradrank.bench.report.finished import finished_report

        if datasets or studies:
            raise GradrankError("--finished shows the data sets of the run. Fix: omit --datasets and --studies")
        out = results / "finished.html" if out == REPORT else out
        typer.echo(finished_report(results, run_settings(params), out, params, Path("data/parquet")))
        return
    from gradrank.bench.report.document import report as run

    only = (_names(datasets), _names(studies))
    data = results.parent / "data/parquet"
    typer.echo(run(results, out, convention, params, data, only if any(only) else None))


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
