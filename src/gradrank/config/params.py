"""params.yaml as pydantic models: every value is checked, and named by its path, before any job starts."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from gradrank.base.errors import GradrankError, unknown
from gradrank.base.validation import validate
from gradrank.config.datasets import (
    DataSetParams,
    Models,
    OwnDataParams,
    SettingsSection,
    SyntheticParams,
    check_datasets,
)
from gradrank.config.evaluation_checks import check_evaluation
from gradrank.config.params_file import read
from gradrank.config.studies import StudySettings, check_studies, jobs
from gradrank.config.variants import Variant, expand, with_swept_members
from gradrank.data.sources.catalogue import catalogue
from gradrank.evaluation.score_file_pattern import IMPORTED
from gradrank.training.model import Model
from gradrank.training.registry import get_model, missing_packages, models


def _different(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(seeds)) < len(seeds):
        raise PydanticCustomError("seeds", "a seed stands in it twice")
    return seeds


Seed = Annotated[int, Field(ge=0, lt=2**31)]


class RunParams(SettingsSection):
    """What plain `snakemake` builds; seeds: what models, the studies' too, are trained with; None: `seed` alone."""

    datasets: tuple[str, ...] = Field(min_length=1)
    models: Models = "all"
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_different)] | None = None


class PairsParams(SettingsSection):
    """What the pairs of every data set are whose owner gives none: equal grades no pair, or one of target 1/2."""

    ties: Literal["omit", "half"] = "omit"


class EvaluationParams(SettingsSection):
    """What is measured; `convention` is the primary one, by which summary.json and the tables are made."""

    convention: str = "letor4"
    conventions: tuple[str, ...] = ("letor4",)
    metrics: tuple[str, ...] = Field(min_length=1)


class RunSettings(SettingsSection):
    """The whole of params.yaml, resolved: defaults filled in and names checked."""

    seed: Seed
    run: RunParams
    studies: dict[str, StudySettings] = Field(default_factory=dict)  # by name; a reduced form: <study>/reduced
    datasets: dict[str, SyntheticParams | OwnDataParams | DataSetParams]
    pairs: PairsParams = PairsParams()
    models: dict[str, Variant]  # by the name of its results folder; the studies' own among them
    evaluation: EvaluationParams

    def model_names(self, dataset: str) -> list[str]:
        """Return the methods of a data set, sweeps expanded: `datasets.<name>.models`, or else `run.models`.

        `all` stands for every model that this installation can run.
        """
        own = self.datasets.get(dataset)
        listed = (own and own.models) or self.run.models
        if listed == "all":
            own = {name for study in self.studies.values() for name in self.variants(study.variants)}
            return sorted(
                name
                for name in self.models
                if name not in own and (self.imported(name) or not missing_packages(self.model(name)))
            )
        return self.variants(listed)

    def study_models(self, form: str) -> list[str]:
        """What a study, or its reduced form, trains; sweeps expanded."""
        return self.variants([*self.studies[form].models, *self.studies[form].variants])

    def study_settings(self, form: str) -> dict[str, Any]:
        """All that `studies.<study>` says, its models with sweeps expanded; what `gradrank study` is told."""
        own = self.studies[form]
        values = own.model_dump(mode="json", exclude={"variants", "reduced"}, exclude_none=True)
        values |= {"models": self.study_models(form)}
        if "methods" in values:  # measured by the data sets' own conventions; a publication has its own
            names = [*values["datasets"], *values.get("frozen", ())]
            values |= {"conventions": {name: self.convention(name) for name in names}}
        return values

    def tracked_settings(self, form: str) -> dict[str, Any]:
        """The same for `gradrank track`; `own` are the models that no one else trains."""
        return self.study_settings(form) | {"own": self.variants(self.studies[form].variants)}

    def study_jobs(self, form: str) -> dict[str, Any]:
        """What each job of a study's own is told, by the job's name."""
        return jobs(form.partition("/")[0], self.studies[form])

    def variants(self, entries: Iterable[str]) -> list[str]:
        """The names that entries of `models` or of a study's `variants` stand for, in alphabetical order."""
        wanted = set(entries)
        return sorted(name for name, variant in self.models.items() if {name, variant.entry} & wanted)

    def imported(self, name: str) -> bool:
        """Whether a method's scores come from elsewhere."""
        return self.models[name].model == IMPORTED

    def model(self, name: str) -> type[Model]:
        """The registered model of a variant. Raises GradrankError with the nearest name for an unknown one."""
        if name not in self.models:
            raise GradrankError(unknown("model", name, self.models))
        model = self.models[name].model
        # Asked for thousands of times, where all are imported.
        return models().get(model) or get_model(model)

    def members(self, name: str) -> tuple[str, ...]:
        """The models whose scores `name` is made of."""
        if self.imported(name):
            return ()
        cls = self.model(name)
        return cls.members(cls.Params(**self.models[name].params))

    @property
    def seeds(self) -> tuple[int, ...]:
        """What models are trained with; the first one's folds lie in fold<k>/ itself."""
        return self.run.seeds or (self.seed,)

    def seeds_of(self, name: str) -> tuple[int, ...]:
        """All of them, or the first alone where chance plays no part in `name`, nor in what it is made of."""
        return self.seeds if len(self.seeds) > 1 and self._uses_seed(name) else self.seeds[:1]

    def _uses_seed(self, name: str) -> bool:
        made_of = [name]
        for each in made_of:
            made_of += (member for member in self.members(each) if member not in made_of)
        trained = [(self.model(each), self.models[each].params) for each in made_of if not self.imported(each)]
        return any(cls.uses_seed(cls.Params(**params)) for cls, params in trained)

    def convention(self, dataset: str) -> str:
        """The primary one of a data set."""
        own = self.datasets.get(dataset)
        return (own and own.convention) or self.evaluation.convention

    def dataset_names(self) -> list[str]:
        """Every data set that can be built: the catalogue's and the user's own."""
        return sorted(set(catalogue()) | set(self.datasets))


