"""Everything that the report shows, read from results/ and data/parquet/ once."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gradrank.data.catalogue import catalogue
from gradrank.errors import GradrankError
from gradrank.evaluation.per_query import read_test_queries
from gradrank.files import read_json
from gradrank.report.tables.summary_tables import means, read_tables
from gradrank.report.tables.table import Row
from gradrank.studies.kit.study import FOLDER
from gradrank.studies.kit.writing import read_pages

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Fold:
    """What one training job left; `history` holds its columns, `step` among them, empty without any step."""

    number: int
    history: dict[str, list[float | None]]
    timing: dict[str, float]
    spec: dict[str, Any]


@dataclass(frozen=True)
class DataSet:
    """One data set's results. `tables` is empty where only the committed summary.json is here.

    queries: (q,) values of the headline metric by model, the queries in one order; empty where they differ.
    """

    name: str
    title: str
    summary: dict[str, dict[str, float | None]]
    tables: dict[str, list[Row]]
    queries: dict[str, "np.ndarray"]
    folds: dict[str, list[Fold]]
    meta: dict[str, Any] | None
    notices: list[str]

    @cached_property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for means in self.summary.values() for metric in means))

    @cached_property
    def headline(self) -> str:
        """The metric of the plots that show one."""
        return headline(self.summary)

    def ranked(self) -> list[str]:
        """Models, best first by the headline metric."""
        return sorted(self.summary, key=lambda model: -(self.summary[model].get(self.headline) or 0.0))


def headline(summary: dict[str, dict[str, float | None]]) -> str:
    """NDCG@10 if it was measured, else the first metric."""
    metrics = next(iter(summary.values()))
    return "ndcg@10" if "ndcg@10" in metrics else next(iter(metrics))


@dataclass(frozen=True)
class Study:
    """What was run: data sets and studies (page.json of each) by name, and the folders that are not finished."""

    convention: str
    datasets: list[DataSet]
    studies: list[dict[str, Any]]
    unfinished: list[str]
    params: str | None
    root: Path


def read_study(results: Path, convention: str, params: Path, data: Path) -> Study:
    """Read every results/<dataset>/ with a summary.json. Raises GradrankError where there is none."""
    inside = results.iterdir() if results.is_dir() else []
    folders = sorted(path for path in inside if path.is_dir() and path.name != FOLDER)
    finished = [folder for folder in folders if (folder / "summary.json").is_file()]
    if not finished:
        raise GradrankError(f"{results}: no data set with a summary.json; run `snakemake --cores 2` first")
    text = params.read_text(encoding="utf-8") if params.is_file() else None
    titles = _titles(text)
    pages = read_pages(results)
    on_pages = {model for page in pages for model in page.get("models", ())}
    return Study(
        convention=convention,
        datasets=[
            _read_dataset(folder, titles.get(folder.name, folder.name), convention, data, on_pages)
            for folder in finished
        ],
        studies=pages,
        unfinished=[f.name for f in folders if f not in finished and any(f.glob("*/fold*"))],
        params=text,
        root=results.resolve().parent,
    )


def _titles(params: str | None) -> dict[str, str]:
    """What a data set is called: in the catalogue, or by the user in params.yaml."""
    own = (yaml.safe_load(params or "") or {}).get("datasets") or {}
    titles = {name: entry.title for name, entry in catalogue().items()}
    return titles | {name: values["title"] for name, values in own.items() if (values or {}).get("title")}


def _read_dataset(folder: Path, title: str, convention: str, data: Path, on_pages: set[str]) -> DataSet:
    """on_pages: models, beside those of the summary, that a study's page is about."""
    summary = _json(folder / "summary.json")
    tables, notices = {}, []
    if (folder / "tables" / "main.csv").is_file():
        tables = read_tables(folder / "tables")
        if means(tables["main"], convention) != summary:
            notices.append(
                f"summary.json and the tables differ under {convention}: they are of different runs or "
                f"conventions. Run `snakemake {folder.name}` again."
            )
    else:
        notices.append(
            "Only the committed means are here. Intervals, plots and tests need the per-query values: run "
            f"`snakemake {folder.name}`."
        )
    others = sorted(path.parent.name for path in folder.glob("*/per_query.parquet"))
    if left := [model for model in others if model not in summary and model not in on_pages]:
        notices.append(f"Evaluated, but not part of this summary: {', '.join(left)}.")
    meta = data / f"{folder.name}.json"
    return DataSet(
        name=folder.name,
        title=title,
        summary=summary,
        tables=tables,
        queries=_read_queries(folder, summary, convention) if tables else {},
        folds={model: _read_folds(folder / model) for model in summary} if tables else {},
        meta=_json(meta) if meta.is_file() else None,
        notices=notices,
    )


def _read_queries(folder: Path, summary: dict[str, Any], convention: str) -> dict[str, "np.ndarray"]:
    """Values of the headline metric under `convention`; none where files are missing or of other queries."""
    metric = headline(summary)
    paths = {model: folder / model / "per_query.parquet" for model in summary}
    if not all(path.is_file() for path in paths.values()):
        return {}
    measured = {model: read_test_queries(path, [metric]).get(convention) for model, path in paths.items()}
    first = next(iter(measured.values()))
    if first is None or not all(each and each.same_queries(first) for each in measured.values()):
        return {}
    return {model: each.values[metric] for model, each in measured.items()}


def _read_folds(folder: Path) -> list[Fold]:
    """The finished folds (spec.json is written last), in numerical order."""
    import polars as pl

    folds = []
    for spec in folder.glob("fold*/spec.json"):
        history = spec.with_name("history.parquet")
        timing = spec.with_name("timing.json")
        folds.append(
            Fold(
                number=int(spec.parent.name.removeprefix("fold")),
                history=pl.read_parquet(history).to_dict(as_series=False) if history.is_file() else {},
                timing=_json(timing) if timing.is_file() else {},
                spec=_json(spec),
            )
        )
    return sorted(folds, key=lambda fold: fold.number)


def _json(path: Path) -> Any:
    try:
        return read_json(path)
    except json.JSONDecodeError as error:
        raise GradrankError(f"{path}: not JSON ({error}); delete it and run again") from None
