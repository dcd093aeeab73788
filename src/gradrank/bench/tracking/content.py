"""The content of a method's MLflow run: parameters, metrics and data set."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.validation import flat
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.seeds import SEED, measured_folds, timings
from gradrank.bench.results import PER_QUERY, MethodFolder
from gradrank.data.reader import TrainingSchema
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.query_table import QUERY
from gradrank.training.selection import CRITERION

if TYPE_CHECKING:
    from mlflow.entities import Dataset, Metric

COST, DATA, SEEDS, CONVENTION = "cost", "data.", "seeds", "convention"  # names that `gradrank diff` reads
CURVE_POINTS = 40  # largest number of points per training curve
DIGEST_LENGTH = 36  # MLflow's limit
# group, {name: value}, step, and id of a logged model or None
Values = tuple[str, Mapping[str, float | None], int, str | None]


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return a flat dict of parameters as strings. Nested names are dotted. MLflow truncates long values."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in flat(values).items()}


class Result:
    """The finished results of a method under one convention, in the form of an MLflow run.

    settings: the section `datasets.<dataset>` of params.yaml. Raises GradrankError unless exactly the trained folds and
    seeds have been evaluated under this convention.
    """

    def __init__(self, method: MethodFolder, convention: str, settings: Mapping[str, Any]) -> None:
        import polars as pl

        if not method.evaluated:
            raise GradrankError(f"{method.folder}: no {PER_QUERY}. Fix: train and evaluate the method first")
        self.method, self.convention, self.settings = method, convention, settings
        self.folds = [fold for fold in measured_folds(method) if fold.model_path.is_dir()]
        self.specs = [fold.spec() for fold in self.folds]
        self.seeds = list(dict.fromkeys(spec[SEED] for spec in self.specs))
        values = pl.read_parquet(method.per_query_path).filter(convention=convention)
        if SEED not in values.columns:
            values = values.with_columns(pl.lit(seed).alias(SEED) for seed in self.seeds[:1])
        # The values of queries that the convention leaves out are null. Polars' mean skips them.
        by_fold = values.drop("convention", "qid", QUERY, strict=False).group_by(
            SEED, "split", "fold", maintain_order=True
        )
        means = by_fold.mean()
        self.means = means.sort(SEED, "split", "fold")
        trained = sorted((spec[SEED], fold.number) for fold, spec in zip(self.folds, self.specs, strict=True))
        if not trained or trained != self.means.select(SEED, "fold").unique().sort(SEED, "fold").rows():
            raise GradrankError(
                f"{method.folder}: under convention {convention!r}, {PER_QUERY} must have values of exactly the "
                f"trained pairs (seed, fold): {trained}. Fix: train the missing folds and evaluate the method again"
            )
        self.digests = {"spec_sha256": digest(self.specs), "per_query_sha256": sha256(method.per_query_path)}
        self.key = digest(self.digests | {"method": method.name, CONVENTION: convention})

    def suffix(self, spec: Mapping[str, Any]) -> str:
        """Return a suffix such as `_seed2`, which makes names unique if there are several seeds; empty for one seed."""
        return f"_seed{spec[SEED]}" if len(self.seeds) > 1 else ""

    def parameters(self) -> dict[str, str]:
        """Return the model's parameters, seeds, convention and data set settings."""
        run = {SEED: self.seeds[0], SEEDS: self.seeds, CONVENTION: self.convention}
        return texts(self.specs[0]["params"] | run | flat(self.settings, DATA))

    def dataset(self) -> "Dataset":
        """Return the data set with its name, digest, schema and source."""
        from mlflow.entities import Dataset
        from mlflow.types import ColSpec, Schema, TensorSpec

        name, spec, entry = self.method.dataset, self.specs[0], catalogue().get(self.method.dataset)
        columns: list[ColSpec | TensorSpec] = [
            ColSpec("long", "qid"),
            ColSpec("long", "label"),
            ColSpec("string", "docid"),
        ]
        columns += [ColSpec("float", feature) for feature in TrainingSchema.of(spec).feature_names]
        kind, source = "local", {"uri": self.settings.get("path", name)}
        if entry and "path" not in self.settings:
            kind, source = "http", {"url": entry.homepage}
            if entry.generator:
                kind, source = "code", {"tags": {"generator": entry.generator, **self.settings}}
        schema = json.dumps({"mlflow_colspec": Schema(columns).to_dict()})
        return Dataset(name, spec["data_sha256"][:DIGEST_LENGTH], kind, json.dumps(source), schema)

    def metrics(self, models: Mapping[Path, str], time: int) -> "list[Metric]":
        """Return means, costs and training curves.

        models: dict from the folder of a fold to the id of its logged model. The metrics of a fold are also attached to
        its logged model. time: timestamp in milliseconds.
        """
        from mlflow.entities import Metric

        data = self.dataset()
        return [
            Metric(f"{group}/{name.replace('@', '_at_')}", float(value), time, step, model, data.name, data.digest)
            for group, values, step, model in self._values(models)
            for name, value in values.items()
            if value is not None
        ]

    def _values(self, models: Mapping[Path, str]) -> Iterator[Values]:
        """Yield the values for `metrics`, one group after the other."""
        import polars as pl

        by_seed = self.means.group_by(SEED, "split", maintain_order=True).mean().drop("fold", SEED)
        for row in by_seed.group_by("split", maintain_order=True).mean().iter_rows(named=True):
            yield row.pop("split"), row, 0, None
        if len(self.seeds) > 1:
            deviations = by_seed.filter(split="test").drop("split").std()
            yield "test_seed_deviation", deviations.row(0, named=True), 0, None
        if cost := Cost.of(timings(self.method)):
            yield COST, asdict(cost), 0, None
        for fold, spec in zip(self.folds, self.specs, strict=True):
            suffix, step, model = self.suffix(spec), fold.number, models.get(fold.folder)
            means = self.means.filter(pl.col(SEED) == spec[SEED], fold=step).drop("fold", SEED)
            for row in means.iter_rows(named=True):
                yield f"{row.pop('split')}_by_fold{suffix}", row, step, model
            if fold.timing_path.is_file():
                yield f"cost_by_fold{suffix}", fold.timing(), step, model
            history = fold.history()
            for name in history.columns[1:]:
                points = history.select("step", name).drop_nulls()
                curve = _curve_name(name)
                chosen = np.linspace(0, len(points) - 1, min(CURVE_POINTS, len(points))).round().astype(int)
                for training_step, value in points[chosen].iter_rows():
                    yield f"fold{step}{suffix}", {curve: value}, training_step, None


def _curve_name(column: str) -> str:
    """Return the name of a training curve. Criteria of the selection get the prefix `selection_` instead of `vali_`.

    Their convention can differ from that of the means of the validation part, whose names begin with `vali`.
    """
    measure = column.removeprefix("vali_")
    return f"selection_{measure}" if measure != column and re.fullmatch(CRITERION, measure) else column
