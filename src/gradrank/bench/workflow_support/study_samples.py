"""Samples of studies: their own jobs, and pages that are rendered again from committed files.

Where the results of the jobs are in git, a sampled job is compared with them. Otherwise, the job is run twice: with the
present code, and with that of the commit that wrote the recorded digest. The reduced form of a study is used if it has
one. The sample is drawn from the jobs whose model, according to the trials in git, trains in at most SECONDS; if no job
has such a model, from the jobs on the data set with the fastest trainings. The first drawn job that ends within LIMIT
is used.

Pages are compared byte by byte. A page can be rendered if it shows no trainings of the workflow, whose scores are not
in git, and if the results of the study's own jobs are in git. The other pages, and the summaries of the data sets, are
not confirmed.
"""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradrank.base.files import sha256
from gradrank.bench.config.code_digest import PACKAGE
from gradrank.bench.git import INPUTS, git
from gradrank.bench.parts import KINDS, PACKED_FILES, read_job
from gradrank.bench.provenance.record_checks import Record
from gradrank.bench.results import Results
from gradrank.bench.workflow_support.plan import Plan, as_json
from gradrank.bench.workflow_support.samples import Confirmation, Outcome, TrainingTimes, run_command, with_source

JOB = "study_job"
LIMIT = 300  # processor seconds of a job
TRAINING_SECONDS = 1.0  # processor seconds of one training of the model of a job
ATTEMPTS = 2  # drawn jobs that are tried until one ends within LIMIT
COMMITS = 5  # commits of a record that are tried
TIME = "seconds"  # key of a job's result that is not compared
DIGEST = """
import sys
try:
    from gradrank.bench.config.params import load
    from gradrank.bench.provenance.study_records import study_code
except ModuleNotFoundError:  # commits before gradrank.bench
    from gradrank.config.params import load
    from gradrank.provenance.study_records import study_code
print(study_code(load(), sys.argv[1])["study_job"])
"""


@dataclass
class JobSample:
    """The drawn jobs of a study, in the order in which they are tried.

    form: the study or its reduced form. in_git: whether the results of the jobs are in git. commits: the last
    commits that wrote the record, latest first. commit: the first of them whose code has the recorded digest. failure:
    the reason if no commit has it.
    """

    record: Record
    form: str
    jobs: list[str]
    in_git: bool
    commits: list[str]
    commit: str = ""
    failure: str = ""
    ended: list[str] = field(default_factory=list)


