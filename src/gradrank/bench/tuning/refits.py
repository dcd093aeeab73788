"""The training of the selected trials of a tuner with new seeds, and their test values.

The choice is trained with several seeds. Its training is repeated on the training and validation parts together, with
the number of rounds or epochs that the validation part selected. The other selected trials are trained with one seed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank import __version__
from gradrank.base.conventions import LETOR4, Convention
from gradrank.base.processor import form
from gradrank.bench.folds.job import train
from gradrank.bench.tuning.choices import DEFAULT, Choice
from gradrank.bench.tuning.fold_training import FoldTraining, selected_step
from gradrank.bench.tuning.folders import METRICS, OF_OTHERS, Contest, values_table, write_tables
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements
from gradrank.measures.score_files import read_scores
from gradrank.training.fit import job_seed
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.model import Model
from gradrank.training.registry import get_model
from gradrank.training.spaces import configuration, count_configurations

if TYPE_CHECKING:
    import polars as pl

DRAWS = 8  # number of configurations that show whether a model uses random numbers


@dataclass(frozen=True)
class Refits:
    """The settings of the trainings of a contest's choices on one data set.

    data: folder of the Parquet collection. seeds: number of seeds per tuner. seed: the seed of the whole contest, from
    which the seed of each run is derived. pairs: folder of the stored pairs, for models that need them. code: digest of
    the training code. convention: primary convention of the data set, under which models are selected and evaluated.
    """

    data: Path
    seeds: int
    seed: int
    pairs: Path | None = None
    code: str = ""
    convention: Convention = LETOR4

    def made_with(self, stored: StoredCollection, choices: Sequence[Choice]) -> str:
        """Return the inputs of the values of `choices` as JSON. stored: the collection in `data`."""
        inputs = {
            "choices": [choice.sha256 for choice in choices],
            "source": stored.source_sha256,
            "seed": self.seed,
            "code": self.code,
            "convention": self.convention.name,
            "processor": form(),
            "gradrank": __version__,
        }
        return json.dumps(inputs)


def refit(contest: Contest, method: str, tuner: int, choices: list[Choice], settings: Refits) -> None:
    """Train the choices of one tuner, one per fold, and write their test values per query.

    The columns are `fold`, `trial`, `whole` (whether the validation part was also trained on), `seed`, `qid`, one
    column per metric, and `made_with`, the inputs as JSON. The runs of the choice have all metrics, and the others only
    the first. A finished run of an interrupted call is reused if its parameters, its seed, its data and `code` are
    unchanged.

    choices: the choices of `method`. Raises GradrankError if a training job fails.
    """
    cls, stored = get_model(method), StoredCollection.open(settings.data)

    def tables() -> Iterator["pl.DataFrame"]:
        for choice in choices:
            yield from _fold_tables(contest, cls, choice, stored, settings)

    write_tables(tables(), contest.values_path(stored.name, method, tuner), settings.made_with(stored, choices))


def _fold_tables(
    contest: Contest, cls: type[Model], choice: Choice, stored: StoredCollection, settings: Refits
) -> Iterator["pl.DataFrame"]:
    """Yield the test values of every run on one fold."""
    import polars as pl

    splits, params = stored.fold(choice.fold), choice.params[choice.trial]
    judged, convention = read_judgements(stored, splits["test"]), settings.convention.name
    is_combination = bool(cls.members(cls.Params(**params)))
    others = sorted({DEFAULT, choice.one, choice.timed} - {choice.trial})
    fold = None if is_combination else FoldTraining(cls, stored, choice.fold, settings.pairs, settings.convention)
    for number in range(1, seeds_of(cls, settings.seeds) + 1):
        run = _run(contest, cls.name, choice, number, stored, settings)
        about = {"fold": choice.fold, "trial": choice.trial, "whole": False, "seed": number}
        yield values_table(judged, read_scores(run.scores_path, judged), METRICS, convention, **about)
        if fold is None:
            continue
        seed = run.spec()["job_seed"]
        scores = fold.scores_of_whole(params, seed, selected_step(pl.read_parquet(run.history_path), params))
        yield values_table(judged, scores, OF_OTHERS, convention, **(about | {"whole": True}))
        for trial in others if number == 1 else ():
            scores = fold.scores(choice.params[trial], seed)
            yield values_table(judged, scores, OF_OTHERS, convention, **(about | {"trial": trial}))


def _run(
    contest: Contest, method: str, choice: Choice, number: int, stored: StoredCollection, settings: Refits
) -> FoldFolder:
    """Return the folder of the training of a choice with seed `number`. The choice is trained if it is not yet."""
    cls, params = get_model(method), choice.params[choice.trial]
    root = contest.run(choice.tuner, number).dataset(stored.name)
    run, seed = root.method(method).fold(choice.fold), run_seed(settings.seed, choice.tuner, number)
    wanted = {"params": params, "seed": seed, "code": settings.code, "data_sha256": stored.source_sha256}
    if not (run.finished and wanted.items() <= run.spec().items()):
        pairs = settings.pairs if cls.needs_pairs else None
        members = root.folder if cls.members(cls.Params(**params)) else None
        job = method, settings.data, choice.fold, params, seed, run.folder, pairs, members
        train(*job, settings.code, settings.convention)
    return run


def train_members(contest: Contest, members: Mapping[str, list[Choice]], settings: Mapping[str, Refits]) -> None:
    """Train the choices whose scores a model combines, if their trained models are not on this machine.

    Only the test values of a run are in git, and a model that combines scores also needs those of the validation part.
    members: the choices of each member, for the tuner of the model. settings: the settings of each member.
    """
    for method, choices in members.items():
        stored = StoredCollection.open(settings[method].data)
        for choice in choices:
            for number in range(1, settings[method].seeds + 1):
                _run(contest, method, choice, number, stored, settings[method])


def seeds_of(cls: type[Model], seeds: int) -> int:
    """Return the number of seeds of a model: 1 if no configuration of it and no member uses random numbers."""
    drawn = (configuration(cls, 0, "", 1, number) for number in range(count_configurations(cls, DRAWS)))
    return seeds if cls.members(cls.Params()) or any(cls.uses_seed(cls.Params(**own)) for own in drawn) else 1


def run_seed(seed: int, tuner: int, number: int) -> int:
    """Return the random seed of one run of a tuner. number: number of the run's seed, from 1.

    seed: the seed of the contest, from which the random seed is derived.
    """
    return job_seed(seed, f"tuner{tuner}", f"seed{number}", 0)
