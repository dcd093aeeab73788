"""Commands that use data and models: evaluate, compare, predict, importance, explain and export-model."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.cli.options import (
    USE,
    Convention,
    Docid,
    Ignore,
    Label,
    PairedTest,
    Query,
    ScoresForm,
    example,
    use_one_thread,
)
from gradrank.export.lookup import format_names

if TYPE_CHECKING:
    import polars as pl


commands = typer.Typer()
TrainedModel = Annotated[Path, typer.Argument(help="A trained fold, such as results/mq2007/lambdamart/fold1.")]


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank evaluate --scores run.txt --data qrels.txt --convention trec --metrics ndcg@10,map"),
)
def evaluate(
    scores: Annotated[Path, typer.Option(help="Scores: one per line, a TREC run, or a table (Parquet, CSV or TSV).")],
    data: Annotated[
        Path, typer.Option(help="Data in any form that `parse` reads, a stored collection, or TREC's qrels.")
    ],
    convention: Convention = "letor4",
    metrics: Annotated[
        str | None, typer.Option(help="Metrics, such as 'ndcg@10,map,err@5'. By default, LETOR's own tables.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Parquet file for the values per query.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="A second score file: print how well both rankings agree (Kendall's tau, Spearman's rho)."),
    ] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Evaluate a score file: the mean of each metric over queries, under a named convention.

    Documents that a TREC run leaves out are counted on standard error.
    """
    from gradrank.comparison.rankings.evaluation import LETOR_METRICS, letor_tables
    from gradrank.comparison.rankings.evaluation import evaluate as run
    from gradrank.data.file_forms import readable_path
    from gradrank.data.tables.roles import Columns
    from gradrank.measures.judgements import read_judgements

    columns = Columns(query, label, docid)
    scores, data = readable_path(scores), readable_path(data)  # a pipe can be read only once
    judgements = read_judgements(data, columns=columns)
    names = LETOR_METRICS if metrics is None else metrics.split(",")
    result = run(judgements, scores, metrics=names, convention=convention)
    values = result.per_query
    if metrics is None:
        typer.echo(f"convention\t{convention}\n\n{letor_tables(values)}", nl=False)
    else:
        _echo_means(values.drop("qid"), convention)
    if result.note:
        typer.echo(result.note, err=True)
    if against is not None:
        from gradrank.comparison.agreement import agreement as run_agreement

        agreement = run_agreement(scores, against, data, columns=columns).drop("qid")
        _echo_means(agreement, f"against {against}")
        values = values.hstack(agreement)
    if out:
        with atomic(out) as partial:
            values.write_parquet(partial)


