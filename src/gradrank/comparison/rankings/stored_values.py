"""Values per query of finished runs, read from a packed file, and their use as rankings of a comparison."""

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, nearest
from gradrank.base.forks import refuse_fork
from gradrank.measures.conventions import Convention

KEYS = ("dataset", "model", "convention", "fold", "seed", "qid")
RELEASES = "https://github.com/gradrank/gradrank/releases/download"


def load_results(source: str | Path) -> pl.DataFrame:
    """Return the values per query of the test parts of a finished run, as in `queries.parquet`.

    Parameters
    ----------
    source
        Path of a Parquet file, its address (`https://...`), or the name of a data set. A name stands for the file
        `results/<name>/queries.parquet` in the current folder. If this file does not exist, the name stands for the
        results that belong to this version of gradrank.

    Returns
    -------
    polars.DataFrame
        One row per data set, model, convention, fold, seed and query, with the columns `dataset`, `model`,
        `convention`, `fold`, `seed` (only if a method has several), `qid`, and one column per metric.

    Raises
    ------
    GradrankError
        If the file does not exist, cannot be downloaded, or has other columns.

    Examples
    --------
    >>> from gradrank import load_results
    >>> load_results("results/synthetic_net/queries.parquet").columns
    ['dataset', 'model', 'convention', 'fold', 'qid', 'ndcg@10', 'map']
    """
    refuse_fork("load_results")
    text = str(source)
    if Path(source).is_file():
        return _read(Path(source), text)
    if "://" in text:
        return _downloaded(text)
    if "/" in text or Path(text).suffix:
        raise GradrankError(
            f"{text}: there is no such file. Fix: give a Parquet file, its address or a data set's name"
        )
    local = Path("results", text, "queries.parquet")
    return _read(local, str(local)) if local.is_file() else _downloaded(_release(text))


def _release(dataset: str) -> str:
    """Return the address of the results of a data set that belong to this version."""
    from gradrank import __version__

    return f"{RELEASES}/v{__version__}/{dataset}.parquet"


def _downloaded(address: str) -> pl.DataFrame:
    if urlsplit(address).scheme not in ("http", "https"):
        raise GradrankError(f"{address}: the address does not begin with https:// or http://. Fix: give a path")
    from gradrank.data.sources.download import Unavailable, download

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "queries.parquet")
        try:
            download(address, path)
        except Unavailable as error:
            raise GradrankError(
                f"{address}: {error}. Fix: check the address, or give the path of a queries.parquet"
            ) from None
        return _read(path, address)


def _read(path: Path, where: str) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise GradrankError(f"{where}: not a Parquet file ({error}). Fix: give the file queries.parquet") from None
    _check_columns(frame, where)
    return frame


def _check_columns(frame: pl.DataFrame, where: str) -> None:
    if missing := [name for name in KEYS if name != "seed" and name not in frame.columns]:
        raise GradrankError(
            f"{where}: the columns {', '.join(missing)} are missing. Fix: give the frame of gradrank.load_results"
        )


def stored_values(
    results: pl.DataFrame, qids: Sequence[object], metrics: Collection[str], convention: Convention
) -> Mapping[str, pl.DataFrame]:
    """Return a frame per model of `load_results`: `qid`, and one column per metric, nan where there is no value.

    The rows are in the order of `qids`. A value is the mean over the seeds. Raises GradrankError if the results have
    several data sets, or lack a metric or the convention, or all queries.
    """
    _check_columns(results, "against")
    datasets = results["dataset"].unique(maintain_order=True).to_list()
    if len(datasets) > 1:
        raise GradrankError(f"against: the data sets {', '.join(datasets)}. Fix: filter the frame to one data set")
    if missing := [name for name in metrics if name not in results.columns]:
        known = [name for name in results.columns if name not in KEYS]
        raise GradrankError(f"against: no values of {', '.join(missing)}. Fix: use a metric of {', '.join(known)}")
    conventions = results["convention"].unique(maintain_order=True).to_list()
    if convention.name not in conventions:
        raise GradrankError(
            f"against: no values under the convention {convention.name!r}{nearest(convention.name, conventions)}. "
            f"Fix: use a convention of {', '.join(conventions)}"
        )
    own = pl.DataFrame({"qid": qids}).select("qid", text=pl.col("qid").cast(pl.String))
    of_convention = results.filter(convention=convention.name).with_columns(text=pl.col("qid").cast(pl.String))
    means = of_convention.group_by("model", "text", maintain_order=True).agg(pl.col(*metrics).cast(pl.Float64).mean())
    if not means["text"].is_in(own["text"].implode()).any():
        raise GradrankError(
            f"against: no query of the judgements, such as {own['text'][0]!r}, is in the results, which have "
            f"{means['text'][0]!r}. Fix: give results of the same data set"
        )
    return {
        str(model): own.join(part.drop("model"), on="text", how="left", maintain_order="left")
        .drop("text")
        .with_columns(pl.col(*metrics).fill_null(np.nan))
        for (model,), part in means.group_by("model", maintain_order=True)
    }
