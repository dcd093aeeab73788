"""Confirmation of changed code: a sample of the recorded results is computed again and compared.

The workflow computes the sample in a folder of its own, RECHECK, which has the layout of a project. It never writes
into data/ and results/ of the project, and a run that was interrupted continues with the missing jobs. If all values of
a sample are equal, the records get the current digest, with an entry in `rechecked`. The samples of studies are in
`tuned_samples`, `job_samples` and `page_samples`.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from gradrank.base.errors import GradrankError, require
from gradrank.base.files import OWN_MODELS, atomic, sha256
from gradrank.bench.config.code_digest import STUDIES, WORKFLOW
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.params_file import read
from gradrank.bench.git import revision
from gradrank.bench.provenance.record_checks import TRAIN, Record, records
from gradrank.bench.provenance.records import values_digest
from gradrank.bench.results import Results
from gradrank.bench.workflow_support.plan import Plan
from gradrank.bench.workflow_support.samples import (
    Comparison,
    Outcome,
    Sample,
    Training,
    TrainingTimes,
    changed_digests,
    compare,
    drawn,
    recorded_trainings,
    training_samples,
)
from gradrank.bench.workflow_support.study_samples import JobSamples, PageSamples
from gradrank.bench.workflow_support.tuned_samples import TunedSamples
from gradrank.data.part_files import COLLECTION, PAIRS

RECHECK = Path("recheck")  # git ignores this folder
DATA_STAGES = ("fetch", "generate", "parse", "pairs")
EVALUATION = "evaluate_folds"


class Recheck:
    """The check of a sample against the records of a project.

    params: the path of params.yaml. count: number of trainings per method and digest. seed: seed of the sample. only:
    the data sets to which the sample is restricted; if empty, there is no restriction. folder: the folder in which the
    sample is computed. Raises GradrankError if the code is not that of a commit.
    """

    def __init__(
        self,
        settings: RunSettings,
        root: Results,
        params: Path,
        count: int,
        seed: int,
        only: Iterable[str] = (),
        folder: Path = RECHECK,
    ) -> None:
        self.plan, self.root, self.params, self.folder = Plan(settings), root, params, folder
        self.count, self.seed, self.only = count, seed, tuple(only)
        self.commit = _clean_commit()
        self.records = records(settings, root)
        self.current = {record.name: record.current_code(settings) for record in self.records}
        changed = changed_digests(self.records, self.current)
        self.samples = [*training_samples(self.plan, changed, count, seed, self.only)]
        own = self.plan, root, self.records, self.current
        self.parts = (
            TunedSamples(*own, count, seed, self.only, folder),
            JobSamples(*own, count, seed, self.only, folder),
            PageSamples(*own, folder),
        )
        covered = {*DATA_STAGES, EVALUATION}.union(*(part.covered for part in self.parts))
        self.unchecked = sorted(key for key in changed if not key.startswith(f"{TRAIN} ") and key not in covered)
        self.work = Results(folder / "results")

    def _changed_datasets(self, stages: Iterable[str]) -> Iterator[tuple[Record, list[str]]]:
        """Yield the records of data sets in which the code of some of the stages changed, with these stages."""
        for record in self.records:
            if record.is_study or (self.only and record.name not in self.only):
                continue
            changed = [each for each in stages if record.code().get(each) != self.current[record.name].get(each)]
            if changed:
                yield record, changed

    @cached_property
    def trainings(self) -> list[Training]:
        """The trainings of the samples, and some for each data set whose evaluation changed and that has none."""
        chosen = dict.fromkeys(training for sample in self.samples for training in sample.trainings)
        for record, _ in self._changed_datasets([EVALUATION]):
            if not any(training.dataset == record.name for training in chosen):
                simple = [method for method in record.content["methods"] if not self.plan.members(method)]
                of_record = [each for method in simple for each in recorded_trainings(self.plan, record, method)]
                chosen |= dict.fromkeys(drawn(of_record, self.count, self.seed, EVALUATION))
        return list(chosen)

    @cached_property
    def whole_methods(self) -> list[tuple[Sample, str]]:
        """The methods of studies that are trained on all folds, because only their whole results have a digest.

        Methods are left out if a sample has the same code and registered model.
        """
        sampled = {self._identity(sample) for sample in self.samples if sample.trainings}
        found = []
        for sample in self.samples:
            if sample.trainings or self._identity(sample) in sampled:
                continue
            keys = [key for record in sample.records if record.is_study for key in record.content["read"]]
            own = [key.partition("/")[0] for key in keys if key.partition("/")[2] == sample.method]
            found += [(sample, dataset) for dataset in own[:1] if not self.only or dataset in self.only]
        return found

    def _identity(self, sample: Sample) -> tuple[str, str, str]:
        """Return the registered model of a sample's method, and its recorded and current code digest."""
        record = sample.records[0]
        return record.methods[sample.method]["model"], sample.was, self.current[record.name][sample.key]

    def targets(self) -> list[str]:
        """Return the files that the workflow is to make in the folder of the recheck."""
        files = [f"{self._fold(each)}/{name}" for each in self.trainings for name in ("spec.json", "scores.parquet")]
        evaluated = (f"{dataset}/methods/{sample.method}" for sample, dataset in self.whole_methods)
        files += [f"results/{folder}/evaluation.json" for folder in evaluated]
        used = dict.fromkeys(training.dataset for training in self.trainings)
        used |= dict.fromkeys(record.name for record, _ in self._changed_datasets(DATA_STAGES))
        used |= dict.fromkeys(dataset for part in self.parts for dataset in part.datasets())
        return files + [stamp for dataset in used for stamp in self.plan.stored_stamps(dataset)]

    def _fold(self, training: Training) -> str:
        folder = self.plan.fold_folder(training.fold, training.seed)
        return f"results/{training.dataset}/methods/{training.method}/{folder}"

    def plan_lines(self) -> Iterator[str]:
        """Yield the plan as text: the trainings with their expected times, and what cannot be checked."""
        times = TrainingTimes(self.root)
        members = {
            Training(each.dataset, member, each.fold, each.seed)
            for each in self.trainings
            for member in self.plan.settings.additional_members([each.method])
        }
        jobs = [*self.trainings, *sorted(members - set(self.trainings))]
        jobs += [Training(dataset, each.method, 0, 0) for each, dataset in self.whole_methods for _ in range(5)]
        seconds = [times.of(self.plan.settings.models[each.method].model, each.dataset) for each in jobs]
        yield from map(str, self.trainings)
        yield f"seed of the sample: {self.seed}; commit: {self.commit}"
        yield (
            f"plan: {len(self.trainings)} trainings to compare, {len(jobs) - len(self.trainings)} of members and of "
            f"methods without sampled folds; about {sum(seconds) / 3600:.1f} processor hours ({times.source})"
        )
        for part in self.parts:
            yield from part.plan_lines()

    def run(self, cores: int) -> None:
        """Compute the sample with Snakemake, then the samples of studies. Finished jobs are not repeated."""
        require("snakemake", extra="workflow", needed_by="verify --recheck")
        self.folder.mkdir(exist_ok=True)
        with atomic(self.folder / "params.yaml") as partial:
            partial.write_text(yaml.safe_dump(_with_absolute_paths(read(self.params)), sort_keys=False), "utf-8")
        for own in (OWN_MODELS, Path(STUDIES)):
            if own.is_dir() and not (self.folder / own).exists():
                (self.folder / own).symlink_to(own.resolve())
        if targets := self.targets():
            self._run_workflow(targets, cores)
        tasks = [task for part in self.parts for task in part.tasks()]
        with ThreadPoolExecutor(cores) as pool:
            for future in [pool.submit(task) for task in tasks]:
                future.result()

    def _run_workflow(self, targets: Iterable[str], cores: int) -> None:
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(WORKFLOW / "Snakefile")]
        command += ["--directory", str(self.folder), "--configfile", str(self.folder / "params.yaml")]
        command += ["--cores", str(cores), "--keep-going", "--rerun-incomplete", "--nolock", "--logger", "gradrank"]
        command += ["--scheduler", "greedy", "--show-failed-logs", "--", *targets]
        subprocess.run(command, check=False)  # a failed job has no file, which the comparison reports

    def outcomes(self) -> Iterator[Outcome]:
        """Compare the sample with the records, yield the outcomes, and write the current digests where all is equal."""
        confirmed: dict[str, dict[str, Any]] = {record.name: {} for record in self.records}
        yield from self._data_outcomes(confirmed)
        compared = {}
        for training in self.trainings:
            record = next(record for record in self.records if record.name == training.dataset)
            compared[training] = compare(record, training, self.folder, self._fold(training))
            yield Outcome(compared[training].ok, f"{training}: {compared[training].text}")
        yield from self._confirm_trainings(compared, confirmed)
        self._confirm_evaluation(compared, confirmed)
        for outcome, found in (each for part in self.parts for each in part.outcomes()):
            yield outcome
            for each in found:
                confirmed[each.record][each.key] = self._entry([each.sample], each.compared)
        for training, comparison in compared.items():
            if comparison.ok:
                self._add_digest(training, comparison.digest)
        for record in self.records:
            if confirmed[record.name] or any(training.dataset == record.name for training in compared):
                record.replace_code(confirmed[record.name], self.current[record.name])
        for key in self.unchecked:
            yield Outcome(None, f"code of `{key}`: changed, and not covered by this check")

    def _entry(self, sample: Iterable[Any], compared: str) -> dict[str, str]:
        return {"sample": "; ".join(map(str, sample)), "compared": compared, "commit": self.commit}

    def _data_outcomes(self, confirmed: dict[str, dict[str, Any]]) -> Iterator[Outcome]:
        """Compare the stamps of the stored data with the records."""
        for record, stages in self._changed_datasets(DATA_STAGES):
            stamps = self.plan.stored_stamps(record.name)
            paths: dict[str, str] = dict(zip((COLLECTION, PAIRS), stamps, strict=True))
            recorded = {name: digest for name, digest in record.content["data"].items() if name in paths}
            missing = [name for name in recorded if not (self.folder / paths[name]).is_file()]
            if missing:
                yield Outcome(None, f"{record.name}: {', '.join(missing)} not made: the text is not available")
                continue
            wrong = [name for name, digest in recorded.items() if sha256(self.folder / paths[name]) != digest]
            if wrong:
                yield Outcome(False, f"{record.name}: {', '.join(wrong)}: not equal to the record")
                continue
            yield Outcome(True, f"{record.name}: {' and '.join(recorded)} are equal")
            entry = self._entry([record.name], "SHA-256 of " + " and ".join(recorded))
            confirmed[record.name] |= dict.fromkeys(stages, entry)

    def _confirm_trainings(
        self, compared: dict[Training, Comparison], confirmed: dict[str, dict[str, Any]]
    ) -> Iterator[Outcome]:
        """Add the entries of all methods whose samples are equal."""
        entries, by_identity = {}, {}
        for sample in self.samples:
            if sample.trainings and all(compared[each].ok for each in sample.trainings):
                what = " and ".join(dict.fromkeys(compared[each].what for each in sample.trainings))
                entries[sample] = self._entry(sample.trainings, what)
                by_identity.setdefault(self._identity(sample), entries[sample])
        for sample, dataset in self.whole_methods:
            method = self.work.dataset(dataset).method(sample.method)
            digests = {
                record.content["read"][f"{dataset}/{sample.method}"] for record in sample.records if record.is_study
            }
            is_equal = method.evaluated and digests == {values_digest(method)}
            text = "values per query of all folds are equal" if is_equal else "values per query of all folds differ"
            yield Outcome(is_equal, f"{dataset}, {sample.method}: {text}")
            if is_equal:
                entries[sample] = self._entry([f"{dataset}, {sample.method}, all folds"], "values per query")
        for sample in self.samples:
            entry = entries.get(sample) or by_identity.get(self._identity(sample))
            if entry is None and not sample.trainings and sample not in dict(self.whole_methods):
                yield Outcome(None, f"{sample.method}: no sample, because no record has values to compare with")
            for record in sample.records if entry else ():
                confirmed[record.name][sample.key] = entry

    def _confirm_evaluation(self, compared: dict[Training, Comparison], confirmed: dict[str, dict[str, Any]]) -> None:
        for record, (stage,) in self._changed_datasets([EVALUATION]):
            own = {training: each for training, each in compared.items() if training.dataset == record.name}
            if own and all(each.values for each in own.values()):
                what = next(iter(own.values())).values
                confirmed[record.name][stage] = self._entry(own, what)

    def _add_digest(self, training: Training, digest: str) -> None:
        """Add the digest of a fold's scores to the record of the data set."""
        record = next(record for record in self.records if record.name == training.dataset)
        folds = record.methods[training.method].setdefault("folds", {})
        digests = folds.get(str(training.seed), " ".join("-" for _ in self.plan.folds(training.dataset))).split()
        digests[training.fold - 1] = digest
        folds[str(training.seed)] = " ".join(digests)


def _clean_commit() -> str:
    commit = revision(Path())
    if commit is None:
        raise GradrankError("not a git repository, so no commit can be recorded. Fix: run this in a clone")
    if commit.endswith("-dirty"):
        raise GradrankError(
            "code or settings differ from the commit that the records would name. Fix: commit or stash the changes"
        )
    return commit


def _with_absolute_paths(values: dict[str, Any]) -> dict[str, Any]:
    """Return params.yaml with absolute paths of the user's own data."""
    for section in (values.get("datasets") or {}).values():
        for key in ("path", "pairs"):
            if isinstance(section, dict) and section.get(key):
                section[key] = str(Path(section[key]).resolve())
    return values
