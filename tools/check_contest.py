"""Recompute every number in the tables of the contest from the files in git, without importing gradrank.

    python tools/check_contest.py [results/studies/contest]

The script reads trials.parquet, values.parquet, divisions.parquet and choices.json, and compares its results with
numbers.json. It also makes all choices again from the trials, and compares them with choices.json and with the digests
in values.parquet. It prints one line per table, and exits with 1 if a number or a choice differs. It needs NumPy,
Polars and SciPy.
"""

import hashlib
import json
import math
import sys
from collections.abc import Iterator
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import polars as pl

from contest_choices import choice, wrong_choices
from difference_statistics import (
    chance_terms,
    components,
    detectable,
    fold_means,
    half_width,
    holm,
    means_and_halves,
    one_sided,
    pooled_variance,
    query_variance,
    satterthwaite,
)
from packed_parts import TUNED, Packed
from table_differences import differences

METRICS = ("ndcg@10", "map", "mean_ndcg", "p@10")
ROLES = ("default", "trial", "timed", "one")
MARGINS = (0.005, 0.01)
LEVEL = 0.05
AGREEMENT_DRAWS = 2000

Numbers = dict[str, list[dict]]


class Files:
    """The packed files of a contest. folder: the folder of the contest."""

    def __init__(self, folder: Path) -> None:
        self.choices_path = folder / "choices.json"
        self.trials, self.values = Packed(folder / "trials.parquet"), Packed(folder / "values.parquet")
        self.divisions = Packed(folder / "divisions.parquet", TUNED[:2])


