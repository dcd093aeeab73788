"""The commands `gradrank clicks`: simulate, estimate and evaluate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gradrank.base.errors import GradrankError, require
from gradrank.base.files import atomic, write_json
from gradrank.cli.options import USE, CommandGroup, Docid, Label, Query, example

if TYPE_CHECKING:
    import polars as pl

    from gradrank.clicks import ClickLog

commands = typer.Typer()
clicks = typer.Typer(cls=CommandGroup, no_args_is_help=True)
commands.add_typer(
    clicks,
    name="clicks",
    rich_help_panel=USE,
    help="Simulate click logs, estimate propensities, and evaluate rankings from a log.",
    epilog=example("gradrank clicks estimate log.parquet"),
)

Log = Annotated[Path, typer.Argument(help="Click log: CSV, Parquet or JSON lines, one row per session and document.")]
Column = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=NAME", help="Column of the log for session, qid, docid, position, clicks, impressions."),
]


@clicks.command(
    epilog=example("gradrank clicks simulate train.csv --scores run.txt --sessions 100000 --seed 1 --out log.parquet")
)
def simulate(
    data: Annotated[Path, typer.Argument(help="Documents with grades, in any form that `parse` reads.")],
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Parquet file for the log.")],
    scores: Annotated[
        Path | None, typer.Option(help="Scores of the logging policy. By default, random scores.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON file for the true propensities, for evaluation only.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    users: Annotated[
        Literal["position_based", "trust_bias", "cascade", "dependent_click", "dynamic_bayesian"],
        typer.Option(help="Model of the users."),
    ] = "position_based",
    eta: Annotated[float, typer.Option(help="Severity of the position bias: 0 none, 1 usual, 2 strong.")] = 1.0,
    noise: Annotated[float, typer.Option(help="Probability that an irrelevant document is found relevant.")] = 0.1,
    depth: Annotated[int, typer.Option(min=1, help="Number of shown documents.")] = 10,
    exploration: Annotated[
        Literal["none", "swap", "shuffle", "plackett_luce"], typer.Option(help="Variation of the shown rankings.")
    ] = "none",
    share: Annotated[float, typer.Option(min=0, max=1, help="Share of the sessions with exploration.")] = 1.0,
    temperature: Annotated[float, typer.Option(help="Temperature of plackett_luce.")] = 1.0,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Write the click log of simulated users, and print the number of its rows and clicks."""
    import numpy as np
    import polars as pl

    from gradrank.clicks import ClickLog
    from gradrank.clicks import simulate as run
    from gradrank.data.tables.roles import Columns
    from gradrank.measures.judgements import document_ids, read_judgements
    from gradrank.measures.score_files import read_scores

    judgements = read_judgements(data, columns=Columns(query, label, docid))
    rows = len(judgements.labels)
    random = np.random.default_rng([seed, 1]).random(rows)
    values = random if scores is None else read_scores(scores, judgements)
    sizes = np.diff(judgements.offsets)
    made = run(
        judgements.labels,
        values,
        qid=np.repeat(np.arange(len(sizes)), sizes),
        sessions=sessions,
        seed=seed,
        users=users,
        eta=eta,
        noise=noise,
        depth=depth,
        exploration=exploration,
        share=share,
        temperature=temperature,
    )
    names = document_ids(judgements.docids, rows)
    ids = pl.Series("qid", judgements.ids)
    log = ClickLog(
        made.log.rows.with_columns(
            qid=ids.gather(made.log.rows["qid"]), docid=names.gather(made.log.rows["docid"].to_numpy())
        )
    )
    log.write(out)
    if truth is not None:
        curves = {"propensities": made.propensities, "alpha": made.alpha, "beta": made.beta}
        known = {name: None if curve is None else curve.tolist() for name, curve in curves.items()}
        write_json(truth, {"users": users} | known)
    typer.echo(f"{len(log.rows):,} rows, {log.rows['clicks'].sum():,} clicks, {sessions:,} sessions")