def load(path: Path | str = "params.yaml") -> RunSettings:
    """Read and check a params.yaml. Raises GradrankError listing every fault with its path in the file."""
    return check(read(path), str(path))


def check(raw: Mapping[str, Any], where: str = "params.yaml") -> RunSettings:
    """Params from the parsed file. Raises GradrankError listing every fault with its path."""
    faults: list[str] = []
    if "study" in raw:
        raise GradrankError(f"{where}: `study` is now called `run`; rename the key")
    given = {key: raw.get(key) or {} for key in ("studies", "models", "datasets")}
    own = _own_variants(given["studies"])
    resolved = {
        "studies": check_studies(given["studies"], faults),
        "models": _check_models(given["models"], own, faults),
        "datasets": check_datasets(given["datasets"], _keys(given["studies"]), faults),
    }
    params = validate(RunSettings, dict(raw) | resolved, "", faults)
    if params is not None:
        written = chain(*map(_keys, (given["models"], given["datasets"], *own.values())))
        faults += _unknown_names(params, set(written))
        if not faults:
            faults += _check_members(params)
        faults += check_evaluation(params.evaluation, params.datasets)
    if faults or params is None:
        raise GradrankError("\n".join([f"{where}:", *(f"  {fault}" for fault in faults)]))
    return params


def _keys(section: Any) -> list[str]:
    return list(map(str, section)) if isinstance(section, Mapping) else []


def _own_variants(studies: Any) -> dict[str, Mapping[str, Any]]:
    """What each study says of variants of its own."""
    sections = studies.items() if isinstance(studies, Mapping) else ()
    own = {name: values.get("variants") for name, values in sections if isinstance(values, Mapping)}
    return {name: variants for name, variants in own.items() if isinstance(variants, Mapping)}


def _unknown_names(params: RunSettings, written: set[str]) -> Iterator[str]:
    """Data sets and models that the run or a study names and nothing has.

    written: what params.yaml describes; of a description with a fault the fault alone is named.
    """
    datasets = params.dataset_names()
    entries = {variant.entry for variant in params.models.values()}
    known = sorted(entries | set(params.models))
    faulty = written - entries - set(datasets)
    asked: dict[str, Any] = {"run": params.run}
    asked |= {f"studies.{name.replace('/', '.')}": study for name, study in params.studies.items()}
    asked |= {f"datasets.{name}": own for name, own in params.datasets.items() if own.models}
    for where, listed in asked.items():
        for key, name in _named_datasets(listed):
            if name not in datasets and name not in faulty:
                yield f"{where}.{key}: {unknown('data set', name, datasets)}; your own needs `datasets.{name}.path`"
        for name in listed.models if listed.models != "all" else ():
            if name not in known and name.partition("-")[0] not in faulty:
                yield f"{where}.models: {unknown('model', name, known)}"


def _named_datasets(listed: Any) -> Iterator[tuple[str, str]]:
    """(key, name) of the data sets that are built, and of those that a study looks at once."""
    for key in ("datasets", "frozen"):
        for name in getattr(listed, key, ()):
            yield key, name


def _check_models(section: Any, own: Mapping[str, Mapping[str, Any]], faults: list[str]) -> dict[str, Variant]:
    """Every registered model's variants, those with a name of their own, and those of the studies."""
    if not isinstance(section, Mapping):
        faults.append("models: expected a mapping from model name to its parameters")
        return {}
    found = expand(dict.fromkeys(models()) | dict(section), "models.", faults)
    for study, variants in own.items():
        path = f"studies.{study}.variants."
        for entry in variants:
            if entry in models() or any(entry == variant.entry for variant in found.values()):
                faults.append(f"{path}{entry}: the name is taken; choose another")
        found = expand(variants, path, faults) | found
    return with_swept_members(found)


def _check_members(params: RunSettings) -> list[str]:
    """A model made of other models' scores needs them: they are trained for it where they are not yet."""
    faults = []
    wanted = {*chain.from_iterable(map(params.model_names, [*params.run.datasets, *params.datasets]))}
    wanted |= {*chain.from_iterable(map(params.study_models, params.studies))}
    for name in sorted(wanted):
        for member in params.members(name):
            if member == name:
                faults.append(f"models.{name}: cannot be made of its own scores")
            elif member not in params.models:
                faults.append(f"models.{name}: {unknown('model', member, params.models)}")
            elif params.imported(member):
                faults.append(
                    f"models.{name}: {member!r} comes from elsewhere, and only trained models can be its members"
                )
            elif missing := missing_packages(params.model(member)):
                faults.append(
                    f"models.{name}: is made of the scores of {member!r}, which needs {', '.join(missing)}: "
                    f"install it, or name others in `models.{name}`"
                )
    return faults
