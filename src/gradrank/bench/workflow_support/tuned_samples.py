"""Samples of the stages of tuned studies: trials, choices, and test values of the choices.

The sample of a method is drawn from the data sets, tuners and folds whose trainings took at most LIMIT seconds
according to the committed trials; if all took longer, the fastest are taken. The values have no influence.
"""

import hashlib
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from gradrank.base.files import read_json, sha256
from gradrank.bench.provenance.record_checks import Record
from gradrank.bench.provenance.study_records import TUNING
from gradrank.bench.results import Results
from gradrank.bench.tuning.choices import DEFAULT
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.workflow_support.plan import ContestPlan, Plan
from gradrank.bench.workflow_support.samples import START, Confirmation, Outcome, run_command

TUNE, REFIT = TUNING
REFIT_COMMAND = "refit-choices"  # the command of the stage
CHOICES = "choices"
LIMIT = 10.0  # processor seconds of the trainings of a sample
TRIALS = 2  # trials of a sample: the default configuration and one that was drawn
NOT_COMPARED = ("params", "seconds", "made_with")  # `params` is compared without values that are now the defaults


class TunedSample(NamedTuple):
    """The trials, or the trained choice, of one tuner on one fold.

    form: the study. stage: TUNE or REFIT. seconds: expected processor time of the trainings.
    """

    form: str
    stage: str
    method: str
    dataset: str
    tuner: int
    fold: int
    seconds: float

    @property
    def key(self) -> str:
        return f"{self.stage} {self.method}"

    @property
    def place(self) -> str:
        return f"{self.dataset}/{self.method}/tuner{self.tuner}-fold{self.fold}"

    def __str__(self) -> str:
        what = f"first {TRIALS} trials" if self.stage == TUNE else "choice with its first seed"
        return f"{self.dataset}, {self.method}, tuner {self.tuner}, fold {self.fold}, {what}"


