"""The files of the workflow and the options of its commands, computed from params.yaml.

Snakemake calls these methods for each of thousands of jobs, so the methods that read the settings are cached. Paths are
strings relative to the working folder, as in Snakemake. Stamps are the checksum files of folders (base/stamps.py).
"""

import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from itertools import product
from typing import Any

from gradrank.base.errors import GradrankError, exit_with_message
from gradrank.base.extras import missing
from gradrank.base.files import sha256
from gradrank.bench.config.datasets import OwnDataParams, SyntheticParams
from gradrank.bench.config.params import RunSettings
from gradrank.bench.folds.score_file_pattern import score_files
from gradrank.bench.provenance.code import job_code, page_code, training_code
from gradrank.bench.provenance.settings import dataset_settings, short_digest, study_settings
from gradrank.bench.provenance.study_records import study_code
from gradrank.bench.tracking.store import PACKAGES
from gradrank.data.layout import Layout, find_layout
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.conventions import CONVENTIONS

METHOD = r"[\w.@+=-]+"  # the pattern of a method's folder
FOLD = r"\d+(/seed\d+)?"  # the pattern of a fold, such as `1`, or `1/seed2` for a further seed
FOLD_FILES = ("spec.json", "scores.parquet", "history.parquet", "model")
SUMMARY_FILES = ("summary.json", "summary.md", "queries.parquet", "tables", "provenance.json")
STUDY_FILES = ("page.json", "page.md", "numbers.json", "tables", "provenance.json")


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _option(name: str, value: Any) -> str:
    """Return an option of a command. The option of a Boolean is --name or --no-name."""
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {shlex.quote(str(value))}"


