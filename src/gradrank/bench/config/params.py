"""The sections of params.yaml as pydantic models.

Every value is checked before any job starts. Each fault is reported with its file and its path in the file.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.validation import validate
from gradrank.bench.config.datasets import (
    DataSetParams,
    Models,
    OwnDataParams,
    SettingsSection,
    SyntheticParams,
    check_datasets,
)
from gradrank.bench.config.params_file import read
from gradrank.bench.config.studies import StudySettings, check_studies, jobs, key_prefix, read_settings, settings_path
from gradrank.bench.config.variants import Variant, expand, with_swept_members
from gradrank.bench.folds.settings import BASELINE, IMPORTED
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.conventions import CONVENTIONS, DEFAULT
from gradrank.measures.metrics import find
from gradrank.training.model import Model
from gradrank.training.registry import get_model, missing_packages, models


def check_evaluation(evaluation: Any, datasets: Mapping[str, Any]) -> list[str]:
    """Return the faults of the section `evaluation` and of the data sets' `convention`, each with its path in the file.

    evaluation: an `EvaluationParams`. datasets: the settings per data set.
    """
    faults = []
    for name in evaluation.metrics:
        try:
            find(name)
        except GradrankError as error:
            faults.append(f"evaluation.metrics: {error}")
    faults += [
        f"evaluation.conventions: {unknown('convention', name, CONVENTIONS)}"
        for name in evaluation.conventions
        if name not in CONVENTIONS
    ]
    primary = evaluation.convention
    if primary not in CONVENTIONS and primary not in evaluation.conventions:
        faults.append(f"evaluation.convention: {unknown('convention', primary, CONVENTIONS)}")
    elif primary not in evaluation.conventions:
        faults.append(f"evaluation.conventions: must contain the primary convention, {primary!r}")
    return faults + [
        f"datasets.{name}.convention: {dataset.convention!r} is not among evaluation.conventions "
        f"({', '.join(evaluation.conventions)})"
        for name, dataset in datasets.items()
        if dataset.convention not in (None, *evaluation.conventions)
    ]


def _different(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise PydanticCustomError("seeds", "duplicate seed")
    return seeds


Seed = Annotated[int, Field(ge=0, lt=2**31)]
Threads = Annotated[int, Field(ge=1)]


class RunParams(SettingsSection):
    """Section `run`: what plain `snakemake` builds.

    seeds: the seeds that every model is trained with, also in studies. If None, only the top-level `seed` is used.
    explanations: whether the report explains the best methods of every data set (report/explanations).
    threads: the number of threads of a training job, for all methods that can use several, or by name of the method.
    Results do not depend on it.
    """

    datasets: tuple[str, ...] = Field(min_length=1)
    models: Models = "all"
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_different)] | None = None
    explanations: bool = False
    threads: Threads | dict[str, Threads] = 1


class PairsParams(SettingsSection):
    """Section `pairs`: how pairs are made for data sets without their own file of pairs.

    ties: `omit` makes no pair of two documents with equal grades. `half` makes a pair with target 1/2.
    """

    ties: Literal["omit", "half"] = "omit"


class EvaluationParams(SettingsSection):
    """Section `evaluation`: metrics and conventions. Summaries use the primary convention, `convention`.

    baseline: the method that the others are compared with. On data sets without it, the method with the highest mean.
    """

    convention: str = DEFAULT
    conventions: tuple[str, ...] = (DEFAULT,)
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = ("ndcg@1", "ndcg@5", "ndcg@10", "map", "p@10")
    baseline: str = BASELINE


class RunSettings(SettingsSection):
    """The checked content of params.yaml and of the settings of studies, with defaults filled in."""

    seed: Seed = 2005
    run: RunParams
    # key: name of the study, or <study>/reduced for its reduced form
    studies: dict[str, StudySettings] = Field(default_factory=dict)
    datasets: dict[str, SyntheticParams | OwnDataParams | DataSetParams] = Field(default_factory=dict)
    pairs: PairsParams = PairsParams()
    models: dict[str, Variant]  # key: name of the results folder; the variants of studies are included
    evaluation: EvaluationParams = EvaluationParams()
    track: bool = True  # whether the workflow logs its results to MLflow

    def model_names(self, dataset: str) -> list[str]:
        """Return the methods of a data set, with sweeps expanded.

        They are listed in `datasets.<name>.models` or, by default, in `run.models`. `all` stands for every model that
        this installation can run: its packages and the packages of its members are installed. With `skip: true`, the
        methods of `skipped` are left out.
        """
        skipped = self.skipped(dataset)
        return [name for name in self._listed_models(dataset) if name not in skipped]

    def skipped(self, dataset: str) -> list[str]:
        """Return the methods that `skip: true` leaves out: they or their members do not accept missing values."""
        settings = self.datasets.get(dataset)
        if not (isinstance(settings, OwnDataParams) and settings.skip):
            return []
        return [name for name in self._listed_models(dataset) if not self._takes_missing(name)]

    def _takes_missing(self, name: str) -> bool:
        members = self.members(name)
        return self.imported(name) or (
            all(map(self._takes_missing, members)) if members else self.model(name).takes_missing
        )

    def _listed_models(self, dataset: str) -> list[str]:
        """Return the methods that params.yaml lists for a data set, with sweeps expanded."""
        settings = self.datasets.get(dataset)
        listed = (settings and settings.models) or self.run.models
        if listed == "all":
            of_studies = self._study_variants()
            return sorted(name for name in self.models if name not in of_studies and self._is_installed(name))
        return self.variants(listed)

    def names_models(self, name: str) -> bool:
        """Return whether params.yaml names each method of a data set or study, instead of `all`."""
        settings = self.datasets.get(name)
        return name in self.studies or ((settings and settings.models) or self.run.models) != "all"

    def _study_variants(self) -> set[str]:
        """Return the methods that are defined in the `variants` of a study."""
        return {name for study in self.studies.values() for name in self.variants(study.variants)}

    def _is_installed(self, name: str) -> bool:
        """Return whether the packages of a method and of its members are installed."""
        trained = (each for each in (name, *self.members(name)) if each in self.models and not self.imported(each))
        return not any(missing_packages(self.model(each)) for each in trained)

    def study_models(self, form: str) -> list[str]:
        """Return the methods that a study or its reduced form names, with sweeps expanded."""
        return self.variants([*self.studies[form].models, *self.studies[form].variants])

    def shown_methods(self, form: str) -> list[str]:
        """Return the methods whose trainings by the workflow are on the page of a study, with sweeps expanded."""
        return self.study_models(form) if self.studies[form].shows_trainings else []

    def study_settings(self, form: str) -> dict[str, Any]:
        """Return the settings of a study for `gradrank study`, with sweeps expanded."""
        settings = self.studies[form]
        values = settings.model_dump(mode="json", exclude={"variants", "reduced"}, exclude_none=True)
        values |= {"models": self.study_models(form)}
        if "methods" in values:  # a contest, which is evaluated under the conventions of the data sets
            names = [*values["datasets"], *values.get("frozen", ())]
            values |= {"conventions": {name: self.convention(name) for name in names}}
        return values

    def tracked_settings(self, form: str) -> dict[str, Any]:
        """Return the settings of a study for `gradrank track`.

        The key `models` has only the methods whose trainings are on the page, and `own` the models that only this study
        trains.
        """
        own = self.variants(self.studies[form].variants)
        return self.study_settings(form) | {"models": self.shown_methods(form), "own": own}

    def study_jobs(self, form: str) -> dict[str, Any]:
        """Return a dict from the name of each of the study's own jobs to the settings of the job."""
        return jobs(form.partition("/")[0], self.studies[form], self._trainings(form))

    def _trainings(self, form: str) -> Iterator[dict[str, Any]]:
        """Yield the settings of each training of a study's models, for each data set and seed; see config.studies."""
        for dataset, method in product(self.studies[form].datasets, self.study_models(form)):
            variant = self.models[method]
            needs_pairs = not self.imported(method) and self.model(method).needs_pairs
            settings = {"dataset": dataset, "method": method, "model": variant.model, "params": variant.params}
            settings |= {"pairs": needs_pairs, "convention": self.convention(dataset)}
            yield from (settings | {"seed": seed} for seed in self.seeds_of(method, dataset))

    def variants(self, entries: Iterable[str]) -> list[str]:
        """Return the sorted names of all variants of these entries.

        The name of a variant is also accepted as an entry.
        """
        wanted = set(entries)
        return sorted(name for name, variant in self.models.items() if {name, variant.entry} & wanted)

    def threads(self, name: str) -> int:
        """Return the number of threads of a training job of a method: 1 if it cannot use several."""
        if self.imported(name) or not self.model(name).uses_threads:
            return 1
        threads = self.run.threads
        return threads if isinstance(threads, int) else threads.get(name, threads.get(self.models[name].entry, 1))

    def imported(self, name: str) -> bool:
        """Return whether the scores of a method are imported from score files."""
        return self.models[name].model == IMPORTED

    def model(self, name: str) -> type[Model]:
        """Return the class of a variant's model.

        Raises GradrankError with the nearest name if the variant is unknown.
        """
        if name not in self.models:
            raise GradrankError(unknown("model", name, self.models))
        model = self.models[name].model
        # The workflow calls this thousands of times. It has imported all models, so the dict is faster than get_model.
        return models().get(model) or get_model(model)

    def members(self, name: str) -> tuple[str, ...]:
        """Return the methods whose scores the method `name` combines; empty if it combines none."""
        if self.imported(name):
            return ()
        cls = self.model(name)
        return cls.members(_checked(cls, json.dumps(self.models[name].params, sort_keys=True)))

    def additional_members(self, names: Iterable[str]) -> list[str]:
        """Return the sorted names of the methods outside `names` that are trained because `names` combine their scores.

        The members of members are included.
        """
        trained = list(names)
        chosen = set(trained)
        for name in trained:  # the list grows
            trained += (member for member in self.members(name) if member not in trained)
        return sorted(set(trained) - chosen)

    @property
    def first_seed(self) -> int:
        """The seed that every model is trained with. Its results are in fold<k>/ itself."""
        return self.run.seeds[0] if self.run.seeds else self.seed

    def seeds_of(self, name: str, dataset: str) -> tuple[int, ...]:
        """Return the seeds that a method is trained with on a data set.

        They are the `seeds` of the data set or else `run.seeds`, or only the first of them if neither the method nor
        its members use random numbers. The `seeds` of a data set is not for the variants that only studies train.
        """
        settings = self.datasets.get(dataset)
        seeds = self.run.seeds or (self.seed,)
        if settings and settings.seeds and not self._only_in_studies(name, settings.models):
            seeds = tuple(range(self.first_seed, self.first_seed + settings.seeds))
        return seeds if len(seeds) > 1 and self._uses_seed(name) else seeds[:1]

    def _only_in_studies(self, name: str, listed: Models | None) -> bool:
        """Return whether a method is a variant of a study, and not in `listed`, the `models` of a data set."""
        if name not in self._study_variants():
            return False
        listed = listed or self.run.models
        return listed == "all" or name not in self.variants(listed)

    def _uses_seed(self, name: str) -> bool:
        methods = [name, *self.additional_members([name])]
        trained = [(self.model(method), self.models[method].params) for method in methods if not self.imported(method)]
        return any(cls.uses_seed(_checked(cls, json.dumps(params, sort_keys=True))) for cls, params in trained)

    def convention(self, dataset: str) -> str:
        """Return the primary convention of a data set: its own, that of the catalogue, or `evaluation.convention`."""
        settings, entry = self.datasets.get(dataset), catalogue().get(dataset)
        return (settings and settings.convention) or (entry and entry.convention) or self.evaluation.convention

    def conventions(self, dataset: str) -> tuple[str, ...]:
        """Return the conventions of a data set: `evaluation.conventions` and its primary convention."""
        return tuple(dict.fromkeys([*self.evaluation.conventions, self.convention(dataset)]))

    def dataset_names(self) -> list[str]:
        """Return the sorted names of all data sets in the catalogue and in params.yaml."""
        return sorted(set(catalogue()) | set(self.datasets))


