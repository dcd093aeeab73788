"""Pages of studies that are rendered again from committed files, and compared byte by byte.

A page can be rendered if it shows no trainings of the workflow, whose scores are not in git, and if the results of the
study's own jobs are in git. The other pages, and the summaries of the data sets, are not confirmed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from gradrank.base.files import sha256
from gradrank.bench.provenance.record_code import Record
from gradrank.bench.results import Results
from gradrank.bench.workflow_support.plan import Plan
from gradrank.bench.workflow_support.sample_commands import run_command
from gradrank.bench.workflow_support.samples import Confirmation, Outcome

PAGE, SUMMARY = "study", "summary"
SECONDS = 30  # expected processor time of a page
INPUTS = ("trials", "values", "divisions", "jobs", "choices.json")  # files of a study that its page may read


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
        jobs = [self.root.study(record.name).job_path(name) for name in self.plan.study_jobs(record.name)]
        return "" if all(path.is_file() for path in jobs) else "the page needs results of jobs that are not in git"

    def datasets(self) -> list[str]:
        """Return the data sets that the pages may read."""
        studies = self.plan.settings.studies
        return list(dict.fromkeys(dataset for record in self.pages for dataset in studies[record.name].datasets))

    def plan_lines(self) -> Iterator[str]:
        if self.pages:
            names = ", ".join(record.name for record in self.pages)
            yield f"plan: pages to render: {names}; about {len(self.pages) * SECONDS / 60:.1f} processor minutes"

    def tasks(self) -> list[Callable[[], object]]:
        """Return the functions that render the pages."""
        return [lambda record=record: self._render(record) for record in self.pages]

    def _render(self, record: Record) -> None:
        made, committed = Results(self.folder).study(record.name).folder, self.root.study(record.name).folder
        made.mkdir(parents=True, exist_ok=True)
        for name in INPUTS:
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
