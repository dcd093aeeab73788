"""Which trained folds a method's values are of: those of every seed that it was measured with.

Folds of seeds that are no longer asked for may lie beside them.
"""

from gradrank.base.errors import GradrankError
from gradrank.base.results import FoldFolder, MethodFolder
from gradrank.base.stamps import REPAIR

SEED = "seed"  # the column of per_query.parquet, where a method was measured with several


def seeds_of(method: MethodFolder) -> list[int]:
    """The seeds, the one of fold<k>/ first, where they are several; else none. Refuses values that are not Parquet."""
    import polars as pl

    if not method.evaluated:
        return []
    try:
        table = pl.scan_parquet(method.per_query_path)
        if SEED not in table.collect_schema().names():
            return []
        return table.select(pl.col(SEED).unique(maintain_order=True)).collect()[SEED].to_list()
    except pl.exceptions.PolarsError:
        raise GradrankError(f"{method.per_query_path}: damaged: not Parquet. Fix: {REPAIR}") from None


def measured_folds(method: MethodFolder) -> list[FoldFolder]:
    """The finished ones, by number and seed."""
    further = seeds_of(method)[1:]
    return [fold for fold in method.folds() if fold.seed is None or fold.seed in further]


def timings(method: MethodFolder) -> list[dict[str, float]]:
    """timing.json of each of them that has one."""
    return [fold.timing() for fold in measured_folds(method) if fold.timing_path.is_file()]
