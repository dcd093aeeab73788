"""The tables of the leaderboard, from committed results: means, and paired differences between all methods.

A board shows one data set under one convention and one protocol. The protocol `run` has one setting per method for all
folds (results/<dataset>/summary.json and queries.parquet). It is shown under every convention that queries.parquet has.
The protocol `contest` tunes each method per fold (results/studies/contest/numbers.json). It is shown under the primary
convention of the data set.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from gradrank.base.files import read_json, write_json
from gradrank.base.stamps import read_stamp
from gradrank.base.text_tables import is_missing
from gradrank.bench.folds.per_query import QueryValues, compact_conventions, read_compact
from gradrank.bench.folds.settings import baseline_of, primary_convention
from gradrank.bench.provenance.submissions import QUERIES, STAMP
from gradrank.bench.report.contents import committed_values, mean_rows
from gradrank.bench.report.plots.paired_tests import paired_tests
from gradrank.bench.report.readme import JUDGED, contest_best, contest_differences
from gradrank.bench.report.standings import families
from gradrank.bench.report.tables.dataset_values import MARKS, DatasetValues, baseline_rows, headline_metric
from gradrank.bench.report.tables.table import Row, descending, in_bold
from gradrank.bench.results import Results
from gradrank.cli.family_names import family_name
from gradrank.comparison.significance import decide_row
from gradrank.data.sources.catalogue import catalogue
from gradrank.training.literature import OTHERS, year
from gradrank.training.registry import models

SIGNS = {"better": 1, "worse": -1, "no evidence": 0}


@dataclass(frozen=True)
class Entry:
    """A row of a board.

    page: address of the page of the method without its suffix, relative to the leaderboard. cells: mean, half the 95%
    interval and whether the mean is bold, per metric.
    """

    method: str
    family: str
    year: str
    page: str
    cells: Mapping[str, tuple[float | None, float | None, bool]]


@dataclass(frozen=True)
class Board:
    """A table of the leaderboard, best method first.

    is_primary: whether the convention is the primary one of the data set. metrics: the metrics of the columns. Under
    other conventions, these are the metrics of queries.parquet. tests: see `paired_tests`; a further item is 1 if the
    first method of the pair is better by the decision rule, -1 if it is worse, and 0 otherwise, with Holm's correction
    for all pairs. decisions: the same number per metric and method for the difference from the baseline, with Holm's
    correction for the methods only, because the baseline was chosen before the results. The outer keys are metrics.
    """

    dataset: str
    title: str
    convention: str
    is_primary: bool
    protocol: str
    baseline: str
    metrics: Sequence[str]
    entries: Sequence[Entry]
    tests: Mapping[str, Mapping[str, Sequence[float | None]]]
    decisions: Mapping[str, Mapping[str, int]]

    @property
    def page(self) -> str:
        """The page of the data set under the convention, which is that of the data set if it is the primary one."""
        return self.dataset if self.is_primary else f"{self.dataset}-{self.convention}"

    @property
    def id(self) -> str:
        return f"{self.page}-{self.protocol}"

    @property
    def headline(self) -> str:
        return headline_metric(self.metrics)

    def data(self) -> dict[str, Any]:
        """Return the data for the script of the page."""
        names = [entry.method for entry in self.entries]
        return {
            "models": names,
            "baseline": self.baseline,
            "tests": self.tests,
            "decisions": self.decisions,
            "marks": MARKS,
        }


class Submission(NamedTuple):
    """A submission in submissions/<dataset>/<method>/. about: content of submission.json."""

    folder: Path
    about: Mapping[str, Any]

    @property
    def uri(self) -> str:
        return f"submissions/{self.about['dataset']}/{self.about['method']}"


def read_submissions(folder: Path) -> list[Submission]:
    """Return the submissions below a folder, sorted by data set and method."""
    return [Submission(stamp.parent, read_stamp(stamp)) for stamp in sorted(folder.glob(f"*/*/{STAMP}"))]


def boards(folder: Path, params: Mapping[str, Any], submissions: Sequence[Submission] = ()) -> Iterator[Board]:
    """Yield the boards of all data sets with a summary. Artificial data come last.

    folder: the results root. params: content of params.yaml.
    """
    root = Results(folder)
    contest = root.study("contest").numbers_path
    numbers = read_json(contest) if contest.is_file() else {}
    names = [dataset.name for dataset in root.datasets() if dataset.summarised]
    for name in sorted(names, key=lambda name: (_is_artificial(name), name not in ("mq2007", "ohsumed"), name)):
        own = [each for each in submissions if each.about["dataset"] == name]
        primary, *others = run_boards(root, name, params, own)
        yield primary
        if f"results_{name}" in numbers:
            yield contest_board(numbers, name, params)
        yield from others


def run_boards(
    root: Results, name: str, params: Mapping[str, Any], submissions: Sequence[Submission] = ()
) -> Iterator[Board]:
    """Yield the boards of the run with one setting per method, and of the submissions for this data set.

    There is one board per convention of the committed values. The first is that of the primary convention. Submissions
    of methods that the summary has are left out.
    """
    dataset, baseline = root.dataset(name), baseline_of(params)
    summary = read_json(dataset.summary_path)
    submissions = [each for each in submissions if each.about["method"] not in summary]
    primary = committed_values(dataset, summary, primary_convention(params, name, None), baseline)
    if not primary.values:
        raise ValueError(f"{dataset.queries_path}: not the values of {dataset.summary_path}. Fix: run `make versions`")
    for convention in compact_conventions(dataset.queries_path):
        values, means = primary, summary
        if convention != primary.primary:
            measured = read_compact(dataset.queries_path, convention)[1]
            values = DatasetValues(name, convention, {model: {convention: of} for model, of in measured.items()})
            means = {model: _means(of) for model, of in measured.items()}
        yield _run_board(values, means, primary.primary, baseline, submissions)


def _run_board(
    values: DatasetValues, summary: Mapping[str, Any], primary: str, baseline: str, submissions: Sequence[Submission]
) -> Board:
    """Return the board under the convention of `values`. primary: the primary convention of the data set."""
    values = replace(values, baseline=baseline)
    for each in submissions:
        if values.primary not in compact_conventions(each.folder / QUERIES):
            if values.primary == primary:
                raise ValueError(f"{each.folder}: no values under {primary}. Fix: run `gradrank submit` again")
            continue
        values, summary = _with_submission(each, values, summary)
    declared = [row for row in baseline_rows(values) if row["baseline"] == baseline and row["decision"]]
    rows = list(mean_rows(summary, values))
    board = _board(values.dataset, values.primary, "run", baseline, rows, values.pairs, declared)
    about = {each.about["method"]: each for each in submissions}
    entries = [_described(entry, about.get(entry.method)) for entry in board.entries]
    return replace(board, is_primary=values.primary == primary, entries=entries)


def _means(values: QueryValues) -> dict[str, float]:
    return {metric: round(values.mean(metric), 4) for metric in values.values}


def _with_submission(
    submission: Submission, values: DatasetValues, summary: Mapping[str, Any]
) -> tuple[DatasetValues, Mapping[str, Any]]:
    """Return the values and the means of a data set with those of a submission."""
    method, convention = submission.about["method"], values.primary
    own = read_compact(submission.folder / QUERIES, convention)[1][method].reordered_like(values.first)
    if not own.same_queries(values.first):
        raise ValueError(f"{submission.folder}: not for these results. Fix: `gradrank verify` says what differs")
    return replace(values, values={**values.values, method: {convention: own}}), {**summary, method: _means(own)}


def _described(entry: Entry, submission: Submission | None) -> Entry:
    """Return an entry with the year and the page of its submission, if it is one."""
    if submission is None:
        return entry
    return replace(
        entry, family="submissions", year=str(submission.about.get("year") or ""), page=f"../{submission.uri}"
    )


def contest_board(numbers: Mapping[str, Any], name: str, params: Mapping[str, Any]) -> Board:
    """Return the board of the contest. numbers: content of the study's numbers.json."""
    convention, baseline = primary_convention(params, name, None), baseline_of(params)
    best, results = contest_best(numbers, name), numbers[f"results_{name}"]
    metrics = [key for key in results[0] if f"{key} half" in results[0]]
    rows = [
        {"model": row["method"], "metric": metric, "mean": row[metric], "half_width": row[f"{metric} half"]}
        | {"p_best": best[row["method"]].p if metric == JUDGED else None}
        for row in results
        for metric in metrics
        if row["method"] in best  # the other rows are reference rankings, such as a constant score
    ]
    pairs = [_contest_pair(row) for row in numbers[f"pairs_{name}"]]
    declared = [row | {"metric": JUDGED} for row in contest_differences(numbers, name)]
    return _board(name, convention, "contest", baseline, rows, pairs, declared)


