"""Recompute every number in the tables of the factorial study from the files in git, without importing gradrank.

    python tools/check_factorial.py [results/studies/factorial]

The script reads trials.parquet, values.parquet and choices.json, and compares its results with numbers.json. It prints
one line per table, and exits with 1 if a number differs. It needs NumPy, Polars and SciPy.
"""

import json
import math
import sys
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import t as student

from difference_statistics import detectable
from packed_parts import Packed
from table_differences import Rows, differences

METRIC, JUDGED = "ndcg@10", "vali_ndcg@10"
LEVEL, DRAWS = 0.05, 2000
BUDGETS = (1.0, 10.0, 100.0)
QUESTIONS = ("scorer", "loss", "interaction")


class Collection:
    """The results on one data set: values per query and trials of every combination of a scorer and a loss."""

    def __init__(
        self, files: dict[str, Packed], dataset: str, scorers: list[str], losses: list[str], choices: dict
    ) -> None:
        self.files, self.dataset, self.scorers, self.losses = files, dataset, scorers, losses
        self.pairs = list(product(scorers, losses))
        self.trials = {pair: self.tables("trials", pair) for pair in self.pairs}
        runs = []
        for pair in self.pairs:
            by_tuner = []
            for number, table in enumerate(self.tables("values", pair), start=1):
                trials = self.trials[pair][number - 1]
                frozen = {
                    fold: choices[f"{dataset}/{'-'.join(pair)}/fold{fold}"][f"tuner{number}"]["trial"]
                    for fold in sorted(trials["fold"].unique())
                }
                assert frozen == chosen(trials), (dataset, pair, "choices.json does not follow from the trials")
                assert frozen == dict(table.select("fold", "trial").unique().rows()), (dataset, pair)
                table = table.filter(pl.col(METRIC).is_not_nan())
                self.folds = table.filter(seed=1)["fold"].to_numpy()
                seeds = sorted(table["seed"].unique())
                by_tuner.append([table.filter(seed=seed)[METRIC].cast(pl.Float64).to_numpy() for seed in seeds])
            runs.append(by_tuner)
        values = np.array(runs)  # (cells, tuners, seeds, queries)
        self.values = values.reshape(len(scorers), len(losses), *values.shape[1:])
        names, counts = np.unique(self.folds, return_counts=True)
        self.rows = [np.flatnonzero(self.folds == name) for name in names]
        self.weights = np.concatenate([np.full(count, 1 / count / len(names)) for count in counts])
        assert np.all(np.diff(self.folds) >= 0)
        self.per_query = self.values.mean(axis=(2, 3)).reshape(len(self.pairs), -1)
        self.means = self.per_query @ self.weights
        by_run = self.values @ self.weights
        self.runs = by_run.mean(axis=3) if by_run.shape[2] > 1 else by_run[:, :, 0]

    def tables(self, kind: str, pair: tuple[str, str]) -> list[pl.DataFrame]:
        return self.files[kind].of(self.dataset, "-".join(pair))

    def estimate(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the estimates of contrasts, the terms of their variances, and the degrees of freedom of the terms."""
        per_query = weights @ self.per_query
        query = sum(per_query[:, rows].var(axis=1, ddof=1) / len(rows) for rows in self.rows) / len(self.rows) ** 2
        freedoms = np.array([len(self.folds) - len(self.rows), *[self.runs.shape[2] - 1] * len(self.pairs)])
        variances = np.column_stack([query, *[w**2 * v for w, v in zip(weights.T, self.chance(), strict=True)]])
        return per_query @ self.weights, variances, freedoms

    def chance(self) -> list[float]:
        """Return the variance of each cell's mean: the largest of its own, its scorer's mean and its loss's mean."""
        scorers, losses, n = self.runs.shape
        own = [[np.var(runs, ddof=1) / n if n > 1 else 0.0 for runs in row] for row in self.runs]
        of_losses = [sum(column) / scorers for column in zip(*own, strict=True)]
        return [max(own[i][j], sum(own[i]) / losses, of_losses[j]) for i in range(scorers) for j in range(losses)]

    def draws(self, weights: np.ndarray, seed: int) -> np.ndarray:
        rng, per_query = np.random.default_rng(seed), weights @ self.per_query
        drawn = np.zeros((DRAWS, len(weights)))
        for rows in self.rows:
            counts = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=DRAWS)
            drawn += counts @ per_query[:, rows].T / len(rows) / len(self.rows)
        noise = rng.normal(size=(DRAWS, len(self.pairs))) * np.sqrt(self.chance())
        return drawn + noise @ weights.T


