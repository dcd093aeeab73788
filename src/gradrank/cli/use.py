"""Commands that use data and models: evaluate, compare, predict, importance, explain and export-model."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, check_file_output
from gradrank.cli.options import (
    USE,
    Convention,
    Docid,
    Ignore,
    Label,
    ModelConvention,
    PairedTest,
    Query,
    ScoresForm,
    example,
    use_one_thread,
)
from gradrank.export.engines import engine_names
from gradrank.export.lookup import format_names
from gradrank.measures.conventions import DEFAULT

if TYPE_CHECKING:
    import polars as pl


commands = typer.Typer()
TrainedModel = Annotated[Path, typer.Argument(help="A trained fold, such as results/mq2007/methods/lambdamart/fold1.")]


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank evaluate --scores run.txt --data qrels.txt --convention trec --metrics ndcg@10,map"),
)
def evaluate(
    scores: Annotated[Path, typer.Option(help="Scores: one per line, a TREC run, or a table (Parquet, CSV or TSV).")],
    data: Annotated[
        Path, typer.Option(help="Data in any form that `parse` reads, a stored collection, or TREC's qrels.")
    ],
    convention: ModelConvention = None,
    model: Annotated[
        Path | None, typer.Option(help="Trained fold that computed the scores, if they are not in its folder.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Metrics, such as 'ndcg@10,map,err@5'. By default, LETOR's own tables.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Parquet file for the values per query.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="A second score file: also print what `gradrank agreement` prints for both rankings."),
    ] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Evaluate a score file: the mean of each metric over queries, under a named convention.

    A trained model has a convention, with which it was selected. Documents that a TREC run leaves out are counted on
    standard error.
    """
    from gradrank.comparison.rankings.evaluation import LETOR_METRICS, default_convention, letor_tables
    from gradrank.comparison.rankings.evaluation import evaluate as run
    from gradrank.comparison.rankings.inputs import read_judged_file
    from gradrank.data.file_forms import readable_path
    from gradrank.data.tables.roles import Columns
    from gradrank.measures.conventions import resolve

    columns = Columns(query, label, docid)
    convention = convention or default_convention(scores, model)
    scores, data = readable_path(scores), readable_path(data)  # a pipe can be read only once
    judgements = read_judged_file(data, columns=columns, any_grade=resolve(convention).takes_any_grade)
    names = LETOR_METRICS if metrics is None else _metric_list(metrics)
    result = run(judgements, scores, metrics=names, convention=convention)
    values = result.per_query
    if metrics is None:
        typer.echo(f"convention\t{convention}\n\n{letor_tables(values)}", nl=False)
    else:
        _echo_means(values.drop("qid"), convention)
    if result.note:
        typer.echo(result.note, err=True)
    if against is not None:
        from gradrank.comparison.rankings.agreement import agreement as run_agreement

        found = run_agreement(scores, readable_path(against), judgements)
        _echo_means(found.per_query.drop("qid"), f"against {against}")
        typer.echo(found.note, err=True)
        values = values.hstack(found.per_query.drop("qid"))
    if out:
        with atomic(out) as partial:
            values.write_parquet(partial)