@cache
def _checked(cls: type[Model], params: str) -> Any:
    """Return the parameters of a model from JSON. A plan asks for those of a method up to nine times."""
    return cls.Params(**json.loads(params))


def load(path: Path | str = "params.yaml") -> RunSettings:
    """Read and check a params.yaml and the settings of the studies next to it, in the folder studies/.

    Raises a GradrankError that lists every fault with its file and its path in the file.
    """
    return check(with_studies(read(path), str(path)), str(path))


def with_studies(raw: Mapping[str, Any], where: str = "params.yaml") -> dict[str, Any]:
    """Return a parsed params.yaml with the settings of the project's studies under the key `studies`.

    where: the path of params.yaml. Raises GradrankError if params.yaml itself has this key.
    """
    if "studies" in raw:
        names = ", ".join(_keys(raw["studies"])) or "none"
        raise GradrankError(
            f"{where}: the key `studies` ({names}) does not belong into this file, because each study has its own "
            "file. Fix: move the keys of each study to studies/<name>/study.yaml, and delete `studies`"
        )
    return {**raw, "studies": read_settings(Path(where).parent)}


def check(raw: Mapping[str, Any], where: str = "params.yaml") -> RunSettings:
    """Return the checked settings. Raises a GradrankError that lists every fault with its file and its path.

    raw: the result of `with_studies`. where: the path of params.yaml.
    """
    faults: list[str] = []
    project = Path(where).parent
    if "study" in raw:
        raise GradrankError(f"{where}: the key `study` is now called `run`. Fix: rename it")
    sections = {key: raw.get(key) or {} for key in ("studies", "models", "datasets")}
    variants = _study_variants(sections["studies"])
    resolved = {
        "studies": check_studies(sections["studies"], project, faults),
        "models": _check_models(sections["models"], variants, project, faults),
        "datasets": check_datasets(sections["datasets"], _keys(sections["studies"]), faults),
    }
    settings = validate(RunSettings, dict(raw) | resolved, "", faults)
    if settings is not None:
        described = chain(*map(_keys, (sections["models"], sections["datasets"], *variants.values())))
        faults += _unknown_names(settings, set(described), project)
        if not faults:
            faults += _check_threads(settings)
            faults += _check_members(settings) or _check_jobs(settings, project)
        faults += check_evaluation(settings.evaluation, settings.datasets)
    if faults or settings is None:
        files = [str(settings_path(name, project)) for name in _keys(sections["studies"])]
        raise GradrankError(_by_file(faults, where, files))
    return settings


