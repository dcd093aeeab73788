"""The data model of a study: its inputs, and the sections, tables and figures of its page.

A study recreates one publication or answers one question, and compares every published number with our own. Each study
is a folder or a file in the folder studies/ of a project, or in a package that is registered as an entry point. The
contents of the folder are described in gradrank.bench.config.studies. The command `gradrank study NAME`, the workflow
target and the report find a study by its name, so a new study needs no other edit. The settings of a study are in
studies/NAME/study.yaml.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues, mean_over_seeds, seeds_of
from gradrank.bench.report.tables.table import Table
from gradrank.bench.results import MethodFolder, Results, StudyFolder
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import Convention


@dataclass(frozen=True)
class Figure:
    """A drawing as inline SVG, its content in words (`alt`), and the table of the plotted values."""

    id: str
    title: str
    svg: str
    alt: str
    table: Table
    note: str = ""


@dataclass(frozen=True)
class PageSection:
    """A section of a page: paragraphs, then tables and figures in reading order. Backquotes mark code in paragraphs."""

    id: str
    title: str
    paragraphs: Sequence[str]
    content: Sequence[Table | Figure] = ()


@dataclass(frozen=True)
class Inputs:
    """The inputs of a study: finished results of the workflow, and the settings of the study.

    results: folder of the results. data: folder of the stored collections (data/parquet). folder: folder of the study
    (results/studies/<name>); it contains the results of the study's own jobs (gradrank.bench.parts). settings: the
    resolved settings. Their keys are `datasets`, `models`, and the keys that the study defines.
    """

    results: Path
    data: Path
    folder: Path
    settings: Mapping[str, Any]

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets of the study."""
        return list(self.settings.get("datasets", ()))

    @property
    def models(self) -> list[str]:
        """Names of the models and variants of the study, which are folders of results/<dataset>."""
        return list(self.settings.get("models", ()))

    def jobs(self) -> list[dict[str, Any]]:
        """Return the results of the study's own jobs, in the order of the job names."""
        return StudyFolder(self.folder).jobs()

    def measure(
        self, dataset: str, model: str, metrics: Sequence[str], convention: str | Convention, split: str = "test"
    ) -> QueryValues:
        """Return per-query values of metrics, computed from the stored scores of every fold and seed.

        No model is trained again. With several seeds, the value of a query is the mean over seeds. split: `train`,
        `vali` or `test`. Raises GradrankError if a fold is missing or its scores do not match the data.
        """
        from gradrank.measures.judgements import read_judgements
        from gradrank.measures.metrics import compute
        from gradrank.measures.score_files import read_scores

        stored, method = StoredCollection.open(self.data / dataset), self.method(dataset, model)
        parts = [read_judgements(stored, own[split]) for own in stored.folds]

        def measured(seed: int | None) -> dict[str, np.ndarray]:
            folds = [method.fold(number, seed) for number in range(1, len(parts) + 1)]
            for fold in folds:
                fold.check(fold.scores_path)
            values = [
                compute(
                    metrics,
                    read_scores(fold.scores_path, part, split),
                    part.labels,
                    part.offsets,
                    convention,
                    ids=part.docids,
                )
                for fold, part in zip(folds, parts, strict=True)
            ]
            return {metric: np.concatenate([fold_values[metric] for fold_values in values]) for metric in metrics}

        folds = np.repeat(np.arange(1, len(parts) + 1), [len(judged.qids) for judged in parts])
        qids = np.concatenate([judged.ids for judged in parts])
        return mean_over_seeds(folds, qids, [measured(seed) for seed in (None, *seeds_of(method)[1:])])

    def method(self, dataset: str, model: str) -> MethodFolder:
        """Return the results folder of a model or variant on a data set."""
        return Results(self.results).dataset(dataset).method(model)

    def params(self, dataset: str, model: str) -> dict[str, Any]:
        """Return the parameters that a model or variant was trained with.

        The key `model` has the registered name of the model.
        """
        spec = self.method(dataset, model).fold(1).spec()
        return spec["params"] | {"model": spec["model"]}

    def variants_of(self, dataset: str, base: str, name: str) -> list[tuple[Any, str]]:
        """Return (value, model) for `base` and for each model of this study that differs only in parameter `name`.

        name: the name of the parameter. value: the value of the parameter in that model. The list is sorted by value.
        """
        params = {model: self.params(dataset, model) for model in {base, *self.models}}
        same = {key: value for key, value in params[base].items() if key != name}
        return sorted(
            (values[name], model)
            for model, values in params.items()
            if {key: value for key, value in values.items() if key != name} == same
        )