@commands.command(rich_help_panel=USE, epilog=example("gradrank agreement a.run b.run --persistence 0.9"))
def agreement(
    a: Annotated[
        Path, typer.Argument(help="A score file. The measure tau_AP gives weight to the top of this ranking.")
    ],
    b: Annotated[Path, typer.Argument(help="Another score file, which is the reference of tau_AP.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Data or TREC's qrels: compare only their queries. Required if the score files have no ids."),
    ] = None,
    persistence: Annotated[float, typer.Option(help="The parameter p of rank-biased overlap, between 0 and 1.")] = 0.9,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Parquet file for the values per query.")] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Print how well two rankings agree: Kendall's tau, Spearman's rho, tau_AP and rank-biased overlap.

    Judgements are not needed. Rank-biased overlap is extrapolated beyond the ends of the rankings.
    """
    from gradrank.comparison.rankings.agreement import agreement as run
    from gradrank.comparison.rankings.inputs import read_judged_file
    from gradrank.data.file_forms import readable_path
    from gradrank.data.tables.roles import Columns

    columns = Columns(query, label, docid)
    judgements = None if data is None else read_judged_file(data, columns=columns, any_grade=True)
    result = run(readable_path(a), readable_path(b), judgements, persistence=persistence)
    typer.echo(str(result))
    if out:
        with atomic(out) as partial:
            result.per_query.write_parquet(partial)


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
    scores: Annotated[
        list[Path],
        typer.Argument(
            help="Score files, as PATH or NAME=PATH. The default name is that of the file without its suffix. Files "
            "with the same NAME are runs of one system, for example of several seeds."
        ),
    ],
    data: Annotated[
        Path, typer.Option(help="Data in any form that `parse` reads, a stored collection, or TREC's qrels.")
    ],
    metric: Annotated[
        str, typer.Option(help="Metric, such as ndcg@10. With several, such as ndcg@10,map, also a table of means.")
    ] = "ndcg@10",
    convention: Convention = DEFAULT,
    baseline: Annotated[
        str | None, typer.Option(help="Name of the ranking to compare the others with. By default, all pairs.")
    ] = None,
    test: Annotated[PairedTest, typer.Option(help="Paired test over queries.")] = "t",
    margin: Annotated[
        float | None, typer.Option(help="Largest difference that does not matter: adds a test of equivalence.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and randomisation tests.")] = 0,
    against: Annotated[
        str | None,
        typer.Option(
            help="Values per query of finished methods: queries.parquet, its address, or the name of a data set such "
            "as mq2007. The default baseline is then the first score file."
        ),
    ] = None,
    segment: Annotated[
        str | None,
        typer.Option(help="Column of the data that divides the queries: also print the differences per segment."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print the table in LaTeX.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="HTML file for the tables and a plot of the intervals.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Parquet file for the table.")] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Test whether rankings differ: paired tests over queries, with Holm's correction.

    Each line of the table compares two rankings.
    """
    from gradrank.comparison.rankings.comparison import compare as run
    from gradrank.comparison.rankings.inputs import read_judged_file, segmented
    from gradrank.comparison.rankings.stored_values import load_results
    from gradrank.data.tables.roles import Columns
    from gradrank.measures.conventions import resolve

    rankings = _named_rankings(scores)
    for output in filter(None, (html, out)):
        check_file_output(output, [path for paths in rankings.values() for path in paths])
    if latex and markdown:
        raise GradrankError("--latex and --markdown exclude each other. Fix: leave one of them out")
    any_grade = resolve(convention).takes_any_grade
    columns, by = Columns(query, label, docid), None
    if segment is None:
        judgements = read_judged_file(data, columns=columns, any_grade=any_grade)
    else:
        judgements, by = segmented(data, segment, columns, any_grade)
    metrics = _metric_list(metric)
    stored = load_results(against) if against else None
    if stored is not None and baseline is None:
        baseline = next(iter(rankings))
    options = {
        "metric": metrics if len(metrics) > 1 else metric,
        "convention": convention,
        "baseline": baseline,
        "margin": margin,
        "seed": seed,
        "against": stored,
    }
    given = {name: paths if len(paths) > 1 else paths[0] for name, paths in rankings.items()}
    result = replace(run(given, judgements, test=test, **options), by=by)
    typer.echo(result.to_latex() if latex else result.to_markdown() if markdown else str(result))
    if html:
        with atomic(html) as partial:
            partial.write_text(f"<!DOCTYPE html>\n<meta charset=utf-8>\n{result.to_html()}\n", encoding="utf-8")
    if out:
        with atomic(out) as partial:
            result.table.write_parquet(partial)


def _metric_list(text: str) -> list[str]:
    """Return the names in a text with commas, except those in brackets."""
    return re.split(r",(?![^()]*\))", text)


def _named_rankings(scores: list[Path]) -> dict[str, list[Path]]:
    """Return the files of each ranking by its name. Raises GradrankError if two files without a name share theirs."""
    rankings: dict[str, list[Path]] = {}
    for path in scores:
        name, sign, rest = os.fsencode(path).decode(errors="replace").partition("=")
        if path.exists() or not sign or "/" in name:
            name, file = os.fsencode(path.stem).decode(errors="replace"), path
            if name in rankings:
                raise GradrankError(f"two score files are called {name!r}. Fix: rename one of them, or give NAME=PATH")
        else:
            file = Path(rest)
        rankings.setdefault(name, []).append(file)
    return rankings


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank predict --model results/mq2007/methods/lambdamart/fold1 --input new.csv --out scores.txt"),
)
def predict(
    model: Annotated[Path, typer.Option(help="A trained fold, such as results/mq2007/methods/lambdamart/fold1.")],
    input: Annotated[Path, typer.Option(help="LETOR or SVMlight text, Parquet, Feather, JSON lines, CSV or TSV.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. By default, standard output.")
    ] = None,
    form: Annotated[
        ScoresForm,
        typer.Option(
            help="letor: one score per line, in the order of the rows. csv, parquet, jsonl: the ids of query and "
            "document in their own columns, score and rank. trec: a TREC run."
        ),
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
    rich_help_panel=USE,
    epilog=example("gradrank importance results/mq2007/methods/lambdamart/fold1 data/parquet/mq2007"),
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
    convention: ModelConvention = None,
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
        "gradrank explain results/mq2007/methods/lambdamart/fold1 data/parquet/mq2007 --query 8002 "
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
    epilog=example(
        "gradrank export-model results/mq2007/methods/lambdamart/fold1 --to onnx --out model.onnx --check new.csv"
    ),
)
def export_model(
    fold: Annotated[Path, typer.Argument(help="A trained fold, such as results/mq2007/methods/lambdamart/fold1.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write. An existing file is replaced.")],
    to: Annotated[
        str | None, typer.Option(help=f"Format: {', '.join(format_names())}. Not needed with --engine.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help=f"Search engine, with or without a version (solr@9.2): {', '.join(engine_names())}."),
    ] = None,
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

    With --engine, a model whose scores would be different in this search engine is rewritten or refused. With --check,
    an independent program reads the file. If scores or their order differ, the exit code is 1, and no file is written.
    """
    use_one_thread()
    from gradrank.data.reader import batches, read_new
    from gradrank.data.tables.roles import Columns
    from gradrank.export.export import checked_export, read_names
    from gradrank.training.trained_fold import TrainedFold

    trained = TrainedFold.load(fold)
    used = None if names is None else read_names(names)
    columns = Columns(query, docid=docid, ignore=tuple(ignore or ()))
    reading = None if check is None else read_new(check, trained.schema, columns if columns.named() else None)
    rows = None if reading is None else list(batches(reading))
    files, agreement = checked_export(trained, to, out, used, engine, rows)
    for path in files:
        typer.echo(path)
    if agreement is not None:
        typer.echo(agreement)
