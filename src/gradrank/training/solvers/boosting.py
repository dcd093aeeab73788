"""Gradient boosting with LightGBM under our rules: our validation criterion, one thread, equal bytes.

LightGBM is imported inside the functions: every command that lists the models imports this file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param
from gradrank.training.search_space import Choice, Dimension, LogUniform, Uniform
from gradrank.training.selection import CRITERION

OURS = {"rounds", "patience", "select_by"}  # the rest of BoostingParams is LightGBM's
QUERY_LIMIT = 10_000  # documents; LightGBM's ranking objectives refuse a longer query
RECIPE = "15 leaves, rate .05, 50 documents a leaf, early stop: .4478 / .4675 on MQ2007 with LightGBM 4.7"


TREES: dict[str, Dimension] = {
    "learning_rate": LogUniform(0.02, 0.3, "about LightGBM's .1, as far as 1,000 rounds reach"),
    "num_leaves": Choice((7, 15, 31, 63), "two halvings and one doubling of LightGBM's 31"),
    "min_data_in_leaf": Choice((10, 20, 50, 100, 200), "from half to ten times LightGBM's 20"),
    "lambda_l2": LogUniform(1e-3, 10.0, "from next to none to stumps that hardly move"),
    "feature_fraction": Uniform(0.3, 1.0, "LightGBM's 1 and below"),
    "bagging_fraction": Uniform(0.5, 1.0, "LightGBM's 1 and below"),
}
# LightGBM's own; ours were chosen on MQ2007.
LIGHTGBM: dict[str, Any] = {"learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20, "bagging_fraction": 1.0}


class BoostingParams(ModelParams):
    """Trees, their sampling and early stopping; LightGBM's own names for what is passed on to it."""

    learning_rate: float = param(0.05, RECIPE, gt=0)
    num_leaves: int = param(15, RECIPE, ge=2, le=131_072)  # LightGBM's own bound
    min_data_in_leaf: int = param(50, RECIPE, ge=1)
    lambda_l2: float = param(0.0, "LightGBM's default", ge=0)
    feature_fraction: float = param(1.0, "LightGBM's default", gt=0, le=1)
    bagging_fraction: float = param(1.0, "LightGBM's default", gt=0, le=1)
    bagging_freq: int = param(1, "a new sample each round where bagging_fraction is below 1", ge=0)
    max_bin: int = param(255, "LightGBM's default", ge=2)
    rounds: int = param(1000, "an upper bound that early stopping seldom reaches", ge=1)
    patience: int = param(100, "rounds without a better validation value that end the training", ge=1)
    select_by: str = param(
        "ndcg@10",
        "the measure that the ranking objectives aim at; stopping on MAP differed by less than a seed does",
        pattern=CRITERION,
    )


B = TypeVar("B", bound=BoostingParams)