def chosen(trials: pl.DataFrame) -> dict[int, int]:
    """Return the first trial with the highest validation value on each fold."""
    found = {}
    for fold in sorted(trials["fold"].unique()):
        rows = trials.filter(fold=fold).drop_nulls(JUDGED)
        found[fold] = rows.filter(pl.col(JUDGED) == rows[JUDGED].max())["trial"].min()
    return found


def contrasts(scorers: list[str], losses: list[str]) -> tuple[list[tuple[str, str, str]], np.ndarray]:
    """Return the names and the weights of the tested contrasts, the main effects and the cells."""
    r, c = len(scorers), len(losses)
    names, weights = [], []

    def add(question: str, first: str, second: str, cells: np.ndarray) -> None:
        names.append((question, first, second))
        weights.append(cells.ravel())

    for a, b in combinations(range(r), 2):
        cells = np.zeros((r, c))
        cells[a], cells[b] = 1 / c, -1 / c
        add("scorer", scorers[a], scorers[b], cells)
    for a, b in combinations(range(c), 2):
        cells = np.zeros((r, c))
        cells[:, a], cells[:, b] = 1 / r, -1 / r
        add("loss", losses[a], losses[b], cells)
    for i, j in product(range(r), range(c)):
        cells = np.full((r, c), 1 / r / c)
        cells[i] -= 1 / c
        cells[:, j] -= 1 / r
        cells[i, j] += 1
        add("interaction", scorers[i], losses[j], cells)
    for i in range(r):
        cells = np.full((r, c), -1 / r / c)
        cells[i] += 1 / c
        add("effect of scorer", scorers[i], "", cells)
    for j in range(c):
        cells = np.full((r, c), -1 / r / c)
        cells[:, j] += 1 / r
        add("effect of loss", losses[j], "", cells)
    for i, j in product(range(r), range(c)):
        cells = np.zeros((r, c))
        cells[i, j] = 1
        add("cell", scorers[i], losses[j], cells)
    return names, np.array(weights)


def satterthwaite(variances: np.ndarray, freedoms: np.ndarray) -> np.ndarray:
    found = []
    for own in variances:
        counted = [(variance, freedom) for variance, freedom in zip(own, freedoms, strict=True) if freedom > 0]
        spread = sum(variance**2 / freedom for variance, freedom in counted)
        found.append(sum(variance for variance, _ in counted) ** 2 / spread if spread else math.inf)
    return np.array(found)