class TunedSamples:
    """The samples that are to confirm the changed stages of tuned studies.

    current: the current code digests per record. count: number of samples per method and stage. seed: seed of the draw.
    only: the data sets from which is drawn; if empty, all. folder: the folder of the recheck.
    """

    def __init__(
        self,
        plan: Plan,
        root: Results,
        records: Iterable[Record],
        current: Mapping[str, Mapping[str, str]],
        count: int,
        seed: int,
        only: Iterable[str],
        folder: Path,
    ) -> None:
        self.plan, self.contest, self.root, self.folder = plan, ContestPlan(plan), root, folder / "tuned"
        self.project, self.current = folder, current
        self.seconds = cache(self._seconds)
        self.changed = {
            record.name: [key for key, was in record.code().items() if was != current[record.name].get(key, was)]
            for record in records
            if record.name in self.contest.settings
        }
        self.records = {record.name: record for record in records}
        self.samples = {
            (form, key): self._drawn(form, key, count, seed, set(only))
            for form, keys in self.changed.items()
            for key in keys
            if key.partition(" ")[0] in TUNING
        }
        self.forms = [
            form
            for form, keys in self.changed.items()
            if CHOICES in keys or any(each.startswith(REFIT) for each in keys)
        ]
        self.covered = {key for _, key in self.samples} | ({CHOICES} if self.forms else set())

    @property
    def all(self) -> list[TunedSample]:
        return [sample for samples in self.samples.values() for sample in samples]

    def datasets(self) -> list[str]:
        """Return the data sets that the samples read."""
        return list(dict.fromkeys(sample.dataset for sample in self.all))

    def plan_lines(self) -> Iterator[str]:
        for sample in self.all:
            yield f"{sample.form}, {sample.stage}: {sample}"
        if self.all:
            total = sum(sample.seconds + START for sample in self.all)
            yield (
                f"plan: {len(self.all)} samples of tuned studies, drawn from those with trainings of at most "
                f"{LIMIT:g} s; about {total / 60:.0f} processor minutes (from the times of the trials in git)"
            )

    def _drawn(self, form: str, key: str, count: int, seed: int, only: set[str]) -> list[TunedSample]:
        """Return at most `count` samples of a stage of a method."""
        stage, _, method = key.partition(" ")
        found = list(self._candidates(form, stage, method, only))

        def position(sample: TunedSample) -> str:
            return hashlib.sha256(f"{seed} {stage} {sample.place}".encode()).hexdigest()

        short = sorted((sample for sample in found if sample.seconds <= LIMIT), key=position)
        return (short or sorted(found, key=lambda sample: sample.seconds))[:count]

    def _candidates(self, form: str, stage: str, method: str, only: set[str]) -> Iterator[TunedSample]:
        contest = self._committed(form)
        choices = read_json(contest.choices_path) if contest.choices_path.is_file() else {}
        for dataset in self.contest.settings[form].datasets:
            if only and dataset not in only:
                continue
            evaluated = contest.values.existing(dataset, method)
            for tuner, fold in dict.fromkeys(key[:2] for key in self.seconds(form, dataset, method)):
                if stage == TUNE:
                    seconds = self._seconds_of(form, dataset, method, tuner, fold, range(TRIALS))
                elif f"{dataset}/{method}/fold{fold}" in choices and (dataset, method, tuner) in evaluated:
                    seconds = self._refit_seconds(form, dataset, method, tuner, fold, choices)
                else:
                    continue
                yield TunedSample(form, stage, method, dataset, tuner, fold, seconds)

    def _refit_seconds(
        self, form: str, dataset: str, method: str, tuner: int, fold: int, choices: Mapping[str, Mapping]
    ) -> float:
        """Return the expected time of `gradrank refit-choices` for one fold and seed, with the members."""
        total = 0.0
        for name in self.contest.with_members(form, method):
            known = {key[0] for key in self.seconds(form, dataset, name)}
            choice = choices[f"{dataset}/{name}/fold{fold}"][f"tuner{min(tuner, len(known))}"]
            trials = [choice["trial"]]
            if name == method and not self.contest.settings[form].refits_only_choices():
                trials += [choice["trial"], *{DEFAULT, choice["one"], choice["timed"]} - {choice["trial"]}]
            total += self._seconds_of(form, dataset, name, min(tuner, len(known)), fold, trials)
        return total

    def _seconds_of(self, form: str, dataset: str, method: str, tuner: int, fold: int, trials: Iterable[int]) -> float:
        known = self.seconds(form, dataset, method)
        return sum(known.get((tuner, fold, trial), 0.0) for trial in trials)

    def _seconds(self, form: str, dataset: str, method: str) -> dict[tuple[int, int, int], float]:
        """Return the processor time of each committed trial of a method; the key is the tuner, fold and trial."""
        trials, columns = self._committed(form).trials, ["tuner", "fold", "trial", "seconds"]
        tables = [trials.read(*key).select(columns) for key in trials.existing(dataset, method)]
        return {row[:3]: row[3] for table in tables for row in table.rows()}

    def _committed(self, form: str) -> Contest:
        return Contest(self.root.study(form).folder)

    def tasks(self) -> list[Callable[[], object]]:
        """Return the functions that compute the samples that are not computed yet."""
        for form in self.forms:
            self._make_choices(form)
        return [lambda sample=sample: self._compute(sample) for sample in self.all if not self._is_computed(sample)]

    def _make_choices(self, form: str) -> None:
        """Make choices.json from the committed trials."""
        own, folder = self.contest.settings[form], self._link_trials(self.folder / form, form)
        arguments = ["choices", *shlex.split(self.contest.choice_arguments(form)), "--datasets", ",".join(own.datasets)]
        arguments += ["--seconds", str(own.seconds), "--contest", str(folder.resolve())]
        (folder / "choices.json").unlink(missing_ok=True)
        run_command(arguments, self.project, self.folder / f"{form}/choices.log")

    def _link_trials(self, folder: Path, form: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        trials = self._committed(form).trials
        committed = trials.parts_path if trials.are_unpacked else trials.packed_path
        if not (folder / committed.name).is_symlink():
            (folder / committed.name).symlink_to(committed.resolve())
        return folder

    def _refitted(self, sample: TunedSample) -> Contest:
        """Return the folder in which the choice of a sample is trained."""
        return Contest(self.folder / sample.form / REFIT / sample.place)

    def _path(self, sample: TunedSample) -> Path:
        if sample.stage == TUNE:
            return self.folder / sample.form / TUNE / f"{sample.place}.parquet"
        return self._refitted(sample).values_path(sample.dataset, sample.method, sample.tuner)

    def _is_computed(self, sample: TunedSample) -> bool:
        path = self._path(sample)
        if not path.is_file():
            return False
        code = json.loads(pl.read_parquet(path, columns=["made_with"])["made_with"][0])["code"]
        return code.partition(" ")[0] == self.current[sample.form][sample.key]

    def _compute(self, sample: TunedSample) -> None:
        form, dataset, method = sample.form, sample.dataset, sample.method
        settings, data = self.plan.settings, f"data/parquet/{dataset}"
        arguments = ["--data", data, "--tuner", str(sample.tuner), "--fold", str(sample.fold)]
        arguments += ["--seed", str(settings.seed), "--convention", settings.convention(dataset)]
        if sample.stage == TUNE:
            arguments += shlex.split(self.contest.tune_options(form, dataset, method))
            arguments += shlex.split(self.contest.pairs_option(form, dataset, [method]))
            count = min(TRIALS, self.contest.settings[form].trials_of(method))
            # Of two equal options, the last one is used.
            arguments += ["--trials", str(count), "--out", str(self._path(sample).resolve())]
            arguments = [TUNE, "--model", method, *arguments]
        else:
            folder = self._link_trials(self._refitted(sample).folder, form)
            if not (folder / "choices.json").is_symlink():
                (folder / "choices.json").symlink_to((self.folder / form / "choices.json").resolve())
            members = self.contest.with_members(form, method)
            arguments += shlex.split(self.contest.refit_options(form, dataset, method))
            arguments += shlex.split(self.contest.pairs_option(form, dataset, members))
            arguments += ["--seconds", str(self.contest.settings[form].seconds), "--seeds", "1"]
            arguments = [REFIT_COMMAND, method, *arguments, "--contest", str(folder.resolve())]
        run_command(arguments, self.project, self._log(sample))

    def _log(self, sample: TunedSample) -> Path:
        return self.folder / sample.form / "logs" / sample.stage / f"{sample.place}.log"

    def outcomes(self) -> Iterator[tuple[Outcome, list[Confirmation]]]:
        """Compare the samples with the committed files; yield each outcome with the digests that it confirms."""
        for form in self.forms:
            made, committed = self.folder / form / "choices.json", self._committed(form).choices_path
            is_equal = made.is_file() and committed.is_file() and sha256(made) == sha256(committed)
            found = (
                [Confirmation(form, CHOICES, "all choices", "choices.json")] if CHOICES in self.changed[form] else []
            )
            yield _outcome(is_equal, f"{form}: choices.json, made from the committed trials"), found if is_equal else []
        for (form, key), samples in self.samples.items():
            if not samples:
                yield Outcome(None, f"{form}, {key}: no sample, because it has no committed values"), []
            equal = []
            for sample in samples:
                if not self._is_computed(sample):
                    yield Outcome(False, f"{form}, {sample}: not computed; see {self._log(sample)}"), []
                    continue
                is_equal = _trials_are_equal(self, sample) if sample.stage == TUNE else _values_are_equal(self, sample)
                equal += [sample] if is_equal else []
                confirmed = []
                if len(equal) == len(samples):
                    what = "configurations and validation values" if sample.stage == TUNE else "values per query"
                    chosen = "; ".join(map(str, samples)) + f" (drawn from trainings of at most {LIMIT:g} s)"
                    confirmed = [Confirmation(form, key, chosen, what)]
                yield _outcome(is_equal, f"{form}, {sample}"), confirmed

    def tables(self, sample: TunedSample) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the committed table of which a sample is a part, and the computed table."""
        contest = self._committed(sample.form)
        parts = contest.trials if sample.stage == TUNE else contest.values
        return parts.read(sample.dataset, sample.method, sample.tuner), pl.read_parquet(self._path(sample))


def _outcome(is_equal: bool, text: str) -> Outcome:
    return Outcome(is_equal, f"{text}: equal" if is_equal else f"{text}: not equal")


def _trials_are_equal(samples: TunedSamples, sample: TunedSample) -> bool:
    committed, computed = samples.tables(sample)
    committed = committed.filter(pl.col("fold") == sample.fold, pl.col("trial") < TRIALS)
    cls = samples.contest.settings[sample.form].model_class(sample.method)
    old, new = (
        [cls.Params(**json.loads(text)) if text else None for text in table["params"]]
        for table in (committed, computed)
    )
    return old == new and committed.drop(NOT_COMPARED).equals(computed.drop(NOT_COMPARED))


def _values_are_equal(samples: TunedSamples, sample: TunedSample) -> bool:
    committed, computed = samples.tables(sample)
    rows = committed.filter(pl.col("fold") == sample.fold, pl.col("seed") == 1)
    return not rows.is_empty() and rows.drop("made_with").equals(computed.drop("made_with"))