def _echo_means(values: "pl.DataFrame", description: str) -> None:
    """Print one line per column: its name, its mean over queries, and the description."""
    for column in values:
        mean = column.mean()
        typer.echo(f"{column.name}\t{'undefined' if mean is None else f'{mean:.4f}'}\t{description}")


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank compare a.run b.run --data qrels.txt --metric ndcg@10 --convention trec"),
)
def compare(
    scores: Annotated[list[Path], typer.Argument(help="Score files. A file's name without its suffix is its name.")],
    data: Annotated[
        Path, typer.Option(help="Data in any form that `parse` reads, a stored collection, or TREC's qrels.")
    ],
    metric: Annotated[str, typer.Option(help="Metric, such as ndcg@10 or map.")] = "ndcg@10",
    convention: Convention = "letor4",
    baseline: Annotated[
        str | None, typer.Option(help="Name of the ranking to compare the others with. By default, all pairs.")
    ] = None,
    test: Annotated[PairedTest, typer.Option(help="Paired test over queries.")] = "t",
    margin: Annotated[
        float | None, typer.Option(help="Largest difference that does not matter: adds a test of equivalence.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and randomisation tests.")] = 0,
    latex: Annotated[bool, typer.Option("--latex", help="Print the table in LaTeX.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Parquet file for the table.")] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Test whether rankings differ: paired tests over queries, with Holm's correction.

    Each line of the table compares two score files.
    """
    from gradrank.comparison.rankings.comparison import compare as run
    from gradrank.data.tables.roles import Columns
    from gradrank.measures.judgements import read_judgements

    names = [os.fsencode(path.stem).decode(errors="replace") for path in scores]
    for name in names:
        if names.count(name) > 1:
            raise GradrankError(f"two score files are called {name!r}. Fix: rename one of them")
    if latex and markdown:
        raise GradrankError("--latex and --markdown exclude each other. Fix: leave one of them out")
    judgements = read_judgements(data, columns=Columns(query, label, docid))
    rankings = dict(zip(names, scores, strict=True))
    options = {"metric": metric, "convention": convention, "baseline": baseline, "margin": margin, "seed": seed}
    result = run(rankings, judgements, test=test, **options)
    typer.echo(result.to_latex() if latex else result.to_markdown() if markdown else str(result))
    if out:
        with atomic(out) as partial:
            result.table.write_parquet(partial)


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank predict --model results/mq2007/lambdamart/fold1 --input new.csv --out scores.txt"),
)
def predict(
    model: Annotated[Path, typer.Option(help="A trained fold, such as results/mq2007/lambdamart/fold1.")],
    input: Annotated[Path, typer.Option(help="LETOR or SVMlight text, Parquet, CSV or TSV.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. By default, standard output.")
    ] = None,
    form: Annotated[
        ScoresForm, typer.Option(help="letor: one score per line, in the order of the rows. trec: a TREC run.")
    ] = "letor",
    query: Query = None,
    docid: Docid = None,
    ignore: Ignore = None,
) -> None:
    """Score new data with a trained model.

    In a table, features are found by the names that they had in training.
    """
    use_one_thread()
    from gradrank.data.tables.roles import Columns
    from gradrank.ranker.predict import predict as run

    columns = Columns(query, docid=docid, ignore=tuple(ignore or ()))
    run(model, input, out, form, columns if columns.named() else None)


@commands.command(
    rich_help_panel=USE, epilog=example("gradrank importance results/mq2007/lambdamart/fold1 data/parquet/mq2007")
)
def importance(
    fold: TrainedModel,
    data: Annotated[
        Path,
        typer.Argument(
            help="A file with grades, in any form that `parse` reads. Or a stored collection: its test part."
        ),
    ],
    metric: Annotated[str, typer.Option(help="Metric, such as ndcg@10 or map.")] = "ndcg@10",
    convention: Annotated[
        str | None, typer.Option(help="Metric convention. By default, the one with which the model was selected.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=F1,F2", help="Features to permute together. Repeat it. By default, each feature."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of permutations.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the permutations.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Parquet file for the table.")] = None,
) -> None:
    """Print how much a metric drops if a feature is permuted within each query, with 95% intervals over queries.

    The model is not trained again.
    """
    use_one_thread()
    from gradrank.base.conventions import selection_convention
    from gradrank.explanations.documents import read_judged_documents
    from gradrank.explanations.importance import group_columns
    from gradrank.explanations.importance import importance as run
    from gradrank.measures.conventions import resolve
    from gradrank.measures.metrics import metric_name
    from gradrank.training.trained_fold import TrainedFold

    metric_name(metric)  # an unknown name is reported before the data are read
    trained = TrainedFold.load(fold)
    resolved = resolve(convention or selection_convention(trained.spec))
    groups = group_columns(trained.schema.feature_names, _groups(group)) if group else None
    documents = read_judged_documents(data, trained)
    options = {"convention": documents.convention(resolved), "groups": groups, "repeats": repeats, "seed": seed}
    result = run(trained, documents.collection, metric, docids=documents.docids, **options)
    typer.echo(str(result))
    if out:
        with atomic(out) as partial:
            result.frame().write_parquet(partial)


def _groups(given: list[str]) -> dict[str, list[str]]:
    """Return a dict from the name of a group to the names of its features, from texts `NAME=F1,F2`."""
    groups = {}
    for text in given:
        name, sign, members = text.partition("=")
        if not (name and sign and members) or name in groups:
            raise GradrankError(f"--group: {text!r} is not a new group. Fix: give each group once, as NAME=F1,F2")
        groups[name] = members.split(",")
    return groups


@commands.command(
    rich_help_panel=USE,
    epilog=example(
        "gradrank explain results/mq2007/lambdamart/fold1 data/parquet/mq2007 --query 8002 "
        "--pair GX025-98-7841366 GX020-88-4484206"
    ),
)
def explain(
    fold: TrainedModel,
    data: Annotated[Path, typer.Argument(help="A file in any form that `parse` reads, or a stored collection.")],
    query: Annotated[str, typer.Option(help="Id of the query.")],
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Two documents of the query: their ids, or row numbers of the data, from 1, if documents have no ids. "
            "By default, the first two documents of the ranking."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampling, for models without exact values.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Parquet file for the contributions of all features.")
    ] = None,
) -> None:
    """Explain why one document of a query has a higher score than another: the contributions of the features.

    The contributions sum to the difference of the two scores.
    """
    use_one_thread()
    from gradrank.explanations.documents import read_query
    from gradrank.explanations.pairs import explain_documents
    from gradrank.training.trained_fold import TrainedFold

    trained = TrainedFold.load(fold)
    documents = read_query(data, trained, query)
    rows = None if pair is None else (documents.row(pair[0]), documents.row(pair[1]))
    result = explain_documents(trained, documents.features, documents.names, documents.naming, query, rows, seed)
    typer.echo(str(result))
    if out:
        with atomic(out) as partial:
            result.frame().write_parquet(partial)


@commands.command(
    "export-model",
    rich_help_panel=USE,
    epilog=example("gradrank export-model results/mq2007/lambdamart/fold1 --to onnx --out model.onnx --check new.csv"),
)
def export_model(
    fold: Annotated[Path, typer.Argument(help="A trained fold, such as results/mq2007/lambdamart/fold1.")],
    to: Annotated[str, typer.Option(help=f"Format: {', '.join(format_names())}.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write. An existing file is replaced.")],
    names: Annotated[
        Path | None,
        typer.Option(
            help="File with one feature name per line. By default, those of the training data, or f1, f2, ..."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Data in any form that `predict` reads: compare the scores of the file with gradrank's."),
    ] = None,
    query: Query = None,
    docid: Docid = None,
    ignore: Ignore = None,
) -> None:
    """Export a trained model to the format of another program.

    With --check, the file is read by an independent program, and the exit code is 1 if scores or their order differ.
    """
    use_one_thread()
    from gradrank.data.reader import batches, read_new
    from gradrank.data.tables.roles import Columns
    from gradrank.export.export import check as run_check
    from gradrank.export.export import export, feature_names, read_names
    from gradrank.training.trained_fold import TrainedFold

    trained = TrainedFold.load(fold)
    used = feature_names(trained, None if names is None else read_names(names))
    columns = Columns(query, docid=docid, ignore=tuple(ignore or ()))
    reading = None if check is None else read_new(check, trained.schema, columns if columns.named() else None)
    files = export(trained, to, out, used)
    for path in files:
        typer.echo(path)
    if reading is not None:
        typer.echo(run_check(trained, to, files[0], batches(reading), used))
