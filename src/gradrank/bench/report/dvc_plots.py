"""The plots of DVC: the learning curve of each method, and its values per query, as one CSV file per method.

`dvc plots diff` draws the files of the same name in two revisions in one plot (dvc.yaml).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank.base.files import atomic
from gradrank.bench.folds.per_query import measured_folds, read_compact
from gradrank.bench.report.plots.line_plots import PREFERRED
from gradrank.bench.results import MethodFolder, Results

if TYPE_CHECKING:
    import polars as pl

STEP, VALUE = "step", "value"  # columns of a learning curve
QUERY, PLOTTED_METRIC = "query", "ndcg@10"  # columns of the values per query


def write_plots(root: Results, datasets: Sequence[str]) -> None:
    """Write curves/<dataset>/<method>.csv and queries/<dataset>/<method>.csv into the folder of the plots.

    A curve has the columns `step` and `value`, the mean validation value of the folds of the first seed. A method whose
    training has fewer than two steps has no curve. The values per query have the columns `query`, the position of the
    query in the collection from 1, and `ndcg@10`, under the primary convention. Both folders exist afterwards.
    """
    import polars as pl

    for folder in (root.curves_path, root.query_values_path):
        folder.mkdir(parents=True, exist_ok=True)
    for dataset in map(root.dataset, datasets):
        _, methods = read_compact(dataset.queries_path)
        for name, queries in methods.items():
            if (curve := _curve(dataset.method(name))) is not None:
                _write(curve, root.curves_path / dataset.name / f"{name}.csv")
            if PLOTTED_METRIC in queries.values:
                values = queries.values[PLOTTED_METRIC]
                table = pl.DataFrame({QUERY: range(1, len(values) + 1), PLOTTED_METRIC: values})
                _write(table, root.query_values_path / dataset.name / f"{name}.csv")


def _curve(method: MethodFolder) -> "pl.DataFrame | None":
    """Return the mean curve over the folds of the first seed, at the steps of all folds; None for fewer than two."""
    import polars as pl

    histories = [fold.history() for fold in measured_folds(method) if fold.seed is None and fold.history_path.is_file()]
    names = [name for name in (histories[0].columns if histories else []) if name.startswith("vali_")]
    shown = next((name for name in PREFERRED if name in names), names[0] if names else None)
    if shown is None:
        return None
    points = pl.concat([history.select(STEP, pl.col(shown).alias(VALUE)).drop_nulls() for history in histories])
    means = points.group_by(STEP).agg(pl.col(VALUE).mean(), pl.len().alias("folds")).sort(STEP)
    curve = means.filter(folds=len(histories)).drop("folds")
    return curve if len(curve) > 1 else None


def _write(table: "pl.DataFrame", path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as partial:
        table.write_csv(partial)