class BoostedTrees(Model[B]):
    """Boosters of one tree (or one a class) a round, and how their outputs become a score."""

    Params = BoostingParams
    takes_missing = True
    ranks_queries: ClassVar[bool] = False  # True: the objective sees queries, which LightGBM limits
    space: ClassVar[Mapping[str, Dimension]] = TREES
    published: ClassVar[Mapping[str, Any]] = LIGHTGBM

    def __init__(self, texts: Sequence[str]) -> None:
        import lightgbm

        self.texts = list(texts)
        self.boosters = [lightgbm.Booster(model_str=text) for text in self.texts]

    @classmethod
    def uses_seed(cls, params: B) -> bool:
        """Whether trees are sampled. LightGBM's bins are of a sample beyond 200,000 documents; that does not count."""
        return params.feature_fraction < 1.0 or (params.bagging_freq > 0 and params.bagging_fraction < 1.0)

    @classmethod
    def objectives(cls, labels: np.ndarray, params: B) -> list[tuple[np.ndarray, dict[str, Any]]]:
        """A booster's (n,) targets and LightGBM settings, for each booster."""
        raise NotImplementedError

    @classmethod
    def combine(cls, outputs: list[np.ndarray]) -> np.ndarray:
        """(n,) scores from each booster's output, (n,) or (n, classes)."""
        return outputs[0]

    @classmethod
    def check(cls, train: Collection, params: B) -> None:
        """Raise GradrankError for a query or a sample that LightGBM would end the process for."""
        longest = int(np.diff(train.offsets).max())
        if cls.ranks_queries and longest > QUERY_LIMIT:
            raise GradrankError(
                f"{cls.name}: a training query has {longest:,} documents, and LightGBM's ranking objectives "
                f"take at most {QUERY_LIMIT:,}; cut the query, or use mart, mcrank, lambdaloss_trees or ranksvm"
            )
        if params.bagging_fraction * train.rows < 1.0:
            raise GradrankError(
                f"{cls.name}: bagging_fraction {params.bagging_fraction:g} leaves none of the {train.rows:,} "
                "training documents to a tree; raise it"
            )

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: B, seed: int, callback: Callback) -> Self:
        cls.check(train, params)
        boosters = [
            booster_of(train, vali, target, settings_of(params, (seed + number) % 2**31) | own)
            for number, (target, own) in enumerate(cls.objectives(train.labels, params))
        ]
        return cls(boost(boosters, cls.combine, vali, params, callback))

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        outputs = [booster.predict(features, num_threads=1) for booster in self.boosters]
        return self.combine(outputs)

    def save(self, folder: Path) -> None:
        for number, text in enumerate(self.texts):
            with atomic(folder / f"trees{number}.txt") as partial:
                partial.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        paths = sorted(folder.glob("trees*.txt"), key=lambda path: int(path.stem.removeprefix("trees")))
        texts = [path.read_text(encoding="utf-8") for path in paths]
        for path, text in zip(paths, texts, strict=True):
            if not all(map(_ends, text.split("\nTree=")[1:])):
                raise GradrankError(f"{path}: a tree whose nodes do not lead to a leaf")
        return cls(texts)


def _ends(tree: str) -> bool:
    """Whether each inner node of a tree in LightGBM's text leads to later ones and to leaves, so that no row goes
    round.

    A later split has a higher number; a leaf is a negative number.
    """
    lines = dict(line.partition("=")[::2] for line in tree.splitlines())
    leaves = int(lines["num_leaves"])
    children = [[int(each) for each in lines.get(side, "").split()] for side in ("left_child", "right_child")]
    return all(
        node < child < leaves - 1 or -leaves <= child < 0 for side in children for node, child in enumerate(side)
    )


def settings_of(params: BoostingParams, seed: int) -> dict[str, Any]:
    passed_on = params.model_dump(include=set(BoostingParams.model_fields) - OURS)
    return passed_on | {
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "metric": "None",
        "feature_pre_filter": False,
        "verbosity": -1,
    }


def booster_of(train: Collection, vali: Collection, target: np.ndarray, settings: dict[str, Any]):
    """LightGBM's booster of (n,) targets, before its first round; it follows the validation part, too."""
    import lightgbm

    data = lightgbm.Dataset(train.features, target, group=np.diff(train.offsets), params=settings)
    booster = lightgbm.Booster(settings, data)
    # Features alone: the criterion takes the grades and the queries from the collection.
    booster.add_valid(data.create_valid(vali.features, np.zeros(vali.rows), params=settings), "vali")
    return booster


def boost(
    boosters: list,
    combine: Callable[[list[np.ndarray]], np.ndarray],
    vali: Collection,
    params: BoostingParams,
    callback: Callback,
) -> list[str]:
    """Grow all boosters by a round at a time; LightGBM's text of each, cut at the best validation value."""

    def rounds() -> Iterator[Candidate]:
        for number in range(1, params.rounds + 1):
            finished = [booster.update() for booster in boosters]
            yield Candidate(number, scores=combine([_validation_output(booster) for booster in boosters]))
            if all(finished):
                return

    best = best_of(rounds(), vali, params.select_by, callback, params.patience)
    return [booster.model_to_string(num_iteration=best.kept) for booster in boosters]


def _validation_output(booster) -> np.ndarray:
    """What the booster predicts now for the validation part, which it keeps up to date by itself."""
    kept = []

    def keep(output: np.ndarray, data: Any) -> tuple[str, float, bool]:
        kept.append(output.copy())
        return "kept", 0.0, True

    booster.eval_valid(feval=keep)
    return kept[0]