class Plan:
    """The files and options of the workflow for the checked settings of one params.yaml.

    The parameter `model` of the methods is the name of a model, of a variant, or of imported scores. `fold` is a string
    that matches FOLD. `study` is the name of a study or of its reduced form.
    """

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.datasets = settings.dataset_names()
        self.studies = [name for name in settings.studies if "/" not in name]
        self.reduced_studies = [name for name in settings.studies if "/" in name]
        self.imported = [name for name in settings.models if settings.imported(name)]
        sections = settings.datasets.items()
        self.own_data = {name: section for name, section in sections if isinstance(section, OwnDataParams)}
        self.synthetic = {name: section for name, section in sections if isinstance(section, SyntheticParams)}
        self.models = cache(settings.model_names)
        self.seeds_of = cache(settings.seeds_of)
        self.members = cache(settings.members)
        self.study_jobs = cache(settings.study_jobs)
        self.layout = cache(self._layout)  # with a column of folds, the layout reads the whole file
        self.folds = cache(self._folds)
        self.training_code = cache(self._training_code)
        self.training_options = cache(self._training_options)

    # Data sets

    def own_path(self, dataset: str) -> str | None:
        """Return the folder or file of a user's own data set; None for a data set of the catalogue."""
        return str(self.own_data[dataset].path) if dataset in self.own_data else None

    @exit_with_message()
    def _folds(self, dataset: str) -> range:
        """Return the numbers of the folds, from the catalogue or from the layout of a user's own data."""
        return range(1, 1 + (self.layout(dataset).folds if dataset in self.own_data else catalogue()[dataset].folds))

    def _layout(self, dataset: str) -> Layout:
        """Return the layout of a user's own data set."""
        own = self.own_data[dataset]
        return find_layout(own.path, own.fold_options)

    @exit_with_message()
    def text_files(self, dataset: str) -> list[str]:
        """Return the inputs of parsing: a user's own files, or else the stamp of the fetched or generated text."""
        own = dataset in self.own_data
        return list(map(str, self.layout(dataset).files)) if own else [f"data/raw/{dataset}/fetched.json"]

    def own_files(self, dataset: str) -> list[str]:
        """Return the files of a user's own data set; empty for a data set of the catalogue."""
        return self.text_files(dataset) if self.own_path(dataset) else []

    def content_digest(self, files: Iterable[str]) -> str:
        """Return a digest of a user's files. Snakemake alone would not notice if an older file replaced one of them."""
        return short_digest([sha256(file) for file in files])

    def stored_stamps(self, dataset: str) -> list[str]:
        """Return the stamps of the stored rows and of the stored pairs of a data set."""
        return [f"data/parquet/{dataset}/collection.json", f"data/pairs/{dataset}/pairs.json"]

    def generator_options(self, dataset: str) -> str:
        """Return the generator and the options of `gradrank generate` for an artificial data set."""
        size = self.synthetic[dataset]
        return f"{catalogue()[dataset].generator} --queries {size.queries} --documents {size.documents}"

    def parse_options(self, dataset: str) -> str:
        """Return the options of `gradrank parse` for the text or the tables of a data set."""
        options = (self.own_data.get(dataset) or catalogue()[dataset]).parse_options()
        return " ".join(
            _option(name, item)
            for name, value in options.items()
            for item in (value if isinstance(value, tuple) else [value])
            if item is not None
        )

    def given_pairs(self, dataset: str) -> list[str]:
        """Return the path of the file with the user's own pairs as a list; empty if params.yaml has no such path."""
        path = getattr(self.settings.datasets.get(dataset), "pairs", None)
        return [] if path is None else [str(path)]

    def pairs_options(self, dataset: str) -> str:
        given = self.given_pairs(dataset)
        return f"--given {shlex.quote(given[0])}" if given else f"--ties {self.settings.pairs.ties}"

    # Training and evaluation

    def convention_definition(self, dataset: str) -> str:
        """Return the choices of the primary convention of a data set, as JSON, without its name and description."""
        choices = asdict(CONVENTIONS[self.settings.convention(dataset)])
        return as_json({key: value for key, value in choices.items() if key not in ("name", "summary")})

    def fold_folder(self, number: int, seed: int) -> str:
        """Return the folder of a fold, relative to the folder of its method.

        It is fold<k> for the first seed and fold<k>/seed<s> for a further seed.
        """
        return f"fold{number}" if seed == self.settings.first_seed else f"fold{number}/seed{seed}"

    def fold_and_seed(self, fold: str) -> tuple[int, int]:
        """Return the number and the seed of a fold: (1, first seed) for "1", and (1, 2) for "1/seed2"."""
        number, _, further = fold.partition("/")
        return int(number), int(further.removeprefix("seed") or self.settings.first_seed)

    def training_inputs(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return the inputs of training in addition to the rows.

        They are the pairs, and the scores of the members: the methods whose scores the model combines.
        """
        number, seed = self.fold_and_seed(fold)
        inputs = self.stored_stamps(dataset)[1:] if self._needs_pairs(model) else []
        first = self.settings.first_seed
        for member in self.members(model):
            # A job of a further seed compares the member's results for that seed with its results for the first seed.
            seeds = [first, seed] if seed != first and seed in self.seeds_of(member, dataset) else [first]
            folders = [self.fold_folder(number, member_seed) for member_seed in seeds]
            inputs += (f"results/{dataset}/{member}/{folder}/scores.parquet" for folder in folders)
        return inputs

    def _training_options(self, dataset: str, model: str) -> str:
        pairs = f" --pairs data/pairs/{dataset}" if self._needs_pairs(model) else ""
        members = f" --members results/{dataset}" if self.members(model) else ""
        return f"{self.model_options(model)}{pairs}{members}"

    def _needs_pairs(self, model: str) -> bool:
        return not self.settings.imported(model) and self.settings.model(model).needs_pairs

    def _training_code(self, model: str) -> str:
        return training_code(self.settings.models[model].model, self.settings.models[model].params)

    def model_options(self, name: str) -> str:
        """Return the options for a method's registered model and its parameters."""
        variant = self.settings.models[name]
        return f"--model {variant.model} --params {shlex.quote(as_json(variant.params))}"

    def group(self, dataset: str, model: str, fold: str | None = None) -> str:
        """Return the name of the cluster job in which a training job or the evaluation runs.

        One cluster job trains all folds of one seed. It also evaluates the method if there is only one seed. fold: None
        for the evaluation.
        """
        if len(self.seeds_of(model, dataset)) == 1:
            return f"{dataset}.{model}"
        return f"{dataset}.{model}.{'evaluation' if fold is None else f'seed{self.fold_and_seed(fold)[1]}'}"

    def score_pattern(self, model: str) -> str:
        """Return the pattern of the score files of imported scores, as in params.yaml."""
        return self.settings.models[model].params["scores"]

    def score_files(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return the score files of one fold of imported scores."""
        return list(map(str, score_files(self.score_pattern(model), dataset, int(fold)).values()))

    def fold_files(self, dataset: str, model: str, names: Iterable[str]) -> list[str]:
        """Return the files with these names, for every seed and fold of a method."""
        trained = product(self.seeds_of(model, dataset), self.folds(dataset))
        folders = [self.fold_folder(fold, seed) for seed, fold in trained]
        return [f"results/{dataset}/{model}/{folder}/{name}" for folder in folders for name in names]

    def further_seeds_option(self, dataset: str, model: str) -> str:
        further = ",".join(map(str, self.seeds_of(model, dataset)[1:]))
        return f"--further-seeds {further}" if further else ""

    def evaluations(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """Return the paths of evaluation.json for the given methods of a data set.

        models: by default, all methods of the data set and the methods whose scores they combine.
        """
        names = self.with_members(self.models(dataset)) if models is None else models
        return [f"results/{dataset}/{model}/evaluation.json" for model in names]

    def with_members(self, models: Iterable[str]) -> list[str]:
        """Return the given methods, then the methods that are trained only because these combine their scores."""
        return [*models, *self.settings.additional_members(models)]

    def explained_files(self, dataset: str) -> list[str]:
        """Return the stamp and the model of every fold of the first seed, for the methods of a data set."""
        folds = [
            f"results/{dataset}/{model}/fold{fold}" for model in self.models(dataset) for fold in self.folds(dataset)
        ]
        return [f"{folder}/{name}" for folder in folds for name in ("spec.json", "model")]

    def explanations(self, datasets: Iterable[str]) -> list[str]:
        """Return the path of explanations.json for each data set; empty if `run.explanations` is false."""
        return [f"results/{dataset}/explanations.json" for dataset in datasets if self.settings.run.explanations]

    def member_notes(self) -> list[str]:
        """Return one line per data set of the run with the methods that are trained although they are not chosen."""
        added = {name: self.settings.additional_members(self.models(name)) for name in self.settings.run.datasets}
        return [
            f"{dataset}: also trained as members of a fusion, and not listed as results: {', '.join(members)}"
            for dataset, members in added.items()
            if members
        ]

    # Targets. Snakemake does not rebuild a missing input of an existing file, so a target requests all such inputs.

    def method_files(self, dataset: str, models: Iterable[str]) -> Iterator[str]:
        """Yield every file that these methods and their members need, from the stored data to the values per query."""
        if names := self.with_members(models):
            yield from self.stored_stamps(dataset)
        for model in names:
            yield from self.fold_files(dataset, model, FOLD_FILES)
        yield from self.evaluations(dataset, names)
        yield from (f"results/{dataset}/{model}/per_query.parquet" for model in names)

    def dataset_files(self, dataset: str) -> list[str]:
        """Return every file of a data set, from the stored data to its provenance.json."""
        files = self.method_files(dataset, self.models(dataset))
        summary = (f"results/{dataset}/{name}" for name in SUMMARY_FILES)
        return [*files, *summary, *self.explanations([dataset])]

    def study_files(self, study: str) -> list[str]:
        """Return every file of a study, including its provenance.json, and every file of the methods on its page."""
        own, shown = self.settings.studies[study], self.settings.shown_methods(study)
        files = [f"results/studies/{study}/{name}" for name in STUDY_FILES]
        files += self.job_files(study)
        for dataset in own.datasets:
            files += self.method_files(dataset, shown) if own.shows_trainings else self.stored_stamps(dataset)
        return files

    def job_files(self, study: str, dataset: str | None = None) -> list[str]:
        """Return the result files of the study's own jobs. dataset: the data set of the jobs; by default, all jobs."""
        jobs = self.study_jobs(study).items()
        chosen = [job for job, settings in jobs if dataset in (None, settings.get("dataset"))]
        return [f"results/studies/{study}/jobs/{job}.json" for job in chosen]

    def job_datasets(self, study: str) -> list[str]:
        """Return the sorted data sets that the study's own jobs read."""
        return sorted({job["dataset"] for job in self.study_jobs(study).values() if "dataset" in job})

    def job_inputs(self, study: str, job: str) -> list[str]:
        """Return the stamps of the collection and of the pairs that a study's job reads; empty if it reads none."""
        settings = self.study_jobs(study)[job]
        stamps = self.stored_stamps(settings["dataset"]) if "dataset" in settings else []
        return stamps if settings.get("pairs") else stamps[:1]

    def job_code(self, study: str, job: str) -> str:
        return job_code(study.partition("/")[0], self.study_jobs(study)[job])

    def job_settings(self, study: str, job: str) -> str:
        return as_json(self.study_jobs(study)[job])

    def page_code(self, study: str) -> str:
        return page_code(self.settings, study)

    def study_evaluations(self, study: str) -> list[str]:
        """Return the path of evaluation.json for each method on a study's page, or of the data if it shows none."""
        own, shown = self.settings.studies[study], self.settings.shown_methods(study)
        if not own.shows_trainings:
            return [self.stored_stamps(dataset)[0] for dataset in own.datasets]
        return [file for dataset in own.datasets for file in self.evaluations(dataset, shown)]

    def run_records(self) -> list[str]:
        """Return the path of provenance.json for each data set in `run.datasets` and for each reduced study."""
        scopes = [*self.settings.run.datasets, *(f"studies/{study}" for study in self.reduced_studies)]
        return [f"results/{scope}/provenance.json" for scope in scopes]

    def run_files(self) -> list[str]:
        """Return every file that plain `snakemake` makes for its data sets and its reduced studies."""
        files = [file for dataset in self.settings.run.datasets for file in self.dataset_files(dataset)]
        return files + [file for study in self.reduced_studies for file in self.study_files(study)]

    @exit_with_message()
    def tracked_file(self, folder: str) -> list[str]:
        """Return the path of tracked.json in a folder of results as a list; empty if `track` is false."""
        if not self.settings.track:
            return []
        if absent := missing(PACKAGES):
            raise GradrankError(
                f"the import into MLflow needs {', '.join(absent)}, which is not installed. "
                "Fix: pip install 'gradrank[track]', or write `track: false` in params.yaml"
            )
        return [f"{folder}/tracked.json"]

    # Values for commands, as JSON

    def dataset_settings(self, dataset: str) -> str:
        return as_json(dataset_settings(self.settings, dataset))

    def study_settings(self, study: str) -> str:
        return as_json(study_settings(self.settings, study))

    def study_code(self, study: str) -> str:
        return as_json(study_code(self.settings, study))

    def tracked_datasets(self, datasets: Iterable[str]) -> str:
        """Return a JSON object from data set to names of methods, for `gradrank track`."""
        return as_json({dataset: self.models(dataset) for dataset in datasets})

    def tracked_studies(self, studies: Iterable[str]) -> str:
        """Return a JSON object from study to its settings, for `gradrank track`."""
        return as_json({name: self.settings.tracked_settings(name) for name in studies})
