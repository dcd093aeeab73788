"""A frozen choice trained anew: every tuner's configuration with several seeds that no trial had."""

import json
from collections.abc import Iterator
from pathlib import Path

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
) -> None:
    """Train what choice.json of `fold` names, on fold `number` of `data`, with seeds 1 to `seeds` for each tuner.

    Each run is a training job, in contest.run(tuner, seed); refits.json, which is written last, names them all. seed:
    the run's. code: tells apart what a job that was killed has left.
    """
    choice, dataset = read_choice(fold), StoredCollection.open(data).name
    of_data = [sha256(data / COLLECTION), *([sha256(pairs / PAIRS)] if pairs else [])]
    done = _done(fold, made_with := json.dumps([choice.sha256, *of_data, seed, code]))
    cls = get_model(choice.model)
    for tuner, own in runs(choice, seeds):
        root = contest.run(tuner, own).dataset(dataset)
        out = root.method(choice.model).fold(number)
        if f"{tuner}/{own}" in done and out.finished:
            continue
        params = choice.of(tuner).params
        members = root.folder if cls.members(cls.Params(**params)) else None
        own_pairs = pairs if cls.needs_pairs else None
        train(choice.model, data, number, params, run_seed(seed, tuner, own), out.folder, own_pairs, members)
        done.append(f"{tuner}/{own}")
        write_json(fold.unfinished_refits_path, {"made_with": made_with, "done": done})
    found = refitted(contest, choice, dataset, number, seeds)
    specs = {f"tuner{tuner}/seed{own}": sha256(run.spec_path) for tuner, own, run in found}
    write_json(fold.refits_path, {"choice_sha256": choice.sha256, "specs_sha256": specs})
    fold.unfinished_refits_path.unlink(missing_ok=True)


def runs(choice: SelectedConfiguration, seeds: int) -> list[tuple[int, int]]:
    """(tuner, seed) of each."""
    return [(each.tuner, own) for each in choice.chosen for own in range(1, seeds + 1)]


def run_seed(seed: int, tuner: int, own: int) -> int:
    """What stands for the run's seed in a contest's run."""
    return job_seed(seed, f"tuner{tuner}", f"seed{own}", 0)


def refitted(
    contest: Contest, choice: SelectedConfiguration, dataset: str, number: int, seeds: int
) -> Iterator[tuple[int, int, FoldFolder]]:
    """(tuner, seed, its trained fold). Raises GradrankError for one that is not there, or of another choice."""
    for tuner, own in runs(choice, seeds):
        run = contest.run(tuner, own).dataset(dataset).method(choice.model).fold(number)
        if not run.finished or run.spec()["params"] != choice.of(tuner).params:
            listed = contest.tuned(dataset, choice.model).fold(number).refits_path
            raise GradrankError(
                f"{run.folder}: not trained with what was chosen; delete {listed}, then the same command trains it"
            )
        yield tuner, own, run


def _done(fold: TunedFold, made_with: str) -> list[str]:
    """The runs that a job has left which was killed."""
    path = fold.unfinished_refits_path
    left = read_json(path) if path.is_file() else {}
    return left["done"] if left.get("made_with") == made_with else []