def two_sided(estimates: np.ndarray, errors: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(errors > 0, np.abs(estimates) / errors, np.where(estimates == 0, 0, np.inf))
    return np.minimum(1, 2 * student.sf(ratios, freedom))


def scope(estimates, variances, freedoms, draws) -> Rows:
    errors, freedom = np.sqrt(variances.sum(axis=1)), satterthwaite(variances, freedoms)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    p = two_sided(estimates, errors, freedom)
    names = ("difference", "low", "high", "error", "freedom", "p")
    columns = estimates, low, high, errors, freedom, p
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def beyond(effects: np.ndarray, variances: np.ndarray) -> Rows:
    """Return the random-effects means of (collections, contrasts) effects, one contrast after the other."""
    count, rows = len(effects), []
    for d, v in zip(effects.T, np.maximum(1e-18, variances).T, strict=True):
        w = 1 / v
        q = np.sum(w * (d - np.sum(w * d) / np.sum(w)) ** 2)
        tau2 = max(0.0, (q - (count - 1)) / (np.sum(w) - np.sum(w**2) / np.sum(w)))
        u = 1 / (v + tau2)
        mu = np.sum(u * d) / np.sum(u)
        error = math.sqrt(max(1.0, np.sum(u * (d - mu) ** 2) / (count - 1)) / np.sum(u))
        half = student.ppf(0.975, count - 1) * error
        new = student.ppf(0.975, count - 2) * math.sqrt(tau2 + error**2) if count > 2 else math.nan
        p = float(two_sided(np.array([mu]), np.array([error]), count - 1)[0])
        row = {"difference": mu, "error": error, "freedom": count - 1, "p": p, "tau": math.sqrt(tau2)}
        rows.append(row | {"low": mu - half, "high": mu + half, "new_low": mu - new, "new_high": mu + new})
    return rows


def decide(rows: Rows, scopes: int) -> None:
    ordered, running = np.argsort([row["p"] for row in rows], kind="stable"), 0.0
    for place, index in enumerate(ordered):
        running = max(running, min(1.0, (len(rows) - place) * rows[index]["p"]))
        rows[index]["corrected"] = min(1.0, running * scopes)
    for row in rows:
        sign = "better" if row["difference"] > 0 else "worse"
        row["verdict"] = sign if row["corrected"] < LEVEL else "no evidence"
        row["detectable"] = detectable(row["error"], row["freedom"], len(rows) * scopes)


def tables(collections: dict[str, Collection]) -> Iterator[tuple[str, Rows]]:
    """Yield the id and the recomputed rows of each table."""
    first = next(iter(collections.values()))
    names, weights = contrasts(first.scorers, first.losses)
    tested = [place for place, name in enumerate(names) if name[0] in QUESTIONS]
    count = len(tested)
    found = {name: own.estimate(weights) for name, own in collections.items()}
    draws = {name: own.draws(weights, seed) for seed, (name, own) in enumerate(collections.items())}
    scopes = {
        name: scope(estimates[:count], variances[:count], freedoms, draws[name][:, :count])
        for name, (estimates, variances, freedoms) in found.items()
    }
    if len(collections) > 1:
        mean = np.mean([own[0][:count] for own in found.values()], axis=0)
        variances = np.hstack([own[1][:count] for own in found.values()]) / len(found) ** 2
        freedoms = np.concatenate([own[2] for own in found.values()])
        scopes["mean"] = scope(mean, variances, freedoms, np.mean([d[:, :count] for d in draws.values()], axis=0))
        squared = np.array([own[1][:count].sum(axis=1) for own in found.values()])
        scopes["beyond"] = beyond(np.array([own[0][:count] for own in found.values()]), squared)
    for name, rows in scopes.items():
        decide(rows, len(scopes))
        for row, (question, one, two) in zip(rows, names, strict=False):
            row |= {"question": question, "first": one, "second": two}
        for question in QUESTIONS:
            yield f"{question}_{name}", [row for row in rows if row["question"] == question]
    for name, own in collections.items():
        yield from described(name, own, names, found[name], draws[name])


def described(
    dataset: str, own: Collection, names: list, found: tuple[np.ndarray, np.ndarray, np.ndarray], draws: np.ndarray
) -> Iterator[tuple[str, Rows]]:
    """Yield the tables without tests."""
    estimates, variances, _ = found
    ends = np.quantile(draws, [0.025, 0.975], axis=0)
    rows = [
        {"question": question.removeprefix("effect of "), "kind": question, "first": one, "second": two}
        | {"value": estimates[place], "low": ends[0, place], "high": ends[1, place]}
        for place, (question, one, two) in enumerate(names)
    ]
    yield f"cells_{dataset}", [row for row in rows if row["kind"] == "cell"]
    yield f"effects_{dataset}", [row for row in rows if row["kind"].startswith("effect of ")]
    shares = []
    free = {"scorer": len(own.scorers) - 1, "loss": len(own.losses) - 1}
    free["interaction"] = free["scorer"] * free["loss"]
    for question, freedom in free.items():
        kind = question if question == "interaction" else f"effect of {question}"
        places = [place for place, name in enumerate(names) if name[0] == kind]
        true = sum(estimates[place] ** 2 - variances[place].sum() for place in places)
        spread = max(estimates[places]) - min(estimates[places])
        shares.append({"question": question, "deviation": math.sqrt(max(0, true) / freedom), "range": spread})
    yield f"shares_{dataset}", shares
    yield f"pareto_{dataset}", pareto(own)
    yield f"budgets_{dataset}", list(budgets(own))
    yield f"files_{dataset}", own.files["values"].files("values/{}/{}/tuner{}.parquet", dataset)


def pareto(own: Collection) -> Rows:
    rows = []
    for pair, mean in zip(own.pairs, own.means, strict=True):
        seconds = [value for table in own.trials[pair] for value in table["seconds"]]
        rows.append({"scorer": pair[0], "loss": pair[1], "value": mean, "seconds": sum(seconds) / len(seconds)})
    values, seconds = (np.round([row[name] for row in rows], 9) for name in ("value", "seconds"))
    for row, value, second in zip(rows, values, seconds, strict=True):
        better = (values >= value) & (seconds <= second) & ((values > value) | (seconds < second))
        row["front"] = "" if better.any() else "yes"
    return rows


def budgets(own: Collection) -> Iterator[dict]:
    for seconds, scorer in product(BUDGETS, own.scorers):
        values = {}
        for loss in own.losses:
            best = []
            for table, fold in product(own.trials[scorer, loss], np.unique(own.folds)):
                elapsed, found = 0.0, None
                for row in table.filter(fold=int(fold)).sort("trial").rows(named=True):
                    elapsed += row["seconds"]
                    if elapsed <= seconds and row[JUDGED] is not None:
                        found = max(found or 0.0, row[JUDGED])
                best.append(found)
            if None not in best:
                values[loss] = sum(best) / len(best)
        best_loss = max(values, key=values.__getitem__, default=None)
        row = {"seconds": seconds, "scorer": scorer, "finished": len(values), "loss": best_loss}
        yield row | {"validation": values.get(best_loss)}


def keys_of(table: str, row: dict) -> list[str]:
    """Return the columns that identify a row of a table."""
    keys = [key for key in ("question", "first", "second", "scorer", "file") if key in row]
    return keys + {"pareto": ["loss"], "budgets": ["seconds"]}.get(table.partition("_")[0], [])


def check(folder: Path) -> int:
    """Print one line per table of numbers.json, and return the number of differences."""
    numbers: dict[str, Rows] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    files = {kind: Packed(folder / f"{kind}.parquet") for kind in ("trials", "values")}
    choices = json.loads((folder / "choices.json").read_text(encoding="utf-8"))
    collections = {}
    for table, rows in numbers.items():
        if table.startswith("cells_"):
            dataset = table.removeprefix("cells_")
            scorers, losses = (list(dict.fromkeys(row[key] for row in rows)) for key in ("first", "second"))
            collections[dataset] = Collection(files, dataset, scorers, losses, choices)
    recomputed, faults = dict(tables(collections)), 0
    for table, wanted in numbers.items():
        lines = list(differences(wanted, recomputed[table], keys_of(table, wanted[0])))
        faults += len(lines)
        print(f"{table}: {len(wanted)} rows" + "".join(f"\n  {line}" for line in lines))
    return faults


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1] if len(sys.argv) > 1 else "results/studies/factorial")) > 0)
