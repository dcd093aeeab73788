"""A method as it lies in results/, checked: what one run of MLflow, with those of its seeds, is to hold."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gradrank.errors import GradrankError
from gradrank.evaluation.seeds import folds_by_seed, measured_folds
from gradrank.files import sha256
from gradrank.pipeline.mlflow_parents import digest
from gradrank.results import PER_QUERY, SPEC, Fold, Method


@dataclass(frozen=True)
class Result:
    """A method as it lies in results/. specs: of fold 1, 2, ..., of each seed where there are several.

    folds: of each seed in the order in which they were measured.
    """

    method: Method
    convention: str
    specs: tuple[dict[str, Any], ...]
    folds: tuple[list[Fold], ...]

    @cached_property
    def spec_sha256(self) -> str:
        return digest(self.specs)

    @cached_property
    def key(self) -> str:
        """Equal for equal results of one name: how each fold was trained and what each query got."""
        measured = sha256(self.method.per_query_path)
        return digest([self.method.name, self.spec_sha256, measured, self.convention])


def read_result(method: Method, convention: str) -> Result:
    """Raises GradrankError unless every fold is there, trained like the others and evaluated."""
    import polars as pl

    folder, model, dataset = method.folder, method.name, method.dataset
    if not method.evaluated:
        raise GradrankError(f"{folder}: no {PER_QUERY}; train and evaluate {model} on {dataset} first")
    if convention not in pl.read_parquet(method.per_query_path, columns=["convention"])["convention"]:
        raise GradrankError(f"{folder}: not evaluated under convention {convention!r}; evaluate it again")
    by_seed = tuple(folds_by_seed(method).values())
    specs = [fold.spec() for fold in measured_folds(method)]
    for folds in by_seed or [[]]:
        numbers = [fold.number for fold in folds]
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise GradrankError(f"{folder}: has folds {numbers}; train the missing ones first")
    for name in ("params", "data_sha256", "features", *(["seed"] if len(by_seed) == 1 else [])):
        if any(spec[name] != specs[0][name] for spec in specs):
            raise GradrankError(f"{folder}: its folds differ in {name!r} ({SPEC}); train them again")
    return Result(method, convention, tuple(specs), by_seed)
