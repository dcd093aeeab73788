"""The files of the workflow and the options of its commands, computed from params.yaml.

Snakemake calls these methods for each of thousands of jobs, so the methods that read the settings are cached. Paths are
strings relative to the working folder, as in Snakemake. Stamps are the checksum files of folders (base/stamps.py).

In a tuned study, such as the contest, every method is tuned on every fold of some data sets. The reduced form of a
tuned study is a smaller tuned study.
"""

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError, exit_with_message, missing, require
from gradrank.base.files import sha256
from gradrank.bench.config.datasets import FOLDS_VARIABLE, OwnDataParams, SyntheticParams
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.studies import TunedStudySettings, key_prefix, settings_path
from gradrank.bench.folds.settings import score_files
from gradrank.bench.provenance.records import (
    dataset_settings,
    job_code,
    page_code,
    short_digest,
    study_settings,
    training_code,
    tuning_code,
)
from gradrank.bench.provenance.study_records import study_code
from gradrank.bench.tracking.store import PACKAGES
from gradrank.data.layout import Layout, find_layout
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.conventions import CONVENTIONS
from gradrank.training.spaces import members_parameter

METHOD = r"[\w.@+=-]+"  # the pattern of a method's folder
FOLD = r"\d+(/seed\d+)?"  # the pattern of a fold, such as `1`, or `1/seed2` for a further seed
FOLD_FILES = ("spec.json", "scores.parquet", "history.parquet", "model")
SUMMARY_FILES = ("summary.json", "summary.md", "queries.parquet", "tables", "provenance.json")
STUDY_FILES = ("page.json", "page.md", "numbers.json", "tables", "provenance.json")


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _as_one_name(item: Any) -> Any:
    """Return an item of a list, with a comma within the name of a column enclosed in quotes."""
    return '"' + item.replace('"', '""') + '"' if isinstance(item, str) and "," in item else item


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
        self.convention_definition = cache(self._convention_definition)

    # Data sets

    def own_path(self, dataset: str) -> str | None:
        """Return the folder or file of a user's own data set; None for a data set of the catalogue."""
        return str(self.own_data[dataset].path) if dataset in self.own_data else None

    @exit_with_message()
    def _folds(self, dataset: str) -> range:
        """Return the numbers of the folds, from the catalogue or from the layout of a user's own data.

        FOLDS_VARIABLE has the number of folds of own data that another host reads.
        """
        if dataset not in self.own_data:
            return range(1, 1 + catalogue()[dataset].folds)
        known = json.loads(os.environ.get(FOLDS_VARIABLE, "{}"))
        is_elsewhere = dataset in known and not self.own_data[dataset].path.exists()
        return range(1, 1 + (known[dataset] if is_elsewhere else self.layout(dataset).folds))

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

    def stored_folders(self, dataset: str) -> list[str]:
        """Return the folders of the stored rows and of the stored pairs of a data set."""
        return [f"data/parquet/{dataset}", f"data/pairs/{dataset}"]

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
            for item in (map(_as_one_name, value) if isinstance(value, tuple) else [value])
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

    def _convention_definition(self, dataset: str) -> str:
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

    def training_pairs(self, dataset: str, model: str) -> list[str]:
        """Return the stamp of the pairs as a list; empty if the model does not need pairs."""
        return self.stored_stamps(dataset)[1:] if self._needs_pairs(model) else []

    def member_scores(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return the scores of the members: the methods whose scores the model combines."""
        return [f"{folder}/scores.parquet" for folder in self._member_folders(dataset, model, fold)]

    def training_files(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return the rows, the pairs and the trained members, which the training reads and compares by their stamps."""
        folders = self._member_folders(dataset, model, fold)
        stored = self.stored_folders(dataset)[: 2 if self._needs_pairs(model) else 1]
        return [*stored, *(f"{folder}/{name}" for folder in folders for name in FOLD_FILES)]

    def _member_folders(self, dataset: str, model: str, fold: str) -> list[str]:
        """Return the folder of the same fold of each member, and that of the same seed if the member has it."""
        number, seed = self.fold_and_seed(fold)
        first = self.settings.first_seed
        folders = []
        for member in self.members(model):
            # A job of a further seed compares the member's results for that seed with its results for the first seed.
            seeds = [first, seed] if seed != first and seed in self.seeds_of(member, dataset) else [first]
            folders += (f"results/{dataset}/methods/{member}/{self.fold_folder(number, each)}" for each in seeds)
        return folders

    def gain_option(self, dataset: str) -> str:
        """Return the option for the gains of a data set, with a leading blank; "" without gains of its own."""
        found = self.settings.datasets.get(dataset)
        gain = None if found is None else found.gain
        if gain is None:
            return ""
        return f" --gain {gain if isinstance(gain, str) else ','.join(map(str, gain))}"

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
        return [f"results/{dataset}/methods/{model}/{folder}/{name}" for folder in folders for name in names]

    def further_seeds_option(self, dataset: str, model: str) -> str:
        further = ",".join(map(str, self.seeds_of(model, dataset)[1:]))
        return f"--further-seeds {further}" if further else ""

    def evaluations(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """Return the paths of evaluation.json for the given methods of a data set.

        models: by default, all methods of the data set and the methods whose scores they combine.
        """
        names = self.with_members(self.models(dataset)) if models is None else models
        return [f"results/{dataset}/methods/{model}/evaluation.json" for model in names]

    def with_members(self, models: Iterable[str]) -> list[str]:
        """Return the given methods, then the methods that are trained only because these combine their scores."""
        return [*models, *self.settings.additional_members(models)]

    def explained_files(self, dataset: str) -> list[str]:
        """Return the stamp and the model of every fold of the first seed, for the methods of a data set."""
        folds = product(self.models(dataset), self.folds(dataset))
        folders = [f"results/{dataset}/methods/{model}/fold{fold}" for model, fold in folds]
        return [f"{folder}/{name}" for folder in folders for name in ("spec.json", "model")]

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

    def skip_notes(self) -> list[str]:
        """Return one line per data set of the run with the methods that `skip: true` leaves out."""
        skipped = {name: self.settings.skipped(name) for name in self.settings.run.datasets}
        return [
            f"{dataset}: left out, because they do not accept missing values (`skip: true`): {', '.join(names)}"
            for dataset, names in skipped.items()
            if names
        ]

    # Targets. Snakemake does not rebuild a missing input of an existing file, so a target requests all such inputs.

    def method_files(self, dataset: str, models: Iterable[str]) -> Iterator[str]:
        """Yield every file that these methods and their members need, from the stored data to the values per query."""
        if names := self.with_members(models):
            yield from self.stored_stamps(dataset)
        for model in names:
            yield from self.fold_files(dataset, model, FOLD_FILES)
        yield from self.evaluations(dataset, names)
        yield from (f"results/{dataset}/methods/{model}/per_query.parquet" for model in names)

    def dataset_files(self, dataset: str) -> list[str]:
        """Return every file of a data set, from the stored data to its provenance.json."""
        files = self.method_files(dataset, self.models(dataset))
        summary = (f"results/{dataset}/{name}" for name in SUMMARY_FILES)
        return [*files, *summary, *self.explanations([dataset])]

    def study_files(self, study: str) -> list[str]:
        """Return every file of a study, including its provenance.json, and every file of the methods on its page."""
        files = [f"results/studies/{study}/{name}" for name in STUDY_FILES]
        return [*files, *self.job_files(study), *self._shown_files(study)]

    def _shown_files(self, study: str) -> list[str]:
        """Return every file of the methods that the page of a study shows, or of the data if it shows none."""
        own, shown = self.settings.studies[study], self.settings.shown_methods(study)
        files: list[str] = []
        for dataset in own.datasets:
            files += self.method_files(dataset, shown) if own.shows_trainings else self.stored_stamps(dataset)
        return files

    def page_files(self, study: str) -> list[str]:
        """Return the files that the page of a study reads besides the results of its own jobs."""
        data = {*self.settings.studies[study].datasets, *self.job_datasets(study)}
        return [*self._shown_files(study), *(self.stored_folders(dataset)[0] for dataset in sorted(data))]

    def job_files(self, study: str, dataset: str | None = None) -> list[str]:
        """Return the result files of the study's own jobs. dataset: the data set of the jobs; by default, all jobs."""
        jobs = self.study_jobs(study).items()
        chosen = [job for job, settings in jobs if dataset in (None, settings.get("dataset"))]
        return [f"results/studies/{study}/jobs/{job}.json" for job in chosen]

    def page_jobs(self, study: str) -> list[str]:
        """Return the files with the results of jobs that the page reads: one per job, or the packed file."""
        packs = self.settings.studies[study].packs_jobs
        return [f"results/studies/{study}/jobs.parquet"] if packs else self.job_files(study)

    def job_datasets(self, study: str) -> list[str]:
        """Return the sorted data sets that the study's own jobs read."""
        return sorted({job["dataset"] for job in self.study_jobs(study).values() if "dataset" in job})

    def job_inputs(self, study: str, job: str) -> list[str]:
        """Return the stamps of the collection and of the pairs that a study's job reads; empty if it reads none."""
        settings = self.study_jobs(study)[job]
        stamps = self.stored_stamps(settings["dataset"]) if "dataset" in settings else []
        return stamps if settings.get("pairs") else stamps[:1]

    def job_folders(self, study: str, job: str) -> list[str]:
        """Return the folders of the collection and of the pairs that a study's job reads; empty if it reads none."""
        return [str(Path(stamp).parent) for stamp in self.job_inputs(study, job)]

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


class DescribedSettings:
    """The content of params.yaml and of the settings of studies, as the report shows them.

    written: the settings before they are checked, with the studies under the key `studies`.
    """

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._studies = written.get("studies") or {}
        self._params = {key: value for key, value in written.items() if key != "studies"}

    def digest(self, studies: Iterable[str]) -> str:
        """Return a digest of params.yaml and of the settings of these studies. It ignores comments and formatting."""
        return short_digest([self._params, {name: self._studies.get(name) for name in studies}])


class ContestPlan:
    """The tuned studies of a project and their reduced forms.

    forms: names of the tuned studies and of their reduced forms. frozen: the data sets on which a form tunes nothing;
    the key is the form. The parameter `form` of the methods is one of `forms`.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        studies = plan.settings.studies.items()
        self.settings = {form: study for form, study in studies if isinstance(study, TunedStudySettings)}
        self.forms = list(self.settings)
        self.frozen = {form: set(settings.frozen_datasets()) for form, settings in self.settings.items()}
        self._classes = cache(lambda form, method: self.settings[form].model_class(method))

    @property
    def main_forms(self) -> list[str]:
        """Names of the tuned studies, without their reduced forms."""
        return [form for form in self.forms if "/" not in form]

    def members(self, form: str, method: str) -> list[str]:
        """Return the methods of the contest whose scores `method` combines; empty if it does not combine scores."""
        if not self._combines_scores(form, method):
            return []
        return [name for name in self.settings[form].method_names() if not self._combines_scores(form, name)]

    def with_members(self, form: str, method: str) -> list[str]:
        """Return `method` and the methods whose scores it combines."""
        return [method, *self.members(form, method)]

    def datasets(self, form: str) -> list[str]:
        """Return all data sets of a contest: those on which is tuned, and the frozen ones."""
        return [*self.settings[form].datasets, *self.settings[form].frozen_datasets()]

    def pair_stamps(self, form: str, dataset: str, methods: Iterable[str]) -> list[str]:
        """Return the path of pairs.json as a list; empty if none of the methods needs pairs."""
        needed = any(self._classes(form, name).needs_pairs for name in methods)
        return self.plan.stored_stamps(dataset)[1:] if needed else []

    def pairs_option(self, form: str, dataset: str, methods: Iterable[str]) -> str:
        return f"--pairs data/pairs/{dataset}" if self.pair_stamps(form, dataset, methods) else ""

    def _combines_scores(self, form: str, method: str) -> bool:
        return members_parameter(self._classes(form, method)) is not None

    def _variant_option(self, form: str, dataset: str, method: str) -> list[str]:
        text = self.settings[form].variant_json(method, dataset)
        return [] if text is None else [f"--variant {shlex.quote(text)}"]

    def tune_options(self, form: str, dataset: str, method: str) -> str:
        """Return the options of `gradrank tune`: the number of trials, the methods that are combined, and the variant.

        Raises GradrankError if a package that the method needs is not installed.
        """
        cls = self._classes(form, method)
        require(*cls.requires, extra=cls.extra, needed_by=f"{key_prefix(form)}methods: {method}")
        members = self.members(form, method)
        options = [f"--trials {self.settings[form].trials_of(method)}"]
        options += [f"--among {','.join(members)}"] if members else []
        return " ".join([*options, *self._variant_option(form, dataset, method)])

    def refit_options(self, form: str, dataset: str, method: str) -> str:
        """Return the options of `gradrank refit-choices` for the variant, and for a data set without trials."""
        options = [f"--adopt-from {self.settings[form].datasets[0]}"] if dataset in self.frozen[form] else []
        options += ["--only-choices"] if self.settings[form].refits_only_choices() else []
        return " ".join([*options, *self._variant_option(form, dataset, method)])

    def trials(self, form: str, dataset: str, method: str) -> list[str]:
        """Return the files of the trials of all tuners of a method, on which its choices for a data set depend."""
        settings = self.settings[form]
        tuned = settings.datasets[0] if dataset in self.frozen[form] else dataset
        return self._files(form, "trials", tuned, method)

    def member_values(self, form: str, dataset: str, method: str) -> list[str]:
        """Return the files of the test values of the methods whose scores `method` combines.

        The jobs that write these files also train the members.
        """
        members = self.members(form, method)
        return [file for member in members for file in self._files(form, "values", dataset, member)]

    def all_trials(self, form: str, datasets: Iterable[str] | None = None) -> list[str]:
        """Return the files of the trials of all methods. datasets: by default, all data sets on which is tuned."""
        settings = self.settings[form]
        return [
            file
            for dataset in datasets or settings.datasets
            for method in settings.method_names()
            for file in self.trials(form, dataset, method)
        ]

    def values(self, form: str, datasets: Iterable[str] | None = None) -> list[str]:
        """Return the files with the test values of all methods. datasets: by default, all data sets."""
        settings = self.settings[form]
        return [
            file
            for dataset in datasets or self.datasets(form)
            for method in settings.method_names()
            for file in self._files(form, "values", dataset, method)
        ]

    def divisions(self, form: str) -> list[str]:
        """Return the files with the test values on other divisions of the queries."""
        folder = f"results/studies/{form}/divisions"
        return [f"{folder}/{dataset}/{method}.parquet" for dataset, method in self.settings[form].divided()]

    def member_divisions(self, form: str, dataset: str, method: str) -> list[str]:
        """Return the files with the values on other divisions of the queries of the methods that `method` combines.

        The jobs that write these files also write the scores of the members.
        """
        folder, divided = f"results/studies/{form}/divisions/{dataset}", self.settings[form].divided()
        members = [member for member in self.members(form, method) if (dataset, member) in divided]
        return [f"{folder}/{member}.parquet" for member in members]

    def _files(self, form: str, kind: str, dataset: str, method: str) -> list[str]:
        """Return one file per tuner. kind: `trials` or `values`."""
        folder = f"results/studies/{form}/{kind}/{dataset}/{method}"
        return [f"{folder}/tuner{tuner}.parquet" for tuner in range(1, self.settings[form].tuners_of(method) + 1)]

    def parts(self, form: str, kind: str) -> list[str]:
        """Return the results of all jobs of one kind. kind: `trials`, `values`, `divisions` or `jobs`.

        form: for `jobs`, any study or its reduced form.
        """
        files = {"trials": self.all_trials, "values": self.values, "divisions": self.divisions}
        return (files | {"jobs": self.plan.job_files})[kind](form)

    def page_inputs(self, form: str) -> list[str]:
        """Return the files that the page reads: the choices, and the packed files."""
        kinds = ["trials", "values", *(["divisions"] if self.divisions(form) else [])]
        return [f"results/studies/{form}/{name}" for name in ("choices.json", *map("{}.parquet".format, kinds))]

    def choice_arguments(self, form: str) -> str:
        """Return the arguments of `gradrank choices`: `<method>:<tuners>` for each method."""
        settings = self.settings[form]
        return " ".join(f"{method}:{settings.tuners_of(method)}" for method in settings.method_names())

    def stage_code(self, form: str, stage: str, method: str) -> str:
        """Return the code digest of `tune`, `refit` or `divisions` for a method."""
        return tuning_code(stage, self.settings[form], method)


def with_frozen_datasets(config: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the settings in which the key `contest_datasets` is moved to `frozen` of the contest.

    `snakemake --config contest_datasets=a,b` adds this key. Without the key, nothing changes.

    config: the result of `with_studies`. The contest does not tune on frozen data sets. It uses the choices of its
    first data set. Raises GradrankError if the project has no contest.
    """
    values = dict(config)
    if names := values.pop("contest_datasets", None):
        studies = dict(values.get("studies") or {})
        if not studies.get("contest"):
            raise GradrankError(f"contest_datasets: no {settings_path('contest')}. Fix: write this file")
        frozen = names if isinstance(names, list) else str(names).split(",")
        values["studies"] = studies | {"contest": {**studies["contest"], "frozen": frozen}}
    return values
