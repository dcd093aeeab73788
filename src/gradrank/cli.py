"""The command line. Every stage of the workflow is one of these commands and runs by hand as well.

Everything heavy is imported inside its command: `gradrank --help` answers at once.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gradrank.errors import GradrankError

app = typer.Typer(
    help="A reproducible learning-to-rank benchmark, from PRank to LambdaMART.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Seed = Annotated[int, typer.Option(help="The study's seed; a job's own is derived from it.")]
Data = Annotated[Path, typer.Option(help="Parquet collection, with its .json beside it.")]
Convention = Annotated[
    str, typer.Option(help="Metric convention: letor4, letor3, standard, trec, lightgbm, ranklib.")
]


@app.command()
def fetch(
    dataset: Annotated[str, typer.Argument(help="A name of `gradrank datasets`.")],
    out: Annotated[Path, typer.Option(help="Folder that receives the official layout.")],
    mirror: Annotated[
        str | None, typer.Option(envvar="GRADRANK_MIRROR", help="Folder or URL to look in first.")
    ] = None,
) -> None:
    """Get a data set of the catalogue: from the mirror, else from its public addresses."""
    from gradrank.data.fetch import fetch as run

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
    from gradrank.data.synthetic import generate as run

    run(target, queries, documents, seed, out)


@app.command()
def parse(
    path: Annotated[Path, typer.Argument(help="Folder in LETOR layout, or one SVMlight file with qid.")],
    out: Annotated[Path, typer.Option(help="Parquet file to write; its .json goes beside it.")],
    seed: Seed,
    dataset: Annotated[str | None, typer.Option(help="Name; by default that of the Parquet file.")] = None,
    features: Annotated[int | None, typer.Option(help="Width, where sparse rows do not show it.")] = None,
) -> None:
    """Check every line of LETOR or SVMlight text and store the collection as Parquet."""
    from gradrank.data.catalogue import catalogue, check_counts
    from gradrank.data.letor import parse as run

    name = dataset or out.stem
    meta = run(path, out, seed, name, features=features)
    entry = catalogue().get(name)
    if entry is not None:
        check_counts(entry, meta)
    typer.echo(f"{out}: {meta['rows']:,} rows, {meta['queries']:,} queries, {meta['features']} features")


@app.command()
def pairs(data: Data, out: Annotated[Path, typer.Option(help="Parquet file to write.")]) -> None:
    """Enumerate the crucial pairs of a collection, once for all folds and models."""
    from gradrank.data.pairs import write_pairs

    write_pairs(data, out)


@app.command()
def train(
    model: Annotated[str, typer.Option(help="A name of `gradrank models`.")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    seed: Seed,
    fold: Annotated[int, typer.Option()] = 1,
    params: Annotated[
        str, typer.Option(help="JSON object, or @FILE; unnamed ones keep their default.")
    ] = "{}",
    pairs: Annotated[Path | None, typer.Option(help="Pairs file; enumerated if not given.")] = None,
) -> None:
    """Train one model on one fold: the model, its scores, its history."""
    _one_thread()
    from gradrank.train import read_params
    from gradrank.train import train as run

    run(model, data, fold, read_params(params), seed, out, pairs)


@app.command()
def datasets() -> None:
    """List the data sets: licence, size, what to do to get them."""
    from gradrank.listing import list_datasets

    list_datasets()


@app.command()
def models(
    name: Annotated[str | None, typer.Argument(help="Show this model's parameters only.")] = None,
) -> None:
    """List the models: what each is, its parameters, their defaults and sources."""
    from gradrank.listing import list_models

    list_models(name)


def _one_thread() -> None:
    """One thread a job unless the environment says otherwise: `--cores` parallelises over jobs."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(variable, "1")


def main() -> None:
    """Run the command line; a GradrankError ends it with its message and exit code 1, no traceback."""
    try:
        app()
    except GradrankError as error:
        print(f"gradrank: error: {error}", file=sys.stderr)
        sys.exit(1)