class Method:
    """The results of one method on one data set. tuned: the data set of its trials."""

    def __init__(self, files: Files, dataset: str, tuned: str, name: str, frozen_choices: dict, seconds: float) -> None:
        self.name, self.is_frozen, self.seconds = name, dataset != tuned, seconds
        self.tables = files.values.of(dataset, name)
        numbers = range(1, len(self.tables) + 1)
        self.trials = files.trials.of(tuned, name)[: len(self.tables)]
        self.folds = sorted(self.tables[0]["fold"].unique())
        self.choices = [
            {
                fold: self.adopted(tuned, frozen_choices, number)
                if self.is_frozen
                else frozen_choices[f"{tuned}/{name}/fold{fold}"][f"tuner{number}"]
                for fold in self.folds
            }
            for number in numbers
        ]
        self.seeds = self.tables[0]["seed"].n_unique()
        self.learns_on_validation = not self.tables[0]["whole"].any()
        self.fold_of = self.run(0, "trial", "ndcg@10", 1, whole=False)[0]

    def adopted(self, tuned: str, frozen_choices: dict, number: int) -> dict:
        one = frozen_choices[f"{tuned}/{self.name}/fold1"][f"tuner{number}"]["one"]
        return {"trial": one, "one": one, "timed": one}

    def wrong_choices(self, dataset: str, frozen_choices: dict) -> Iterator[str]:
        entries = {fold: frozen_choices[f"{dataset}/{self.name}/fold{fold}"] for fold in self.folds}
        return wrong_choices(self.trials, self.tables, entries, self.seconds)

    def run(self, tuner: int, role: str, metric: str, seed: int, *, whole: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the folds and the values of one run."""
        folds, values = [], []
        for fold in self.folds:
            trial = 0 if role == "default" else self.choices[tuner][fold][role]
            rows = self.tables[tuner].filter(fold=fold, trial=trial, seed=seed, whole=whole)
            found = rows[metric].cast(pl.Float64).drop_nulls().drop_nans().to_numpy()
            assert len(found), (self.name, tuner, fold, role)
            folds.append(np.full(len(found), fold))
            values.append(found)
        return np.concatenate(folds), np.concatenate(values)

    def runs(self, metric: str = "ndcg@10", role: str = "trial", *, whole: bool = False, first: bool = False):
        """Return (T, S, q) values. first: only the first seed."""
        seeds = range(1, 2 if first else self.seeds + 1)
        return np.array(
            [
                [self.run(tuner, role, metric, seed, whole=whole)[1] for seed in seeds]
                for tuner in range(len(self.tables))
            ]
        )


class Pairs:
    """The differences of all pairs of methods.

    values: the (T, S, q) values of each method. divisions: the means on other divisions of the queries, by method and
    division.
    """

    def __init__(
        self, values: dict[str, np.ndarray], folds: np.ndarray, divisions: dict[str, dict[int, float]], seeds: dict
    ) -> None:
        self.values, self.folds, self.divisions, self.seeds = values, folds, divisions, seeds
        self.own = {name: components(own, folds) for name, own in values.items()}
        self.pooled = pooled_variance(self.own.values())

    def estimate(self, a: str, b: str) -> dict:
        gaps = self.values[a].mean(axis=(0, 1)) - self.values[b].mean(axis=(0, 1))
        chance = chance_terms([self.own[a], self.own[b]], self.pooled)
        training = training_variance(self.divisions, self.seeds, a, b)
        terms = [query_variance(gaps, self.folds), *chance, *([training] if training else [])]
        error, freedom = satterthwaite(terms)
        difference, half = self.own[a]["mean"] - self.own[b]["mean"], half_width(terms)
        rounded = np.round(gaps, 12)
        effect = rounded.mean() / rounded.std(ddof=1) if np.any(rounded != rounded[0]) else math.nan
        found = {"difference": difference, "low": difference - half, "high": difference + half, "effect": effect}
        found |= {"training": training[0] / error**2 if training else None, "unmeasured": None if training else "†"}
        found |= {"error": error, "freedom": freedom, "p": min(1.0, 2 * one_sided(abs(difference), error, freedom))}
        for margin in MARGINS:
            sides = [one_sided(sign * difference + margin, error, freedom) for sign in (1, -1)]
            found |= {f"not_worse_{margin}": sides[0], f"equivalent_{margin}": max(sides)}
        return found

    def table(self, pairs: list[tuple[str, str]]) -> list[dict]:
        rows = [{"names": pair} | self.estimate(*pair) for pair in pairs]
        columns = {"corrected": "p"} | {f"equivalent_{margin}": f"equivalent_{margin}" for margin in MARGINS}
        for column, source in columns.items():
            for row, p in zip(rows, holm([row[source] for row in rows]), strict=True):
                row[column] = p
        for row in rows:
            row["detectable"] = detectable(row["error"], row["freedom"], len(rows))
            row["freedom"] = row["freedom"] if math.isfinite(row["freedom"]) else None
            significant = row["corrected"] < LEVEL
            better, worse = significant and row["low"] > 0, significant and row["high"] < 0
            row["verdict"] = "better" if better else "worse" if worse else "no evidence"
            within = [margin for margin in MARGINS if row[f"equivalent_{margin}"] < LEVEL]
            row["equal_within"] = min(within) if within else None
        return rows


def training_variance(
    divisions: dict[str, dict[int, float]], seeds: dict[str, float], *methods: str
) -> tuple[float, int] | None:
    """Return the variance of a mean, or of a difference, due to the training queries, and its degrees of freedom.

    This is the variance over divisions without that of the seeds. None: a method was not trained on divisions.
    """
    if not all(divisions.get(method) for method in methods):
        return None
    first, *others = (divisions[method] for method in methods)
    means = np.array([first[number] - sum(other[number] for other in others) for number in sorted(first)])
    return max(0.0, means.var(ddof=1) - sum(seeds[method] for method in methods)), len(means) - 1


def division_means(files: Files, dataset: str, name: str) -> dict[int, float]:
    """Return the mean over all queries of each division; empty without divisions."""
    found = {}
    for divided in files.divisions.of(dataset, name):
        for number in divided["division"].unique():
            rows = divided.filter(division=number).drop_nans("ndcg@10")
            values, groups = rows["ndcg@10"].cast(pl.Float64).to_numpy(), rows["group"].to_numpy()
            found[number] = float(fold_means(values, groups).mean())
    return found


def tables(files: Files, dataset: str, methods: list[Method]) -> Iterator[tuple[str, list[dict]]]:
    """Yield the id and the recomputed rows of each table of one data set."""
    folds = methods[0].fold_of
    yield f"results_{dataset}", result_rows(methods, folds)
    own, names = {method.name: method.runs() for method in methods}, [method.name for method in methods]
    seeds = {name: components(values, folds)["seed"] for name, values in own.items()}
    divisions = {name: division_means(files, dataset, name) for name in names}
    pairs = Pairs(own, folds, divisions, seeds)
    for baseline in ("ranksvm", "regression", "single_feature"):
        if baseline in names:
            yield f"against_{baseline}_{dataset}", against(pairs, baseline)
    ordered = [(a, b) if pairs.own[a]["mean"] >= pairs.own[b]["mean"] else (b, a) for a, b in combinations(names, 2)]
    rows = pairs.table(ordered)
    yield f"pairs_{dataset}", [row | dict(zip(("first", "second"), row["names"], strict=True)) for row in rows]
    yield f"best_{dataset}", not_worse(pairs, names)
    yield (
        f"variances_{dataset}",
        [variance_row(method, folds, training_variance(divisions, seeds, method.name)) for method in methods],
    )
    trained = {method.name: method.runs(whole=True) for method in methods if not method.learns_on_validation}
    yield f"whole_{dataset}", whole_rows(own, trained, folds)
    for method in methods:
        if method.learns_on_validation:
            both = Pairs({method.name: own[method.name]} | trained, folds, divisions, seeds)
            yield f"whole_against_{method.name}_{dataset}", against(both, method.name)
    yield f"files_{dataset}", file_rows(files, dataset, sorted(names))
    if not methods[0].is_frozen:
        yield f"choosing_{dataset}", choosing_rows(methods, folds)
        yield f"chosen_{dataset}", [row for method in methods for row in chosen_rows(method)]
        yield f"crossings_{dataset}", crossings(methods)


def against(pairs: Pairs, baseline: str) -> list[dict]:
    rows = pairs.table([(name, baseline) for name in pairs.values if name != baseline])
    return [row | {"method": row["names"][0]} for row in rows]


def file_rows(files: Files, dataset: str, names: list[str]) -> list[dict]:
    path = files.choices_path
    rows = [{"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()[:16]}]
    for name in names:
        rows += files.trials.files("trials/{}/{}/tuner{}.parquet", dataset, name)
        rows += files.values.files("values/{}/{}/tuner{}.parquet", dataset, name)
        rows += files.divisions.files("divisions/{}/{}.parquet", dataset, name)
    return rows


def result_rows(methods: list[Method], folds: np.ndarray) -> list[dict]:
    rows = {method.name: {"method": method.name} for method in methods}
    for metric in METRICS:
        for name, found in means_and_halves({method.name: method.runs(metric) for method in methods}, folds).items():
            rows[name] |= {metric: found[0], f"{metric} half": found[1]}
    seconds = {m.name: sum(table["seconds"].sum() for table in m.trials) / len(m.trials) for m in methods}
    members = sum(seconds[method.name] for method in methods if not method.learns_on_validation)
    for method in methods:
        runs = fold_means(method.runs(), folds).mean(axis=2).ravel()
        own = members if method.learns_on_validation else seconds[method.name]
        rows[method.name]["sd"] = runs.std(ddof=1) if len(runs) > 1 else math.nan
        rows[method.name]["seconds"] = None if method.is_frozen else own
    return list(rows.values())


def not_worse(pairs: Pairs, names: list[str]) -> list[dict]:
    rows = [{"method": name} for name in names]
    for margin in MARGINS:
        for row in rows:
            p = {
                other: pairs.estimate(row["method"], other)[f"not_worse_{margin}"]
                for other in names
                if other != row["method"]
            }
            row[f"p_{margin}"] = max(p.values())
            row[f"closest_{margin}"] = max(p, key=p.__getitem__)
        for row, p in zip(rows, holm([row[f"p_{margin}"] for row in rows]), strict=True):
            is_measured = pairs.estimate(row["method"], row[f"closest_{margin}"])["unmeasured"] is None
            row["unmeasured"] = row.get("unmeasured") or (None if is_measured else "†")
            row |= {f"corrected_{margin}": p, f"shown_{margin}": "yes" if p < LEVEL else "not shown"}
    return rows


def variance_row(method: Method, folds: np.ndarray, training: tuple[float, int] | None) -> dict:
    own = components(method.runs(), folds)
    parts = {"queries": own["query"][0], "seeds": own["seed"], "tuning": own["tuning"]}
    if training:
        parts["training"] = training[0]
    total = sum(parts.values())
    shares = {name: part / total for name, part in parts.items()}
    return {"method": method.name, "deviation": math.sqrt(total), "training": None} | shares


def gap_cells(after: dict[str, np.ndarray], before: dict[str, np.ndarray], folds: np.ndarray) -> dict:
    """Return the mean and half the width of the interval of `after` minus `before`, for the methods that have both."""
    return means_and_halves({name: own - before[name] for name, own in after.items() if name in before}, folds)


def whole_rows(own: dict[str, np.ndarray], trained: dict[str, np.ndarray], folds: np.ndarray) -> list[dict]:
    cells = {
        "train": means_and_halves(own, folds),
        "whole": means_and_halves(trained, folds),
        "gain": gap_cells(trained, own, folds),
    }
    return [row_of(name, cells) for name in own]


def row_of(name: str, cells: dict[str, dict[str, tuple[float, float]]]) -> dict:
    """Return a row with a mean and half a width per key of `cells`; None if the method has none."""
    row: dict = {"method": name}
    for key, found in cells.items():
        row[key], row[f"{key} half"] = found.get(name, (None, None))
    return row


def choosing_rows(methods: list[Method], folds: np.ndarray) -> list[dict]:
    names = [method.name for method in methods]
    values = {
        role: {m.name: m.runs(role=role, first=True) for m in methods if not m.learns_on_validation} for role in ROLES
    }
    if len(np.unique(folds)) == 1:
        values["one"] = {}
    titles = {"default": "default", "trial": "tuned", "timed": "timed", "one": "one"}
    gaps = {"gain": ("trial", "default"), "loss": ("timed", "trial"), "leak": ("one", "trial")}
    cells = {gap: gap_cells(values[after], values[before], folds) for gap, (after, before) in gaps.items()}
    rows = [row_of(name, cells) for name in names]
    for role, own in values.items():
        means = means_and_halves(own, folds)
        for row in rows:
            row[titles[role]] = means.get(row["method"], (None,))[0]
    return rows


def chosen_rows(method: Method) -> Iterator[dict]:
    for number, trials in enumerate(method.trials, start=1):
        for fold in method.folds:
            made = choice(trials, fold, method.seconds)
            row = {"method": method.name, "fold": fold, "tuner": number, "trial": made["trial"]}
            yield row | {"validation": made["value"]}


def crossings(methods: list[Method]) -> list[dict]:
    curves = {}
    for method in methods:
        drawn = pl.concat(method.trials).filter(pl.col("trial") > 0).drop_nulls("vali_ndcg@10")
        folds = [np.sort(drawn.filter(fold=fold)["vali_ndcg@10"].to_numpy()) for fold in method.folds]
        if len(drawn):
            reach = min(map(len, folds))
            curves[method.name] = [np.mean([expected(values, n) for values in folds]) for n in range(1, reach + 1)]
    reach, rows = min(map(len, curves.values()), default=0), []
    for first, second in combinations(curves, 2):
        gaps = np.array(curves[first][:reach]) - np.array(curves[second][:reach])
        if reach and gaps[0] * gaps[-1] < 0:
            other = np.flatnonzero(np.sign(gaps) != np.sign(gaps[-1]))
            ahead, behind = (first, second) if gaps[0] > 0 else (second, first)
            rows.append({"ahead": ahead, "behind": behind, "budget": int(other[-1]) + 2})
    return rows


def expected(ranked: np.ndarray, n: int) -> float:
    count = len(ranked)
    return sum(comb(i, n - 1) / comb(count, n) * ranked[i] for i in range(count))


def agreement(datasets: dict[str, list[Method]]) -> list[dict]:
    """Return Kendall's tau for every two data sets, with the bootstrap interval of the same draws."""
    rows = []
    for first, second in combinations(datasets, 2):
        rng, taus = np.random.default_rng(0), []
        names = sorted(method.name for method in datasets[first])
        drawn, means = [], []
        for dataset in (first, second):
            by_name = {method.name: method for method in datasets[dataset]}
            values = np.stack([by_name[name].runs().mean(axis=(0, 1)) for name in names], axis=1)
            folds = datasets[dataset][0].fold_of
            parts = [values[folds == fold] for fold in np.unique(folds)]
            means.append(np.mean([part.mean(axis=0) for part in parts], axis=0))
            counts = [rng.multinomial(len(p), np.full(len(p), 1 / len(p)), size=AGREEMENT_DRAWS) for p in parts]
            drawn.append(np.mean([c / len(p) @ p for c, p in zip(counts, parts, strict=True)], axis=0))
        taus = [kendall(a, b) for a, b in zip(*drawn, strict=True)]
        low, high = np.nanquantile(taus, [0.025, 0.975])
        rows.append({"first": first, "second": second, "tau": kendall(*means), "low": low, "high": high})
    return rows


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    upper = np.triu_indices(len(a), 1)
    x, y = (np.sign(v[upper[0]] - v[upper[1]]) for v in (a, b))
    scale = math.sqrt(np.sum(x * x) * np.sum(y * y))
    return float(np.sum(x * y) / scale) if scale else math.nan


def compared(wanted: list[dict], rows: list[dict]) -> Iterator[str]:
    """Yield the differences of a table. Words and counts that are not recomputed are left out."""
    keys = [
        key for key in ("method", "first", "second", "file", "fold", "tuner", "ahead", "behind") if key in wanted[0]
    ]
    columns = set().union(*rows)
    numbers = [
        {name: value for name, value in row.items() if name in columns or isinstance(value, float)} for row in wanted
    ]
    return differences(numbers, rows, keys)


def check(folder: Path) -> int:
    """Print one line per table of numbers.json, and return the number of differences."""
    numbers: Numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    files = Files(folder)
    choices = json.loads(files.choices_path.read_text(encoding="utf-8"))
    record = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    seconds = record["params"]["settings"]["seconds"]
    tuned = [key.partition("/")[0] for key in choices]
    names = list(dict.fromkeys(key.split("/")[1] for key in choices))
    datasets, faults, recomputed = {}, 0, {}
    for dataset in [key.removeprefix("results_") for key in numbers if key.startswith("results_")]:
        source = dataset if dataset in tuned else tuned[0]
        methods = [Method(files, dataset, source, name, choices, seconds) for name in names]
        datasets[dataset] = sorted(methods, key=lambda m: (-components(m.runs(), m.fold_of)["mean"], m.name))
        recomputed |= dict(tables(files, dataset, datasets[dataset]))
        if dataset in tuned:
            lines = [f"{method.name}, {line}" for method in methods for line in method.wrong_choices(dataset, choices)]
            faults += len(lines)
            print(f"choices of {dataset}: {len(methods)} methods" + "".join(f"\n  {line}" for line in lines))
    recomputed["agreement"] = agreement(datasets)
    for table, wanted in numbers.items():
        if table.startswith("failed_"):
            continue  # texts of errors, which are copied from the trials
        lines = list(compared(wanted, recomputed[table])) if wanted else []
        faults += len(lines)
        print(f"{table}: {len(wanted)} rows" + "".join(f"\n  {line}" for line in lines))
    return faults


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1] if len(sys.argv) > 1 else "results/studies/contest")) > 0)
