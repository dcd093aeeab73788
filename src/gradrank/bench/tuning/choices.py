"""The file choices.json, which contains all choices of a contest and is committed to git.

No test part is scored before the file contains the choice.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, write_json
from gradrank.bench.tuning.folders import Contest
from gradrank.bench.tuning.selection import JUDGED, Choice, choose, digest, read_trials


def write_choices(contest: Contest, parts: Iterable[tuple[str, str, int]], seconds: float) -> None:
    """Write choices.json.

    The keys are `<dataset>/<method>/fold<k>`. Each value contains a digest of the choices and, for each tuner, the
    selected trials and the configuration of the choice. parts: the data set, the method and the number of each tuner.
    seconds: processor time for the trial `timed` of a choice. Raises GradrankError if choices.json exists and gradrank
    has not written it.
    """
    if contest.choices_path.exists():
        _read_choices(contest)
    chosen: dict[str, list[Choice]] = {}
    for dataset, method, tuner in parts:
        for choice in choose(read_trials(contest.trials_path(dataset, method, tuner)), seconds):
            chosen.setdefault(f"{dataset}/{method}/fold{choice.fold}", []).append(choice)
    entries = {
        key: {"sha256": digest(choices)} | {f"tuner{choice.tuner}": choice.entry for choice in choices}
        for key, choices in chosen.items()
    }
    write_json(contest.choices_path, entries)


def _read_choices(contest: Contest) -> dict[str, Any]:
    """Return the content of choices.json. Raises GradrankError if it does not have the form of choices."""
    entries = read_json(contest.choices_path)
    if isinstance(entries, dict) and all(isinstance(entry, dict) and "sha256" in entry for entry in entries.values()):
        return entries
    raise GradrankError(
        f"{contest.choices_path}: contains no choices, so gradrank has not written it. Fix: move it, and run "
        f"`snakemake {contest.choices_path}`"
    )


def frozen_choices(contest: Contest, dataset: str, method: str, tuner: int, seconds: float) -> list[Choice]:
    """Return the choices of a tuner on each fold, which choices.json has to contain.

    Raises GradrankError if choices.json does not contain the choices that follow from the trials.
    """
    choices = choose(read_trials(contest.trials_path(dataset, method, tuner)), seconds)
    written = _read_choices(contest) if contest.choices_path.is_file() else {}
    for choice in choices:
        key = f"{dataset}/{method}/fold{choice.fold}"
        if written.get(key, {}).get(f"tuner{tuner}") != choice.entry:
            raise GradrankError(
                f"{contest.choices_path}: {key}: does not contain the choice of tuner {tuner} that follows from the "
                f"trials. Fix: run `snakemake {contest.choices_path}`, and commit the file before a test part is scored"
            )
    return choices


def by_validation(
    contest: Contest, datasets: Iterable[str], methods: Iterable[str], tuners: int
) -> Mapping[str, float]:
    """Return the mean rank of each method over the data sets by its validation NDCG@10, lowest rank first.

    The validation NDCG@10 of a method is the mean over folds and the first `tuners` tuners of the value of the choice.
    Methods that are not evaluated on the validation part are left out.
    """
    import numpy as np
    from scipy.stats import rankdata

    names, columns = list(methods), []
    for dataset in datasets:
        means = []
        for method in names:
            paths = [contest.trials_path(dataset, method, tuner) for tuner in range(1, tuners + 1)]
            found = [read_trials(path) for path in paths if path.is_file()]
            best = [rows[JUDGED].max() for trials in found for rows in trials.partition_by("fold")]
            means.append(np.nan if None in best or not best else float(np.mean(np.array(best, dtype=np.float64))))
        columns.append(rankdata(-np.array(means), nan_policy="omit"))
    ranks = dict(zip(names, np.mean(columns, axis=0).tolist(), strict=True))
    return {name: ranks[name] for name in sorted(names, key=lambda name: ranks[name]) if not np.isnan(ranks[name])}
