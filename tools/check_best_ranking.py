"""Recompute the tables of the best ranking from the values per query in git, without importing gradrank.

    python tools/check_best_ranking.py [results/studies/best_ranking]

The values per query are in numbers.json, in the tables of folds and of members. The learned weights and the values on
the validation part are not recomputed. The script prints one line per table, and exits with 1 if a number differs. It
needs NumPy and SciPy.
"""

import json
import sys
from pathlib import Path

import numpy as np

from difference_statistics import fold_means, half_width, holm, one_sided, query_variance, satterthwaite
from table_differences import Rows, differences

LEVEL, UNIT = 0.05, 10_000
METRICS = ("ndcg@10", "map", "mean_ndcg")
BEST = "learned weights, both parts"


def values(text: str) -> np.ndarray:
    return np.array(text.split(), float) / UNIT


def mean_of_folds(per_query: np.ndarray, folds: np.ndarray) -> float:
    return float(fold_means(per_query, folds).mean())


def difference(name: str, gaps: np.ndarray, folds: np.ndarray) -> dict:
    """Return the row of the table of differences, without the correction for several comparisons."""
    term, mean = query_variance(gaps, folds), mean_of_folds(gaps, folds)
    half, (error, freedom) = half_width([term]), satterthwaite([term])
    p = min(1.0, 2 * one_sided(abs(mean), error, freedom))
    return {"method": name, "difference": mean, "low": mean - half, "high": mean + half, "p": p}


def tables(dataset: str, numbers: dict[str, Rows]) -> dict[str, Rows]:
    """Return the recomputed rows of each table of a data set."""
    by_fold: dict[tuple[str, str], list[np.ndarray]] = {}
    fold_rows = []
    for row in numbers[f"folds_{dataset}"]:
        for metric in METRICS:
            by_fold.setdefault((row["recipe"], metric), []).append(values(row[f"{metric} per query"]))
        means = {metric: float(by_fold[row["recipe"], metric][-1].mean()) for metric in METRICS}
        fold_rows.append(row | means)
    folds = np.repeat(np.arange(len(by_fold[BEST, METRICS[0]])), list(map(len, by_fold[BEST, METRICS[0]])))
    recipes = {key: np.concatenate(parts) for key, parts in by_fold.items()}
    names = list(dict.fromkeys(name for name, _ in recipes))
    validation = {row["recipe"]: row["vali"] for row in numbers[f"recipes_{dataset}"]}
    recipe_rows = [
        {"recipe": name, "vali": validation[name]}
        | {metric: mean_of_folds(recipes[name, metric], folds) for metric in METRICS}
        for name in names
    ]
    members = {row["member"]: values(row["whole per query"]) for row in numbers[f"members_{dataset}"]}
    member_rows = [
        row | {key: mean_of_folds(values(row[f"{key} per query"]), folds) for key in ("test", "whole")}
        for row in numbers[f"members_{dataset}"]
    ]
    top = max(members, key=lambda name: mean_of_folds(members[name], folds))
    others = {name: recipes[name, METRICS[0]] for name in names if name != BEST}
    others[f"{top}, both parts"] = members[top]
    gaps = [difference(name, own - recipes[BEST, METRICS[0]], folds) for name, own in others.items()]
    for row, p in zip(gaps, holm([row["p"] for row in gaps]), strict=True):
        shown = "better" if row["low"] > 0 else "worse" if row["high"] < 0 else ""
        row |= {"corrected": p, "verdict": shown if p < LEVEL and shown else "no evidence"}
    return {"recipes": recipe_rows, "differences": gaps, "folds": fold_rows, "members": member_rows}


def check(folder: Path) -> int:
    """Print one line per table of numbers.json, and return the number of differences."""
    numbers: dict[str, Rows] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    keys = {"recipes": ("recipe",), "differences": ("method",), "folds": ("recipe", "fold"), "members": ("member",)}
    faults = 0
    for dataset in (name.removeprefix("recipes_") for name in numbers if name.startswith("recipes_")):
        for table, rows in tables(dataset, numbers).items():
            lines = list(differences(numbers[f"{table}_{dataset}"], rows, keys[table]))
            faults += len(lines)
            print(f"{table}_{dataset}: {len(rows)} rows" + "".join(f"\n  {line}" for line in lines))
    return faults


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1] if len(sys.argv) > 1 else "results/studies/best_ranking")) > 0)