def _contest_pair(row: Mapping[str, Any]) -> Row:
    """Return a row of the contest's table of pairs with the keys of the table pairwise."""
    about = {"metric": JUDGED, "model_a": row["first"], "model_b": row["second"]}
    gap = {key: row[key] for key in ("difference", "low", "high")}
    unknown = dict.fromkeys(("wins", "ties", "losses", "t_holm"))
    return about | gap | unknown | {"wilcoxon_holm": row["corrected"]}


def _board(
    name: str,
    convention: str,
    protocol: str,
    baseline: str,
    rows: Sequence[Row],
    pairs: Sequence[Row],
    declared: Sequence[Row],
) -> Board:
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    by_metric = {metric: {row["model"]: row for row in rows if row["metric"] == metric} for metric in metrics}
    bold = {metric: in_bold(of_metric) for metric, of_metric in by_metric.items()}
    headline = by_metric[headline_metric(metrics)]
    ordered = sorted(headline, key=lambda model: (descending(headline[model]["mean"]), model))
    return Board(
        dataset=name,
        title=catalogue()[name].title if name in catalogue() else name,
        convention=convention,
        is_primary=True,
        protocol=protocol,
        baseline=baseline if baseline in ordered else ordered[0],
        metrics=metrics,
        entries=[_entry(model, by_metric, bold) for model in ordered],
        tests=_tests(pairs, ordered),
        decisions={
            metric: {row["model"]: SIGNS[row["decision"]] for row in declared if row["metric"] == metric}
            for metric in {row["metric"]: None for row in pairs}
        },
    )


