"""The page of the contest: results, answers to the questions, variances, choices, budgets, and agreement."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from gradrank.base.files import sha256
from gradrank.base.text_tables import number
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Figure, Inputs, PageSection
from gradrank.bench.tuning.folders import Contest
from studies.contest import comparisons, tables
from studies.contest.comparisons import BASELINES, agreement
from studies.contest.results import ContestEntry, budgets_in_words, crossings, curves, read_entries
from studies.contest.tables import MEASURE, timeline
from studies.contest.training_variance import EstimatesOverTrainings, TrainingVariance, read_training_variance
from studies.contest.training_variance import rule as training_rule

SEEN = ("mq2007", "ohsumed", "clueweb09", "yandex_imat2009")
EXPLORATORY = (
    "This analysis is exploratory, because test values had been seen before its questions were fixed. An earlier "
    "contest had evaluated the same methods on MQ2007 and OHSUMED, and all queries of Yandex IMAT 2009 and ClueWeb09 "
    "had been used to evaluate methods with fixed settings. On MQ2007, the earlier contest, which corrected for all "
    "pairs, had p = .92 for `xendcg` and 1 for `ranknet_kernel` against `ranksvm`. The family of comparisons, the "
    "number of tuners and the estimate of the variance were changed after it. No configuration was chosen by a test "
    "value. A confirmation needs queries that the project has not used."
)


def build(inputs: Inputs) -> list[PageSection]:
    """Return the sections of the page.

    The sections on each data set come first. The section on the agreement between data sets comes last.
    """
    frozen = list(inputs.settings.get("frozen", ()))
    entries_by_dataset = {dataset: read_entries(inputs, dataset) for dataset in [*inputs.datasets, *frozen]}
    sections, appendix = [], []
    for dataset, entries in entries_by_dataset.items():
        training = read_training_variance(inputs, dataset, entries)
        estimates = EstimatesOverTrainings({entry.method: entry.runs() for entry in entries}, training)
        sections += [
            _results(inputs, dataset, entries),
            *_questions(dataset, estimates),
            *filter(None, [timeline(dataset, entries, estimates)]),
            _shares(dataset, entries, training),
            _whole(dataset, entries, training),
        ]
        if dataset not in frozen:
            sections += [_choosing(inputs, dataset, entries), *_budget(dataset, entries)]
        appendix += [_pairs(dataset, estimates), _files(inputs, dataset, entries)]
    several = [_agreement(entries_by_dataset, frozen)] if len(entries_by_dataset) > 1 else []
    is_seen = not set(SEEN).isdisjoint(inputs.datasets)
    status = [PageSection("status", "Status of this analysis", [EXPLORATORY])] if is_seen else []
    return [*status, *sections, *several, *appendix]


def _results(inputs: Inputs, dataset: str, entries: Sequence[ContestEntry]) -> PageSection:
    """Return the section on the means over folds."""
    settings, queries = inputs.settings, len(entries[0].folds)
    if entries[0].trials:
        tuned = (
            f"Per fold: {budgets_in_words(entries)} The first configuration is the default. The others are drawn from "
            f"the method's space. The fold's own validation part alone chose by {MEASURE}. The choice was trained with "
            f"{settings['seeds']} new seeds, or with one if the method uses no random numbers. choices.json contains "
            "all choices, and was committed before any test part was scored."
        )
    else:
        tuned = (
            f"Nothing was tried on {dataset}. The one configuration of each tuner for all folds of "
            f"{inputs.datasets[0]} was trained here."
        )
    text = f"{tuned} Convention: `{settings['conventions'][dataset]}`. {queries:,} test queries."
    return PageSection(f"results_{dataset}", f"{dataset}: results", [text], [tables.results(dataset, entries)])


def _questions(dataset: str, estimates: EstimatesOverTrainings) -> list[PageSection]:
    """Return the section on the questions that were stated before the results."""
    content, paragraphs = [], [comparisons.rule(), training_rule(estimates.training, estimates.methods)]
    for baseline in BASELINES:
        if baseline in estimates.methods and len(estimates.methods) > 1:
            rows = estimates.against(baseline)
            paragraphs.append(comparisons.against(baseline, rows))
            content.append(tables.against(dataset, baseline, rows))
    rows = estimates.not_worse()
    paragraphs.append(comparisons.not_worse(rows))
    content.append(tables.not_worse(dataset, rows))
    return [PageSection(f"questions_{dataset}", f"{dataset}: the questions", paragraphs, content)]


def _pairs(dataset: str, estimates: EstimatesOverTrainings) -> PageSection:
    """Return the appendix with the comparisons of all pairs."""
    rows = estimates.pairs()
    separated = sum(row["verdict"] != comparisons.NO_EVIDENCE for row in rows)
    text = (
        f"{separated} of {len(rows)} pairs are separated after Holm's correction for all pairs. This correction is far "
        "larger than those of the questions. The table is for readers with a question about a single pair."
    )
    title = f"Appendix, {dataset}: all pairs"
    return PageSection(f"pairs_{dataset}_appendix", title, [text], [tables.pairs(dataset, rows)])


def _files(inputs: Inputs, dataset: str, entries: Sequence[ContestEntry]) -> PageSection:
    """Return the appendix with the digests of the files."""
    contest, methods = Contest(inputs.folder), sorted(entry.method for entry in entries)
    digests = {contest.choices_path.name: sha256(contest.choices_path)}
    for parts in (contest.trials, contest.values, contest.divisions):
        keys = [key for method in methods for key in parts.existing(dataset, method)]
        digests |= {parts.name(*key): parts.sha256(*key) for key in keys}
    text = (
        "`python tools/check_contest.py` recomputes every number of the tables from the files in git. `git log "
        "--diff-filter=A --format='%h %cI' -- FILE` prints when a file was added: choices.json before the test values."
    )
    table = tables.files(dataset, digests)
    return PageSection(f"files_{dataset}_appendix", f"Appendix, {dataset}: files", [text], [table])


def _shares(dataset: str, entries: Sequence[ContestEntry], training: TrainingVariance) -> PageSection:
    """Return the section on the variance of a single run."""
    table = tables.shares(dataset, entries, training)
    complete = [row for row in table.rows if row["training"] is not None]
    text = _shares_in_words("Mean over the methods", table.rows)
    if complete:
        text = (
            _shares_in_words(f"Mean over the {len(complete)} methods with other divisions of the queries", complete)
            + " The share of the training queries does not contain the seeds. It is at least this large, because all "
            "divisions have the same queries."
        )
    return PageSection(f"variances_{dataset}", f"{dataset}: what a single run depends on", [text], [table])


def _shares_in_words(what: str, rows: Sequence[Row]) -> str:
    means = {
        source: [row[source] for row in rows if row[source] is not None and not np.isnan(row[source])]
        for source in tables.SOURCES
    }
    shares = [f"{source} {np.mean(values):.0%}" for source, values in means.items() if values]
    return f"{what}: {', '.join(shares)}." if shares else "Nothing varies."


def _whole(dataset: str, entries: Sequence[ContestEntry], training: TrainingVariance) -> PageSection:
    """Return the section on the training on all labelled data."""
    table = tables.whole(dataset, entries)
    paragraphs = [comparisons.over_methods("Trained on the validation part, too", table.rows, "gain")]
    content, trained = [table], {entry.method: runs for entry in entries if (runs := entry.whole())}
    for entry in entries:
        if entry.combines_scores and trained:
            runs = {entry.method: entry.runs()} | trained
            rows = EstimatesOverTrainings(runs, training).against(entry.method)
            paragraphs.append(f"Methods trained on both parts. {comparisons.against(entry.method, rows)}")
            content.append(tables.against_whole(dataset, entry.method, rows))
    return PageSection(f"whole_{dataset}", f"{dataset}: equal information", list(filter(None, paragraphs)), content)


def _choosing(inputs: Inputs, dataset: str, entries: Sequence[ContestEntry]) -> PageSection:
    """Return the section on the chosen configurations.

    The section gives the gain from tuning, the values at equal processor time, and the additional gain from choosing
    one configuration for all folds. This choice has a leak: the test queries of each fold are validation queries of
    another fold. It also uses more validation queries.
    """
    table = tables.choosing(dataset, entries)
    seconds = f"{inputs.settings['seconds']:g} processor seconds"
    paragraphs = [
        comparisons.over_methods("Tuned, compared with the default", table.rows, "gain"),
        comparisons.over_methods(f"With {seconds} per fold, compared with all trials", table.rows, "loss"),
        comparisons.over_methods(
            "One configuration for all folds, compared with a choice per fold", table.rows, "leak"
        ),
    ]
    failed = tables.failed(dataset, entries)
    content = [table, tables.chosen(dataset, entries), *([failed] if failed.rows else [])]
    return PageSection(f"choosing_{dataset}", f"{dataset}: what was chosen", list(filter(None, paragraphs)), content)


def _budget(dataset: str, entries: Sequence[ContestEntry]) -> list[PageSection]:
    """Return the section on the expected best validation value as a function of the number of trials, if any."""
    curves_by_method = curves({entry.method: entry.trials for entry in entries})
    if not curves_by_method:
        return []
    crossed, table = crossings(curves_by_method), tables.budget(dataset, curves_by_method)
    alt = f"{dataset}: expected best validation {MEASURE} of n drawn configurations, by n. " + ", ".join(
        f"{method} {number(float(curve[0]))} to {number(float(curve[-1]))}"
        for method, curve in curves_by_method.items()
    )
    series = [Series(method, range(1, len(curve) + 1), curve.tolist()) for method, curve in curves_by_method.items()]
    drawing = line_chart(series, "trials", f"expected validation {MEASURE}", alt)
    figure = Figure(f"budget_{dataset}_figure", table.title, drawing, alt, table)
    paragraphs = [
        "For every number of trials, the figure shows the expected highest validation value (Dodge et al. 2019). It is "
        "computed exactly over all sets of so many drawn configurations. The default is not among them.",
        f"The order of two methods depends on the budget in {len(crossed)} pairs.",
    ]
    content = [figure, *([tables.crossings(dataset, crossed)] if crossed else [])]
    return [PageSection(f"budget_{dataset}", f"{dataset}: what a budget is worth", paragraphs, content)]


def _agreement(entries_by_dataset: dict[str, list[ContestEntry]], frozen: Sequence[str]) -> PageSection:
    """Return the section on Kendall's tau between the orders of the methods, for every pair of data sets."""
    rows = []
    for first, second in combinations(entries_by_dataset, 2):
        methods = sorted(entry.method for entry in entries_by_dataset[first])
        tau = agreement(*_matrix(entries_by_dataset[first], methods), *_matrix(entries_by_dataset[second], methods))
        rows.append({"first": first, "second": second} | tau._asdict())
    columns = [Column("first"), Column("second"), Column("tau", "Kendall's tau", ".3f")]
    columns += [Column("low", "95% interval from", ".3f"), Column("high", "to", ".3f")]
    paragraphs = [
        f"{row['first']} and {row['second']} order the methods with tau {number(row['tau'], '.2f')} "
        f"(95%: {number(row['low'], '.2f')} to {number(row['high'], '.2f')}): the orders "
        f"{'are positively associated' if row['low'] > 0 else 'are not shown to be associated'}."
        for row in rows
    ]
    if frozen:
        paragraphs.append(f"Evaluated once, with frozen configurations: {comparisons.join_names(list(frozen))}.")
    note = "1: the same order. The interval is over both collections' queries."
    table = Table("agreement", "Do collections order the methods alike?", columns, rows, note)
    return PageSection("agreement", "Does the order hold?", paragraphs, [table])


def _matrix(entries: Sequence[ContestEntry], methods: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays: the (q, m) means over runs, and the (q,) folds of the queries.

    The columns of the first array are in the order of `methods`.
    """
    by_method = {entry.method: entry.runs() for entry in entries}
    return np.stack([by_method[name].per_query for name in methods], axis=1), by_method[methods[0]].folds