class JobSamples:
    """The samples that are to confirm the changed code of jobs of studies; see `TunedSamples` for the arguments."""

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
        self.plan, self.root, self.project, self.folder, self.count = plan, root, folder, folder / "jobs", count
        self.current, self.times = current, TrainingTimes(root).means
        self.samples = []
        for record in records:
            was = record.code().get(JOB)
            if record.is_study and was and was != current[record.name].get(JOB, was):
                self.samples.append(self._drawn(record, seed, set(only)))
        self.covered = {JOB} if self.samples else set()

    def _drawn(self, record: Record, seed: int, only: set[str]) -> JobSample:
        study = self.root.study(record.name)
        in_git = set(study.job_names())
        reduced = f"{record.name}/reduced"
        has_reduced = not in_git and reduced in self.plan.settings.studies and bool(self.plan.study_jobs(reduced))
        form = reduced if has_reduced else record.name
        jobs = self.plan.study_jobs(form)
        allowed = [name for name in jobs if not only or jobs[name].get("dataset") in (None, *only)]
        allowed = [name for name in allowed if not in_git or name in in_git]
        fast = [name for name in allowed if self._seconds(jobs[name]) <= TRAINING_SECONDS] or self._on_fastest(
            jobs, allowed
        )

        def position(name: str) -> str:
            return hashlib.sha256(f"{seed} {form} {name}".encode()).hexdigest()

        written = git("log", f"-{COMMITS}", "--format=%H", "--", str(record.path)) or b""
        drawn = sorted(fast, key=position)[: ATTEMPTS + self.count - 1]
        return JobSample(record, form, drawn, bool(in_git), written.decode().split())

    def _seconds(self, job: Mapping[str, Any]) -> float:
        model, dataset = str(job.get("model")), str(job.get("dataset"))
        return self.times.get((model, dataset), self.times.get((model,), float("inf")))

    def _on_fastest(self, jobs: Mapping[str, Any], names: Iterable[str]) -> list[str]:
        """Return the names of the jobs whose data set has the lowest mean time of a training."""
        seconds = {name: self.times.get((str(jobs[name].get("dataset")),), 0.0) for name in names}
        return [name for name, own in seconds.items() if own == min(seconds.values())]

    def datasets(self) -> list[str]:
        """Return the data sets that the drawn jobs may read."""
        jobs = [self.plan.study_jobs(sample.form)[name] for sample in self.samples for name in sample.jobs]
        return list(dict.fromkeys(job["dataset"] for job in jobs if "dataset" in job))

    def plan_lines(self) -> Iterator[str]:
        for sample in self.samples:
            how = "compared with its result in git" if sample.in_git else "also run with the code of the record"
            yield f"{sample.form}: the first of these jobs that end within {LIMIT} s, {how}: {', '.join(sample.jobs)}"
        if self.samples:
            runs = sum(1 if sample.in_git else 2 for sample in self.samples) * self.count
            yield f"plan: {runs} runs of jobs of studies; at most {LIMIT} s per run"

    def tasks(self) -> list[Callable[[], object]]:
        """Return one function per study, which runs its jobs."""
        for sample in self.samples:
            if not sample.in_git:
                sample.failure = self._prepare(sample)
        return [lambda sample=sample: self._compute(sample) for sample in self.samples if not sample.failure]

    def _former(self, sample: JobSample) -> Path:
        return self.project.resolve() / "code" / sample.commit

    def _prepare(self, sample: JobSample) -> str:
        """Find the commit whose code has the recorded digest. Return the reason if there is no such commit."""
        for commit in sample.commits:
            sample.commit = commit
            if self._has_recorded_code(sample):
                return ""
        commits = ", ".join(commit[:12] for commit in sample.commits) or "no commit"
        return f"the digest in the record is not that of the code of the commits that wrote it ({commits})"

    def _has_recorded_code(self, sample: JobSample) -> bool:
        """Write the code of a sample's commit to a folder, and return whether it has the digest of the record."""
        folder, names = self._former(sample), (git("ls-tree", "--name-only", sample.commit) or b"").decode().split()
        if not (folder / "src").is_dir():
            packed = git("archive", "--format=tar", sample.commit, *[name for name in INPUTS if name in names])
            if "src" not in names or not packed:
                return False
            folder.mkdir(parents=True, exist_ok=True)
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(folder, filter="data")
            if pyproject := git("show", f"{sample.commit}:pyproject.toml"):
                write_entry_points(pyproject.decode(), folder / "src")
        command = [sys.executable, "-c", DIGEST, sample.record.name]
        own = subprocess.run(command, cwd=folder, env=with_source(folder / "src"), capture_output=True, text=True)
        return own.stdout.strip() == sample.record.code()[JOB]

    def _compute(self, sample: JobSample) -> None:
        """Run the drawn jobs until `count` of them ended, with the former code as well if no results are in git."""
        for name in sample.jobs:
            if len(sample.ended) == self.count:
                return
            if self._run(sample, name, self._path(sample, name), self.project, PACKAGE.parent):
                sample.ended.append(name)
                if not sample.in_git:
                    former = self._former(sample)
                    self._run(sample, name, self._former_path(sample, name), former, former / "src")

    def _run(self, sample: JobSample, name: str, path: Path, folder: Path, source: Path) -> bool:
        """Run a job in a folder whose models and studies it uses. Return whether it wrote its result."""
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            settings = as_json(self.plan.study_jobs(sample.form)[name])
            arguments = ["study-job", sample.form.partition("/")[0], name, "--settings", settings]
            data = (self.project / "data/parquet").resolve()
            arguments += ["--data", str(data), "--seed", str(self.plan.settings.seed), "--out", str(path.resolve())]
            run_command(arguments, folder, path.with_suffix(".log"), source, LIMIT)
        return path.is_file()

    def _path(self, sample: JobSample, name: str) -> Path:
        return self.folder / self.current[sample.record.name][JOB] / sample.form / f"{name}.json"

    def _former_path(self, sample: JobSample, name: str) -> Path:
        """Return the file with the result of a job with the former code."""
        return self.folder / sample.record.code()[JOB] / sample.form / f"{name}.json"

    def _expected(self, sample: JobSample, name: str) -> Any:
        """Return the result of a job in git, or else with the former code."""
        if sample.in_git:
            return self.root.study(sample.record.name).job(name)
        return read_job(self._former_path(sample, name))

    def outcomes(self) -> Iterator[tuple[Outcome, list[Confirmation]]]:
        """Compare the jobs; yield each outcome with the digests that it confirms."""
        for sample in self.samples:
            form, failure = sample.form, sample.failure
            if not failure and not sample.ended:
                failure = f"none of {', '.join(sample.jobs)} ended within {LIMIT} s; see the logs in {self.folder}"
            missing = [name for name in sample.ended if not self._former_path(sample, name).is_file()]
            if missing and not sample.in_git:
                failure = f"{missing[0]} did not end with the former code; see the logs in {self.folder}"
            if failure:
                yield Outcome(None, f"{form}: code of `{JOB}`: changed, and not confirmed: {failure}"), []
                continue
            wrong = [
                name
                for name in sample.ended
                if _without_times(read_job(self._path(sample, name))) != _without_times(self._expected(sample, name))
            ]
            jobs, other = ", ".join(sample.ended), "git" if sample.in_git else f"the code of {sample.commit}"
            text = f"results without times, with those of {other}"
            found = Confirmation(
                sample.record.name, JOB, f"{form}: {jobs} (drawn from jobs of at most {LIMIT} s)", text
            )
            yield (
                Outcome(not wrong, f"{form}, job {jobs}: {'not equal' if wrong else 'equal'}"),
                [] if wrong else [found],
            )