def _entry(model: str, by_metric: Mapping[str, Mapping[str, Row]], bold: Mapping[str, set[str]]) -> Entry:
    cells = {}
    for metric, rows in by_metric.items():
        row = rows.get(model, {})
        mean, half = row.get("mean"), row.get("half_width")
        cells[metric] = mean, None if half is None or is_missing(half) else half, model in bold[metric]
    cls = models().get(model)
    return Entry(
        model, family_name(families().get(model, OTHERS)), year(cls) if cls else "", f"../methods/{model}", cells
    )


def _tests(pairs: Sequence[Row], ordered: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the result of `paired_tests` with the decision as a further item."""
    tests: dict[str, dict[str, Any]] = paired_tests(pairs, ordered)
    for row in pairs:
        i, j = ordered.index(row["model_a"]), ordered.index(row["model_b"])
        sign = SIGNS[decide_row(row)]
        tests[row["metric"]][f"{min(i, j)},{max(i, j)}"].append(sign if i < j else -sign)
    return tests


def cached(path: Path, key: str, make: Callable[[], list[Board]]) -> list[Board]:
    """Return the boards in a JSON file if they have this key. Otherwise, make the boards and write the file.

    The paired tests of all methods take most of the time of a build of the site. key: digest of everything that the
    boards depend on.
    """
    if path.is_file():
        stored = read_json(path)
        if stored["key"] == key:
            return [
                Board(**each | {"entries": [Entry(**entry) for entry in each["entries"]]}) for each in stored["boards"]
            ]
    made = make()
    write_json(path, {"key": key, "boards": [asdict(board) for board in made]})
    return made


def board_rows(shown: Sequence[Board]) -> pl.DataFrame:
    """Return the means of all boards, one row per board, method and metric.

    `may_be_best` is True if the mean is bold on the page. `half_width` is half the 95% interval, or null.
    """
    rows = [
        {"dataset": board.dataset, "convention": board.convention, "protocol": board.protocol}
        | {"method": entry.method, "family": entry.family, "year": entry.year, "metric": metric}
        | {"mean": mean, "half_width": half, "may_be_best": is_bold}
        for board in shown
        for entry in board.entries
        for metric, (mean, half, is_bold) in entry.cells.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _is_artificial(name: str) -> bool:
    return name in catalogue() and catalogue()[name].generator is not None
