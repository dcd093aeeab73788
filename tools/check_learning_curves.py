"""Recompute every number in the tables of the learning curves from the files in git, without importing gradrank.

    python tools/check_learning_curves.py [results/studies/learning_curves]

The script reads the values per query in jobs.parquet and compares its results with numbers.json. The family of each
method is read from the table of values. The script prints one line per table, and exits with 1 if a number differs. It
needs NumPy, Polars and SciPy.
"""

import json
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from difference_statistics import fold_means, holm, one_sided, query_variance, satterthwaite
from packed_parts import Packed
from table_differences import Rows, differences

LEVEL, UNIT = 0.05, 10_000
KEYS = {"curves": ("size", "method"), "pairs": ("size", "first", "second"), "families": ("size", "family")}

Curves = dict[int, dict[str, np.ndarray]]  # (draws, q) values by number of training queries and method


def read(folder: Path) -> dict[str, tuple[Curves, dict[int, np.ndarray]]]:
    """Return, for each data set, the values, and the folds of the queries by number of training queries."""
    found: dict[str, tuple[Curves, dict[int, np.ndarray]]] = {}
    for table in Packed(folder / "jobs.parquet", ("job",)).of():
        job = json.loads(table["found"][0])
        if not job["folds"]:
            continue
        size = job["queries"] or round(sum(job["training_queries"]) / len(job["training_queries"]))
        curves, folds = found.setdefault(job["dataset"], ({}, {}))
        values = np.hstack([np.array(fold["values"], float) for fold in job["folds"]]) / UNIT
        numbers = np.concatenate([np.full(len(fold["qids"]), k) for k, fold in enumerate(job["folds"])])
        valued = ~np.isnan(values[0])
        curves.setdefault(size, {})[job["method"]] = values[:, valued]
        folds[size] = numbers[valued]
    return found


def summary(values: np.ndarray, folds: np.ndarray) -> tuple[float, float, float]:
    """Return the mean over folds and draws, its standard error and its degrees of freedom."""
    terms, by_draw = [query_variance(values.mean(axis=0), folds)], fold_means(values, folds).mean(axis=1)
    if len(values) > 1:
        terms.append((by_draw.var(ddof=1) / len(values), len(values) - 1))
    return float(by_draw.mean()), *satterthwaite(terms)


def half(error: float, freedom: float) -> float:
    return float(student.ppf(0.975, freedom)) * error


def tables(
    dataset: str, curves: Curves, folds: dict[int, np.ndarray], family_of: dict[str, str]
) -> Iterator[tuple[str, Rows]]:
    """Yield the id and the recomputed rows of each table."""
    rows, pairs, means = [], [], {}
    for size, by_method in sorted(curves.items()):
        for name, values in by_method.items():
            mean, error, freedom = summary(values, folds[size])
            means[size, name] = mean
            row = {"size": size, "family": family_of[name], "method": name, "draws": len(values), "mean": mean}
            rows.append(row | {"half": half(error, freedom)})
        for names in combinations(by_method, 2):
            one, two = sorted(names, key=lambda name: -means[size, name])
            mean, error, freedom = summary(by_method[one] - by_method[two], folds[size])
            p = min(1.0, 2 * one_sided(abs(mean), error, freedom))
            low, high = mean - half(error, freedom), mean + half(error, freedom)
            pairs.append(
                {"size": size, "first": one, "second": two, "difference": mean, "low": low, "high": high, "p": p}
            )
    for row, p in zip(pairs, holm([row["p"] for row in pairs]), strict=True):
        row["corrected"] = p
        is_better = row["corrected"] < LEVEL and row["low"] > 0
        row["verdict"] = "better" if is_better else "no evidence"
    yield f"curves_{dataset}", rows
    yield f"pairs_{dataset}", pairs
    better = {(row["size"], row["first"], row["second"]) for row in pairs if row["verdict"] == "better"}
    yield f"families_{dataset}", winners(curves, means, better, family_of)


def winners(curves: Curves, means: dict, better: set, family_of: dict[str, str]) -> Rows:
    """Return the rows of the families, each with its best method."""
    rows = []
    for size in sorted(curves):
        own: dict[str, str] = {}
        for method in sorted(curves[size], key=lambda name: means[size, name]):
            own[family_of[method]] = method  # the last one is the best
        top = max(own, key=lambda family: means[size, own[family]])
        for family, method in own.items():
            others = [other for other in own.values() if other != method]
            beaten = sum((size, method, other) in better for other in curves[size])
            row = {"size": size, "family": family, "method": method, "mean": means[size, method], "beaten": beaten}
            row |= {"apart": "yes" if all((size, method, other) in better for other in others) else ""}
            rows.append(row | {"wins": "yes" if family == top else ""})
    return rows


def check(folder: Path) -> int:
    """Print one line per table of numbers.json, and return the number of differences."""
    numbers: dict[str, Rows] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    faults = 0
    for dataset, (curves, folds) in read(folder).items():
        family_of = {row["method"]: row["family"] for row in numbers[f"curves_{dataset}"]}
        for table, rows in tables(dataset, curves, folds, family_of):
            lines = list(differences(numbers[table], rows, KEYS[table.partition("_")[0]]))
            faults += len(lines)
            print(f"{table}: {len(rows)} rows" + "".join(f"\n  {line}" for line in lines))
    return faults


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1] if len(sys.argv) > 1 else "results/studies/learning_curves")) > 0)
