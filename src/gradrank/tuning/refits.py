"""Retraining of the selected configuration of each tuner, with seeds that no trial used."""

import json
from collections.abc import Iterator
from pathlib import Path

from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json
from gradrank.base.results import FoldFolder
from gradrank.data.part_files import COLLECTION, PAIRS
from gradrank.data.stored import StoredCollection
from gradrank.training.job import train
from gradrank.training.registry import get_model
from gradrank.training.seeds import job_seed
from gradrank.tuning.folders import Contest, TunedFold
from gradrank.tuning.selection import SelectedConfiguration, read_choice


def refit(
    contest: Contest,
    fold: TunedFold,
    number: int,
    data: Path,
    seeds: int,
    seed: int,
    pairs: Path | None = None,
    code: str = "",
    convention: Convention = LETOR4,
) -> None:
    """Train the configurations of `fold`/choice.json on fold `number` of `data`, with seeds 1 to `seeds` per tuner.

    Each run is a training job that writes its results below contest.run(tuner, seed). At the end, refits.json is
    written. For each run, refits.json contains the SHA-256 of spec.json. The file spec.json contains the checksums of
    the results. If an earlier call was interrupted, its finished runs are reused only if the choice, the data, the
    pairs, the seed, `code` and the convention are unchanged.

    seed: the seed of the whole contest, from which the seed of each run is derived. pairs: folder of the stored pairs.
    code: digest of the training code. convention: primary convention of the data set, under which models are selected.

    Raises GradrankError if a training job fails.
    """
    choice, dataset = read_choice(fold), StoredCollection.open(data).name
    of_data = [sha256(data / COLLECTION), *([sha256(pairs / PAIRS)] if pairs else [])]
    done = _finished_runs(fold, made_with := json.dumps([choice.sha256, *of_data, seed, code, convention.name]))
    cls = get_model(choice.model)
    for tuner, number_of_seed in runs(choice, seeds):
        root = contest.run(tuner, number_of_seed).dataset(dataset)
        out = root.method(choice.model).fold(number)
        if f"{tuner}/{number_of_seed}" in done and out.finished:
            continue
        params = choice.of(tuner).params
        members = root.folder if cls.members(cls.Params(**params)) else None
        stored_pairs = pairs if cls.needs_pairs else None
        job_run_seed = run_seed(seed, tuner, number_of_seed)
        train(
            choice.model, data, number, params, job_run_seed, out.folder, stored_pairs, members, convention=convention
        )
        done.append(f"{tuner}/{number_of_seed}")
        write_json(fold.unfinished_refits_path, {"made_with": made_with, "done": done})
    trained = refitted(contest, choice, dataset, number, seeds)
    specs = {f"tuner{tuner}/seed{number_of_seed}": sha256(run.spec_path) for tuner, number_of_seed, run in trained}
    write_json(fold.refits_path, {"choice_sha256": choice.sha256, "specs_sha256": specs})
    fold.unfinished_refits_path.unlink(missing_ok=True)


def runs(choice: SelectedConfiguration, seeds: int) -> list[tuple[int, int]]:
    """Return the tuner and the seed of each run. Every tuner has the seeds 1 to `seeds`."""
    return [(chosen.tuner, seed) for chosen in choice.chosen for seed in range(1, seeds + 1)]


def run_seed(seed: int, tuner: int, number: int) -> int:
    """Return the random seed of one run of a tuner. number: number of the run's seed, from 1.

    seed: the seed of the contest, from which the random seed is derived.
    """
    return job_seed(seed, f"tuner{tuner}", f"seed{number}", 0)


def refitted(
    contest: Contest, choice: SelectedConfiguration, dataset: str, number: int, seeds: int
) -> Iterator[tuple[int, int, FoldFolder]]:
    """Yield the tuner, the seed and the folder of each retrained run of fold `number`.

    Raises GradrankError if a run is missing or was trained with different parameters.
    """
    for tuner, seed in runs(choice, seeds):
        run = contest.run(tuner, seed).dataset(dataset).method(choice.model).fold(number)
        if not run.finished or run.spec()["params"] != choice.of(tuner).params:
            refits_path = contest.tuned(dataset, choice.model).fold(number).refits_path
            raise GradrankError(
                f"{run.folder}: missing, or trained with other parameters than those of choice.json. "
                f"Fix: delete {refits_path}, then run `gradrank refit` for this fold again, or snakemake"
            )
        yield tuner, seed, run


def _finished_runs(fold: TunedFold, made_with: str) -> list[str]:
    """Return the runs, as `<tuner>/<seed>`, that an interrupted call with the same inputs has finished."""
    path = fold.unfinished_refits_path
    unfinished = read_json(path) if path.is_file() else {}
    return unfinished["done"] if unfinished.get("made_with") == made_with else []