@clicks.command(epilog=example("gradrank clicks estimate log.csv --method harvest --out propensities.csv"))
def estimate(
    log: Log,
    method: Annotated[
        Literal["randomised", "harvest", "position_based"],
        typer.Option(
            help="randomised: click rates of documents in random order. harvest: documents at several positions. "
            "position_based: likelihood with a relevance per document."
        ),
    ] = "harvest",
    samples: Annotated[int, typer.Option(min=0, help="Number of bootstrap samples, for the intervals.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    column: Column = None,
    truth: Annotated[
        Path | None, typer.Option(help="JSON file of `simulate --truth`, to compare the estimates with.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV file for the table.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="PNG, SVG or PDF file for the curve.")] = None,
) -> None:
    """Print the propensity of each position, relative to position 1, with 95% intervals."""
    import json

    import polars as pl

    from gradrank.clicks import estimate_propensities

    found = estimate_propensities(_read(log, column), method, samples=samples, seed=seed)
    table = found.table
    if truth is not None:
        known = json.loads(truth.read_text(encoding="utf-8")).get("propensities")
        if not isinstance(known, list) or len(known) < len(table):
            raise GradrankError(f"{truth}: no propensities of {len(table)} positions. Fix: give the file of `simulate`")
        table = table.with_columns(truth=pl.Series(known[: len(table)], dtype=pl.Float64) / known[0])
    typer.echo(_text(table))
    typer.echo(f"{method}: {found.note}", err=True)
    if out is not None:
        with atomic(out) as partial:
            table.write_csv(partial)
    if plot is not None:
        require("matplotlib", extra="plots", needed_by="--plot")
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 3.2), layout="constrained")
        found.plot(table["truth"].to_numpy() if "truth" in table.columns else None, figure.add_subplot())
        with atomic(plot) as partial:
            figure.savefig(partial, format=plot.suffix.removeprefix(".") or "png")


@clicks.command(epilog=example("gradrank clicks evaluate log.csv new.run --propensities propensities.csv"))
def evaluate(
    log: Log,
    ranking: Annotated[Path, typer.Argument(help="The new ranking: a TREC run, or a table with ids and scores.")],
    propensities: Annotated[Path, typer.Option(help="CSV file of `estimate --out`.")],
    measure: Annotated[
        Literal["dcg", "click_rate"], typer.Option(help="dcg: of the probabilities of relevance. click_rate: clicks.")
    ] = "dcg",
    k: Annotated[int, typer.Option(min=1, help="Number of ranks that count.")] = 10,
    estimator: Annotated[
        Literal["ips", "snips", "dr"],
        typer.Option(
            help="ips: inverse propensities. snips: self-normalised. dr: doubly robust; the scores of the ranking must "
            "be probabilities of relevance."
        ),
    ] = "ips",
    clip: Annotated[float, typer.Option(help="Least exposure of a document.")] = 0.01,
    column: Column = None,
) -> None:
    """Print the value of a ranking that is estimated from the clicks on other rankings, with a 95% interval."""
    import polars as pl

    from gradrank.clicks import ClickLog
    from gradrank.clicks import evaluate as run
    from gradrank.measures.score_files import read_run

    logged = _read(log, column)
    logged = ClickLog(logged.rows.with_columns(pl.col("qid", "docid").cast(pl.String)))
    scored = read_run(ranking).select("docid", qid=pl.col("query"), relevance=pl.col("score"))
    if estimator == "dr" and not scored["relevance"].is_between(0, 1).all():
        raise GradrankError(
            f"{ranking}: the estimator dr needs scores from 0 to 1. Fix: give probabilities of relevance "
            "as scores, or choose ips"
        )
    order = pl.col("relevance").rank("ordinal", descending=True).over("qid").cast(pl.Int64)
    theta = _propensities(propensities)
    typer.echo(
        str(run(logged, scored.with_columns(rank=order), theta, measure=measure, k=k, estimator=estimator, clip=clip))
    )


def _read(path: Path, column: list[str] | None) -> "ClickLog":
    """Return the log in a file. column: texts `ROLE=NAME`."""
    from gradrank.clicks import ClickLog

    columns = {}
    for text in column or ():
        role, sign, name = text.partition("=")
        if not (role and sign and name) or role in columns:
            raise GradrankError(f"--column: {text!r} is not a new column. Fix: give each role once, as ROLE=NAME")
        columns[role] = name
    return ClickLog.read(path, columns)


def _propensities(path: Path) -> list[float]:
    """Return the propensities in a CSV file with the columns `position` and `propensity`."""
    import polars as pl

    try:
        table = pl.read_csv(path).sort("position")
        values = table["propensity"].cast(pl.Float64).fill_null(float("nan")).to_list()
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise GradrankError(
            f"{path}: not a table of propensities ({reason}). Fix: give a CSV file with the columns "
            "position and propensity, as `gradrank clicks estimate --out` writes it"
        ) from None
    if table["position"].to_list() != list(range(1, len(table) + 1)):
        raise GradrankError(f"{path}: the positions are not 1 to {len(table)}. Fix: give one row per position")
    return values


def _text(table: "pl.DataFrame") -> str:
    """Return the table as lines with tabs."""
    lines = ["\t".join(table.columns)]
    for row in table.iter_rows():
        lines.append("\t".join("" if v is None else f"{v:.4f}" if isinstance(v, float) else str(v) for v in row))
    return "\n".join(lines)
