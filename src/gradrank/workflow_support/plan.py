"""The files that a workflow makes and the options of its commands, computed from params.yaml.

Snakemake asks each method for every one of thousands of jobs, so the ones that read params are cached. Paths are text
from the working folder, as Snakemake has them.
"""

import json
import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from gradrank.base.files import sha256
from gradrank.config.params import RunSettings
from gradrank.data.layout import find_layout
from gradrank.data.sources.catalogue import catalogue
from gradrank.evaluation.score_file_pattern import score_files
from gradrank.provenance.code import job_code, page_code, training_code
from gradrank.provenance.settings import dataset_settings, short_digest, study_settings
from gradrank.provenance.study_records import study_code

METHOD = r"[\w.@+=-]+"  # the pattern of a method's folder
FOLD = r"\d+(/seed\d+)?"  # the pattern of a fold's number, with the folder of a further seed inside it
FOLD_FILES = ("spec.json", "scores.parquet", "history.parquet", "model")
SUMMARY_FILES = ("summary.json", "summary.md", "queries.parquet", "tables", "provenance.json")
STUDY_FILES = ("page.json", "page.md", "numbers.json", "tables", "provenance.json")


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


class Plan:
    """The workflow of one params.yaml. params: checked."""

    def __init__(self, params: RunSettings) -> None:
        self.params = params
        self.datasets = params.dataset_names()
        self.studies = [name for name in params.studies if "/" not in name]
        self.reduced_studies = [name for name in params.studies if "/" in name]
        self.imported = [name for name in params.models if params.imported(name)]
        self.models = cache(params.model_names)
        self.seeds_of = cache(params.seeds_of)
        self.members = cache(params.members)
        self.study_jobs = cache(params.study_jobs)
        self.folds = cache(self._folds)
        self.training_code = cache(self._training_code)
        self.training_options = cache(self._training_options)

    # Data sets

    def own_path(self, dataset: str) -> str | None:
        """Return the folder or file of a user's own data set, else None."""
        path = getattr(self.params.datasets.get(dataset), "path", None)
        return None if path is None else str(path)

    def _folds(self, dataset: str) -> range:
        """Return the fold numbers: the catalogue's count, or what the user's folder shows."""
        path = self.own_path(dataset)
        return range(1, 1 + (len(find_layout(path).folds) if path else catalogue()[dataset].folds))

    def text(self, dataset: str) -> list[str]:
        """Return the files that parsing reads: the user's own, or the stamp of the fetched or generated text."""
        path = self.own_path(dataset)
        return list(map(str, find_layout(path).files)) if path else [f"data/raw/{dataset}/fetched.json"]

    def content(self, files: Iterable[str]) -> str:
        """Return a digest of the user's own files: Snakemake does not notice one replaced by an older file."""
        return short_digest([sha256(file) for file in files])

    def own_text(self, dataset: str) -> list[str]:
        return self.text(dataset) if self.own_path(dataset) else []

    def stored(self, dataset: str) -> list[str]:
        """Return the stamps of a data set's rows and pairs, which stand for their files."""
        return [f"data/parquet/{dataset}/collection.json", f"data/pairs/{dataset}/pairs.json"]

    def generator_options(self, dataset: str) -> str:
        size = self.params.datasets[dataset]
        return f"{catalogue()[dataset].generator} --queries {size.queries} --documents {size.documents}"

    def parse_options(self, dataset: str) -> str:
        """Return the options of `gradrank parse` that say how to read the text or the tables of a data set."""
        if self.own_path(dataset):
            options = self.params.datasets[dataset].parse_options()
        else:
            entry = catalogue()[dataset]
            options = {"features": entry.features if entry.sparse else None}
        return " ".join(
            f"--{name} {shlex.quote(str(each))}"
            for name, value in options.items()
            for each in (value if isinstance(value, tuple) else [value])
            if each is not None
        )

    def given_pairs(self, dataset: str) -> list[str]:
        """Return the file with the user's own pairs, if there is one."""
        path = getattr(self.params.datasets.get(dataset), "pairs", None)
        return [] if path is None else [str(path)]

    def pairs_options(self, dataset: str) -> str:
        given = self.given_pairs(dataset)
        return f"--given {shlex.quote(given[0])}" if given else f"--ties {self.params.pairs.ties}"

    # Training and evaluation

    def fold(self, number: int, seed: int) -> str:
        """Return the folder of a fold within its method's: that of a further seed lies inside the first seed's."""
        return f"fold{number}" if seed == self.params.seeds[0] else f"fold{number}/seed{seed}"

    def fold_and_seed(self, fold: str) -> tuple[int, int]:
        """Return the number and the seed of a fold from what matched FOLD: "1" or "1/seed2"."""
        number, _, further = fold.partition("/")
        return int(number), int(further.removeprefix("seed") or self.params.seeds[0])

    def training_inputs(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return what a model needs besides its data: the pairs, other models' scores of the same fold and seed."""
        number, seed = self.fold_and_seed(fold)
        found = self.stored(dataset)[1:] if self._needs_pairs(model) else []
        first = self.params.seeds[0]
        for member in self.members(model):
            # A job compares the member's fold of its seed with that of the first seed.
            own = [first, seed] if seed != first and seed in self.seeds_of(member) else [first]
            found += (f"results/{dataset}/{member}/{self.fold(number, each)}/scores.parquet" for each in own)
        return found

    def _training_options(self, dataset: str, model: str) -> str:
        pairs = f" --pairs data/pairs/{dataset}" if self._needs_pairs(model) else ""
        members = f" --members results/{dataset}" if self.members(model) else ""
        return f"{self.model_options(model)}{pairs}{members}"

    def _needs_pairs(self, model: str) -> bool:
        return not self.params.imported(model) and self.params.model(model).needs_pairs

    def _training_code(self, model: str) -> str:
        return training_code(self.params.models[model].model, self.params.models[model].params)

    def model_options(self, name: str) -> str:
        """Return a method's registered model and its parameters as options."""
        variant = self.params.models[name]
        return f"--model {variant.model} --params {shlex.quote(as_json(variant.params))}"

    def group(self, dataset: str, model: str, fold: str | None = None) -> str:
        """Return the name of a cluster job: a method's folds of one seed, or its evaluation."""
        if len(self.seeds_of(model)) == 1:
            return f"{dataset}.{model}"
        return f"{dataset}.{model}.{'evaluation' if fold is None else f'seed{self.fold_and_seed(fold)[1]}'}"

    def import_pattern(self, model: str) -> str:
        return self.params.models[model].params["scores"]

    def import_files(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return the score files that a method imports."""
        return list(map(str, score_files(self.import_pattern(model), dataset, int(fold)).values()))

    def fold_files(self, dataset: str, model: str, names: Iterable[str]) -> list[str]:
        """Return files of these names of every fold and seed of a method."""
        places = [self.fold(fold, seed) for seed in self.seeds_of(model) for fold in self.folds(dataset)]
        return [f"results/{dataset}/{model}/{place}/{name}" for place in places for name in names]

    def further_seeds(self, model: str) -> str:
        further = ",".join(map(str, self.seeds_of(model)[1:]))
        return f"--further-seeds {further}" if further else ""

    def evaluations(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """Return the stamps of the measured methods of a data set."""
        names = self.models(dataset) if models is None else models
        return [f"results/{dataset}/{model}/evaluation.json" for model in names]

    # Targets: Snakemake does not remake a missing file whose consumers exist, so a target asks for every file below it.

    def measured_files(self, dataset: str, models: Iterable[str]) -> Iterator[str]:
        """Yield every file from the stored data to the values per query of these methods and their members."""
        names = list(models)
        for model in names:
            names += (member for member in self.members(model) if member not in names)
        if names:
            yield from self.stored(dataset)
        for model in names:
            yield from self.fold_files(dataset, model, FOLD_FILES)
        yield from self.evaluations(dataset, names)
        yield from (f"results/{dataset}/{model}/per_query.parquet" for model in names)

    def dataset_files(self, dataset: str) -> list[str]:
        """Return every file of a data set's results, up to its record."""
        files = self.measured_files(dataset, self.models(dataset))
        return [*files, *(f"results/{dataset}/{name}" for name in SUMMARY_FILES)]

    def study_files(self, study: str) -> list[str]:
        """Return every file that a study or its reduced form is made of, up to its record."""
        own = self.params.study_settings(study)
        found = [f"results/studies/{study}/{name}" for name in STUDY_FILES]
        found += self.job_files(study)
        for dataset in own.get("datasets", ()):
            found += self.measured_files(dataset, own["models"])
        return found

    def job_files(self, study: str) -> list[str]:
        return [f"results/studies/{study}/jobs/{job}.json" for job in self.study_jobs(study)]

    def job_inputs(self, study: str, job: str) -> list[str]:
        """Return the collection that a study's job reads, if it reads one."""
        told = self.study_jobs(study)[job]
        return self.stored(told["dataset"])[:1] if "dataset" in told else []

    def job_code(self, study: str, job: str) -> str:
        return job_code(study.partition("/")[0], self.study_jobs(study)[job])

    def job_settings(self, study: str, job: str) -> str:
        return as_json(self.study_jobs(study)[job])

    def page_code(self, study: str) -> str:
        return page_code(self.params, study)

    def study_evaluations(self, study: str) -> list[str]:
        """Return the stamps of the measured methods that a study's page is about."""
        own = self.params.study_settings(study)
        return [file for dataset in own.get("datasets", ()) for file in self.evaluations(dataset, own["models"])]

    def run_records(self) -> list[str]:
        """Return the records of the run's data sets and of the reduced studies."""
        scopes = [*self.params.run.datasets, *(f"studies/{study}" for study in self.reduced_studies)]
        return [f"results/{scope}/provenance.json" for scope in scopes]

    def run_files(self) -> list[str]:
        """Return everything that plain `snakemake` makes, without the report and MLflow's runs."""
        found = [file for dataset in self.params.run.datasets for file in self.dataset_files(dataset)]
        return found + [file for study in self.reduced_studies for file in self.study_files(study)]

    # Values for commands

    def dataset_settings(self, dataset: str) -> str:
        return as_json(dataset_settings(self.params, dataset))

    def study_settings(self, study: str) -> str:
        return as_json(study_settings(self.params, study))

    def study_code(self, study: str) -> str:
        return as_json(study_code(self.params, study))

    def tracked_datasets(self, datasets: Iterable[str]) -> str:
        return as_json({dataset: self.models(dataset) for dataset in datasets})

    def tracked_studies(self, studies: Iterable[str]) -> str:
        return as_json({name: self.params.tracked_settings(name) for name in studies})
