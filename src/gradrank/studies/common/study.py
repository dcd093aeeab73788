"""What a study is: one publication re-created, every published number beside ours.

A study is a folder of `gradrank/studies/`, found by its name; `gradrank.config.studies` says what lies in it.
Nothing else names it: the command `gradrank study NAME`, the target of that name and its page in the report find it by
themselves. What it needs stands in params.yaml, `studies.NAME`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.results import MethodFolder, Results, StudyFolder
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.conventions import Convention
from gradrank.evaluation.per_query import QueryValues, of_seeds
from gradrank.evaluation.seeds import seeds_of
from gradrank.report.tables.table import Table


@dataclass(frozen=True)
class Figure:
    """A drawing as inline SVG, what it shows in words, and the table of what is drawn."""

    id: str
    title: str
    svg: str
    alt: str
    table: Table
    note: str = ""


@dataclass(frozen=True)
class PageSection:
    """Paragraphs (with `code` in backquotes), then tables and figures in reading order."""

    id: str
    title: str
    paragraphs: Sequence[str]
    content: Sequence[Table | Figure] = ()


@dataclass(frozen=True)
class Inputs:
    """What a study is made from: finished results, and what params.yaml says of it.

    results, data: as everywhere, results/ and data/parquet/. folder: results/studies/<name>; jobs of its own leave
    their files in `jobs/` there. settings: `studies.<name>` of params.yaml, resolved: `datasets`, `models`, and
    keys of its own.
    """

    results: Path
    data: Path
    folder: Path
    settings: Mapping[str, Any]

    @property
    def datasets(self) -> list[str]:
        return list(self.settings.get("datasets", ()))

    @property
    def models(self) -> list[str]:
        """Models and variants: the folders of results/<dataset>."""
        return list(self.settings.get("models", ()))

    def jobs(self) -> list[dict[str, Any]]:
        """What each of the study's own jobs found, in the order of their names."""
        return StudyFolder(self.folder).jobs()

    def measure(
        self, dataset: str, model: str, metrics: Sequence[str], convention: str | Convention, split: str = "test"
    ) -> QueryValues:
        """Any metric under any convention, from the stored scores of every fold and seed; nothing is retrained.

        split: `train`, `vali` or `test`. Raises GradrankError where a fold is missing or its scores do not fit.
        """
        from gradrank.evaluation.judgements import read_judgements
        from gradrank.evaluation.metrics import compute
        from gradrank.evaluation.score_files import read_scores

        stored, method = StoredCollection.open(self.data / dataset), self.method(dataset, model)
        parts = [read_judgements(stored, own[split]) for own in stored.folds]

        def measured(seed: int | None) -> dict[str, np.ndarray]:
            folds = [method.fold(number, seed) for number in range(1, len(parts) + 1)]
            for fold in folds:
                fold.check(fold.scores_path)
            values = [
                compute(
                    metrics,
                    read_scores(fold.scores_path, judged, split),
                    judged.labels,
                    judged.offsets,
                    convention,
                    ids=judged.docids,
                )
                for fold, judged in zip(folds, parts, strict=True)
            ]
            return {metric: np.concatenate([own[metric] for own in values]) for metric in metrics}

        folds = np.repeat(np.arange(1, len(parts) + 1), [len(judged.qids) for judged in parts])
        qids = np.concatenate([judged.ids for judged in parts])
        return of_seeds(folds, qids, [measured(seed) for seed in (None, *seeds_of(method)[1:])])

    def method(self, dataset: str, model: str) -> MethodFolder:
        return Results(self.results).dataset(dataset).method(model)

    def params(self, dataset: str, model: str) -> dict[str, Any]:
        """The parameters a model or variant was trained with, and its registered name as `model`."""
        spec = self.method(dataset, model).fold(1).spec()
        return spec["params"] | {"model": spec["model"]}

    def around(self, dataset: str, base: str, name: str) -> list[tuple[Any, str]]:
        """(value, model) of `base` and of this study's models that differ from it in parameter `name` alone."""
        params = {model: self.params(dataset, model) for model in {base, *self.models}}
        same = {key: value for key, value in params[base].items() if key != name}
        return sorted(
            (values[name], model)
            for model, values in params.items()
            if {key: value for key, value in values.items() if key != name} == same
        )