def _by_file(faults: Iterable[str], where: str, files: Iterable[str]) -> str:
    """Return the faults as text, with one heading per file. A fault begins with one of `files` or is in `where`."""
    prefixes = {f"{file}: ": file for file in files}
    grouped: dict[str, list[str]] = {}
    for fault in faults:
        prefix = next((prefix for prefix in prefixes if fault.startswith(prefix)), "")
        grouped.setdefault(prefixes.get(prefix, where), []).append(fault.removeprefix(prefix))
    return "\n".join(line for file, own in grouped.items() for line in (f"{file}:", *(f"  {fault}" for fault in own)))


def _keys(section: Any) -> list[str]:
    return list(map(str, section)) if isinstance(section, Mapping) else []


def _study_variants(studies: Any) -> dict[str, Mapping[str, Any]]:
    """Return a dict from the name of each study to its `variants`, which are not yet checked."""
    sections = studies.items() if isinstance(studies, Mapping) else ()
    listed = {name: values.get("variants") for name, values in sections if isinstance(values, Mapping)}
    return {name: variants for name, variants in listed.items() if isinstance(variants, Mapping)}


def _unknown_names(settings: RunSettings, described: set[str], project: Path) -> Iterator[str]:
    """Yield a fault for each unknown data set or model in the lists of the run, the data sets and the studies.

    described: names of all entries in params.yaml and of all variants of studies. An entry with faults of its own is
    not reported as unknown.
    """
    datasets = settings.dataset_names()
    entries = {variant.entry for variant in settings.models.values()}
    valid = sorted(entries | set(settings.models))
    faulty = described - entries - set(datasets)
    lists: dict[str, Any] = {"run.": settings.run}
    lists |= {key_prefix(form, project): study for form, study in settings.studies.items()}
    lists |= {f"datasets.{name}.": dataset for name, dataset in settings.datasets.items() if dataset.models}
    for prefix, listed in lists.items():
        for key, name in _named_datasets(listed):
            if name not in datasets and name not in faulty:
                fault = unknown("data set", name, datasets)
                yield f"{prefix}{key}: {fault}; for your own data, set `datasets.{name}.path`"
        for name in listed.models if listed.models != "all" else ():
            if name not in valid and name.partition("-")[0] not in faulty:
                yield f"{prefix}models: {unknown('model', name, valid)}"
    for name in settings.run.threads if isinstance(settings.run.threads, dict) else ():
        if name not in valid:
            yield f"run.threads: {unknown('model', name, valid)}"
    if (baseline := settings.evaluation.baseline) not in settings.models:
        yield f"evaluation.baseline: {unknown('model', baseline, settings.models)}"


