"""The seeds and the trained folds from which a method's values per query were computed.

The method's folder may also hold folds of seeds that the configuration no longer requests.
"""

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import REPAIR
from gradrank.bench.results import MethodFolder, NumberedFold

SEED = "seed"  # column of per_query.parquet if the method was measured with several seeds


def seeds_of(method: MethodFolder) -> list[int]:
    """Return the seeds in per_query.parquet. The seed of fold<k>/ is first. The list is empty for one seed.

    Raises GradrankError if the file is not Parquet.
    """
    import polars as pl

    if not method.evaluated:
        return []
    try:
        table = pl.scan_parquet(method.per_query_path)
        if SEED not in table.collect_schema().names():
            return []
        return table.select(pl.col(SEED).unique(maintain_order=True)).collect()[SEED].to_list()
    except pl.exceptions.PolarsError:
        raise GradrankError(f"{method.per_query_path}: damaged; not a Parquet file. Fix: {REPAIR}") from None


def measured_folds(method: MethodFolder) -> list[NumberedFold]:
    """Return the finished folds whose fold number and seed are in per_query.parquet, sorted by fold number and seed.

    If the method was not evaluated, return the finished folds of the first seed.
    """
    further = seeds_of(method)[1:]
    numbers = _fold_numbers(method)
    return [
        fold
        for fold in method.folds()
        if (fold.seed is None or fold.seed in further) and (numbers is None or fold.number in numbers)
    ]


def _fold_numbers(method: MethodFolder) -> set[int] | None:
    """Return the fold numbers in per_query.parquet; None if the method was not evaluated."""
    import polars as pl

    if not method.evaluated:
        return None
    return set(pl.scan_parquet(method.per_query_path).select(pl.col("fold").unique()).collect()["fold"].to_list())


def timings(method: MethodFolder) -> list[dict[str, float]]:
    """Return the content of timing.json for each measured fold that has this file."""
    return [fold.timing() for fold in measured_folds(method) if fold.timing_path.is_file()]