def write_entry_points(pyproject: str, source: Path) -> None:
    """Declare the entry points of the text of a pyproject.toml for the packages in the folder `source`.

    They replace those of the installed gradrank if `source` is in PYTHONPATH. Commits without the folder studies/ find
    their studies through an entry point.
    """
    metadata = source / f"{PACKAGE.name}-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE.name}\nVersion: 0\n")
    groups = tomllib.loads(pyproject)["project"].get("entry-points", {})
    lines = [line for name in groups for line in (f"[{name}]", *(f"{k} = {v}" for k, v in groups[name].items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if key != TIME}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


PAGE, SUMMARY = "study", "summary"
PAGE_SECONDS = 30  # expected processor time of a page
PAGE_INPUTS = (*KINDS, *PACKED_FILES, "choices.json")  # files of a study that its page may read


class PageSamples:
    """The pages that are to confirm the changed code of pages; see `TunedSamples` for the arguments.

    reasons: why a page cannot be rendered; the key is the record.
    """

    def __init__(
        self,
        plan: Plan,
        root: Results,
        records: Iterable[Record],
        current: Mapping[str, Mapping[str, str]],
        folder: Path,
    ) -> None:
        self.plan, self.root, self.project, self.folder = plan, root, folder, folder / "pages"
        self.pages: list[Record] = []
        self.reasons: dict[str, str] = {}
        for record in records:
            stage, code = PAGE if record.is_study else SUMMARY, record.code()
            if code.get(stage) == current[record.name].get(stage):
                continue
            if reason := self._reason(record):
                self.reasons[record.name] = reason
            else:
                self.pages.append(record)
        self.covered = {PAGE, SUMMARY}

    def _reason(self, record: Record) -> str:
        """Return why a page cannot be rendered from files in git; empty if it can."""
        if not record.is_study:
            return "the summary needs the scores of all methods, which are not in git"
        settings = self.plan.settings
        if settings.studies[record.name].datasets and settings.shown_methods(record.name):
            return "the page needs the scores of its methods, which are not in git"
        is_complete = set(self.root.study(record.name).job_names()) >= set(self.plan.study_jobs(record.name))
        return "" if is_complete else "the page needs results of jobs that are not in git"

    def datasets(self) -> list[str]:
        """Return the data sets that the pages may read."""
        studies = self.plan.settings.studies
        return list(dict.fromkeys(dataset for record in self.pages for dataset in studies[record.name].datasets))

    def plan_lines(self) -> Iterator[str]:
        if self.pages:
            names = ", ".join(record.name for record in self.pages)
            yield f"plan: pages to render: {names}; about {len(self.pages) * PAGE_SECONDS / 60:.1f} processor minutes"

    def tasks(self) -> list[Callable[[], object]]:
        """Return the functions that render the pages."""
        return [lambda record=record: self._render(record) for record in self.pages]

    def _render(self, record: Record) -> None:
        made, committed = Results(self.folder).study(record.name).folder, self.root.study(record.name).folder
        made.mkdir(parents=True, exist_ok=True)
        for name in PAGE_INPUTS:
            if (committed / name).exists() and not (made / name).is_symlink():
                (made / name).symlink_to((committed / name).resolve())
        for name in record.content["files"]:
            if not (made / name).is_symlink():
                (made / name).unlink(missing_ok=True)
        arguments = ["study", record.name, "--settings", self.plan.study_settings(record.name)]
        arguments += ["--results", os.path.relpath(self.folder, self.project), "--data", "data/parquet"]
        run_command(arguments, self.project, self._log(record))

    def _log(self, record: Record) -> Path:
        return self.folder / "logs" / f"{record.name}.log"

    def outcomes(self) -> Iterator[tuple[Outcome, list[Confirmation]]]:
        """Compare the pages; yield each outcome with the digests that it confirms."""
        for record in self.pages:
            made, files = Results(self.folder).study(record.name).folder, record.content["files"]
            if not all((made / name).is_file() for name in files):
                yield Outcome(None, f"page of {record.name}: not rendered; see {self._log(record)}"), []
                continue
            wrong = [name for name, digest in files.items() if sha256(made / name) != digest]
            text = f"{', '.join(wrong)} not equal" if wrong else f"all {len(files)} files are equal"
            what = Confirmation(record.name, PAGE, "the whole page", f"bytes of {len(files)} files")
            yield Outcome(not wrong, f"page of {record.name}: {text}"), [] if wrong else [what]
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.reasons.items():
            by_reason.setdefault(reason, []).append(name)
        for reason, names in by_reason.items():
            yield Outcome(None, f"pages of {', '.join(names)}: changed code, and not rendered: {reason}"), []