def _named_datasets(listed: Any) -> Iterator[tuple[str, str]]:
    """Yield (key, name) for each data set in the lists and mappings of a section that have names of data sets."""
    for key in ("datasets", "frozen", "nets_by_dataset"):
        for name in getattr(listed, key, ()):
            yield key, name


def _check_models(
    section: Any, study_variants: Mapping[str, Mapping[str, Any]], project: Path, faults: list[str]
) -> dict[str, Variant]:
    """Return a dict from name to variant, for all registered models, the section `models` and the studies."""
    if not isinstance(section, Mapping):
        faults.append("models: expected a mapping from model name to its parameters")
        return {}
    expanded = expand(dict.fromkeys(models()) | dict(section), "models.", faults)
    for study, variants in study_variants.items():
        path = f"{key_prefix(study, project)}variants."
        for entry in variants:
            if entry in models() or any(entry == variant.entry for variant in expanded.values()):
                faults.append(f"{path}{entry}: another model or variant has this name. Fix: choose another")
        expanded = expand(variants, path, faults) | expanded
    return with_swept_members(expanded)


def _check_jobs(settings: RunSettings, project: Path) -> list[str]:
    """Return a fault for each study that refuses one of its models."""
    faults = []
    for form in settings.studies:
        try:
            settings.study_jobs(form)
        except GradrankError as error:
            faults.append(f"{key_prefix(form, project)}models: {error}")
    return faults


def _check_threads(settings: RunSettings) -> list[str]:
    """Return a fault for each method in `run.threads` that trains with one thread only."""
    named = settings.run.threads if isinstance(settings.run.threads, dict) else {}
    refused = [name for name in settings.models if {name, settings.models[name].entry} & named.keys()]
    refused = [name for name in refused if settings.imported(name) or not settings.model(name).uses_threads]
    return [
        f"run.threads.{name}: this method trains with one thread, because the last digits of its results would depend "
        "on the number; remove the entry"
        for name in dict.fromkeys(settings.models[name].entry for name in refused)
    ]


def _check_members(settings: RunSettings) -> list[str]:
    """Return a fault for each member that cannot be trained. Members are the methods whose scores a method combines."""
    faults = []
    methods = {*chain.from_iterable(map(settings.model_names, [*settings.run.datasets, *settings.datasets]))}
    methods |= {*chain.from_iterable(map(settings.study_models, settings.studies))}
    for name in sorted(methods):
        for member in settings.members(name):
            if member == name:
                faults.append(f"models.{name}: cannot combine its own scores")
            elif member not in settings.models:
                faults.append(f"models.{name}: {unknown('model', member, settings.models)}")
            elif settings.imported(member):
                faults.append(
                    f"models.{name}: the scores of {member!r} are imported, and only trained models can be members"
                )
            elif missing := missing_packages(settings.model(member)):
                faults.append(
                    f"models.{name}: the member {member!r} needs {', '.join(missing)}; "
                    f"install it, or name other members in `models.{name}`"
                )
    return faults
