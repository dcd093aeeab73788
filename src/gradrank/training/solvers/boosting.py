"""Gradient boosting with LightGBM. The results are bit-identical, and gradrank selects the best round on validation.

LightGBM is imported inside the functions, because every command that lists the models imports this file.

Trees of LightGBM become scoring forms. Two classes wrap LightGBM's booster to change its training.
CustomObjectiveBooster trains with the derivatives of a loss that LightGBM does not contain. BestModelBooster stores the
complete model of the best round. The complete model is needed for boosting modes in which later rounds change earlier
trees.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.processor import thread_count
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, param
from gradrank.training.model_files import check_width, damaged
from gradrank.training.scoring_form import NoScoringForm, ScoringForm, Tree, TreesForm
from gradrank.training.search_space import Choice, Dimension, LogUniform, Uniform
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.feature_constraints import (
    INTERACTIONS,
    MONOTONE,
    ConstrainedParams,
    Interactions,
    Monotone,
    interaction_groups,
    monotone_signs,
)
from gradrank.training.training_queries import with_grades_to_order

if TYPE_CHECKING:
    from gradrank.training.solvers.pair_derivatives import Derivatives


# LightGBM predicts with 0 instead of values whose size is at most kZeroThreshold, the float32 number 1e-35.
ZERO = float(np.float32(1e-35))
BELOW_ZERO = float(np.nextafter(np.float32(-1e-35), np.float32(-1.0)))


def lightgbm_forms(booster: Any) -> list[TreesForm]:
    """Return the raw outputs of a LightGBM booster: one form, or one form per class.

    The function of the objective, such as softmax, is not applied. Raises NoScoringForm if a tree has a split that
    `Tree` cannot express. Models of gradrank have no such splits.
    """
    try:
        model = booster.dump_model()
    except RecursionError:
        raise NoScoringForm("a tree is too deep for the JSON reader of Python") from None
    trees = [_tree(info["tree_structure"]) for info in model["tree_info"]]
    outputs = model["num_tree_per_iteration"]
    forms = [TreesForm(tuple(trees[output::outputs])) for output in range(outputs)]
    if model["average_output"]:  # a random forest
        return [_scaled(form, 1.0 / max(len(form.trees), 1)) for form in forms]
    return forms


def mean_form(forms: Sequence[TreesForm]) -> TreesForm:
    """Return the mean of several sums of trees as one sum of trees."""
    scaled = [_scaled(form, 1.0 / len(forms)) for form in forms]
    trees = tuple(tree for form in scaled for tree in form.trees)
    return TreesForm(trees, sum(form.intercept for form in scaled))


def _scaled(form: TreesForm, factor: float) -> TreesForm:
    trees = tuple(replace(tree, value=tree.value * factor) for tree in form.trees)
    return TreesForm(trees, form.intercept * factor)


def _tree(root: dict[str, Any]) -> Tree:
    """Return a tree of `Booster.dump_model`. root: its `tree_structure`, with dictionaries as nodes."""
    nodes, parents = [root], [(0, "left")]
    tree: dict[str, list] = {name: [] for name in Tree.__dataclass_fields__}
    for number, node in enumerate(nodes):  # grows while it is read
        is_leaf = "split_feature" not in node
        threshold, missing_left = (0.0, False) if is_leaf else _split(node)
        tree["feature"].append(-1 if is_leaf else node["split_feature"])
        tree["threshold"].append(threshold)
        tree["missing_left"].append(missing_left)
        tree["value"].append(node["leaf_value"] if is_leaf else 0.0)
        tree["left"].append(-1)
        tree["right"].append(-1)
        if number:
            parent, side = parents[number]
            tree[side][parent] = number
        if not is_leaf:
            nodes += [node["left_child"], node["right_child"]]
            parents += [(number, "left"), (number, "right")]
    return Tree(**{name: np.array(values) for name, values in tree.items()})


def _split(node: dict[str, Any]) -> tuple[float, bool]:
    """Return the threshold of a split, and whether a missing value goes to the left child."""
    threshold, missing = node["threshold"], node["missing_type"]
    if node["decision_type"] != "<=":
        raise NoScoringForm("a tree has a split of a categorical feature")
    if missing == "Zero":
        raise NoScoringForm("a tree treats zeros as missing values")
    if -ZERO <= threshold < 0.0:
        threshold = BELOW_ZERO
    elif 0.0 <= threshold < ZERO:
        threshold = ZERO
    # Without missing values in the training data, LightGBM predicts with 0 instead of a missing value.
    return threshold, node["default_left"] if missing == "NaN" else threshold >= 0.0


# All other fields of BoostingParams are parameters of LightGBM.
OWN_PARAMETERS = {"rounds", "patience", "select_by", "monotone", "interactions"}
QUERY_LIMIT = 10_000  # documents per query; LightGBM's ranking objectives reject larger queries
RECIPE = (
    "with 15 leaves, rate .05, 50 documents per leaf and early stopping, NDCG@10 / MAP are .4478 / .4675 on MQ2007 "
    "(LightGBM 4.7)"
)


TREES: dict[str, Dimension] = {
    "learning_rate": LogUniform(0.02, 0.3, "around LightGBM's .1; lower rates need more than 1,000 rounds"),
    "num_leaves": Choice((7, 15, 31, 63), "two halvings and one doubling of LightGBM's 31"),
    "min_data_in_leaf": Choice((10, 20, 50, 100, 200), "from half to ten times LightGBM's 20"),
    "lambda_l2": LogUniform(1e-3, 10.0, "from almost no effect to almost constant trees"),
    "feature_fraction": Uniform(0.3, 1.0, "LightGBM's 1 and below"),
    "bagging_fraction": Uniform(0.5, 1.0, "LightGBM's 1 and below"),
}
# LightGBM's own defaults, for the parameters whose defaults in gradrank were chosen on MQ2007.
LIGHTGBM: dict[str, Any] = {"learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20, "bagging_fraction": 1.0}


class BoostingParams(ConstrainedParams):
    """The parameters of trees, sampling and early stopping. Parameters of LightGBM have LightGBM's names."""

    learning_rate: float = param(0.05, RECIPE, gt=0)
    num_leaves: int = param(15, RECIPE, ge=2, le=131_072)  # 131,072 is LightGBM's maximum
    min_data_in_leaf: int = param(50, RECIPE, ge=1)
    lambda_l2: float = param(0.0, "LightGBM's default", ge=0)
    feature_fraction: float = param(1.0, "LightGBM's default", gt=0, le=1)
    bagging_fraction: float = param(1.0, "LightGBM's default", gt=0, le=1)
    bagging_freq: int = param(1, "a new sample in each round if bagging_fraction is below 1", ge=0)
    max_bin: int = param(255, "LightGBM's default", ge=2)
    rounds: int = param(1000, "an upper bound; early stopping usually ends the training before", ge=1)
    patience: int = param(100, "training ends after this number of rounds without a better validation value", ge=1)
    select_by: str = param(
        "ndcg@10",
        "the measure that the ranking objectives optimise; selection by MAP changes results less than the seed does",
        pattern=CRITERION,
    )
    monotone: Monotone = MONOTONE
    interactions: Interactions = INTERACTIONS


B = TypeVar("B", bound=BoostingParams)


class BoostedTrees(Model[B]):
    """The base class of models that consist of one or more LightGBM boosters. Subclasses define `objectives`."""

    Params = BoostingParams
    takes_missing = True
    takes_categories = True
    uses_threads = True
    uses_weights = "documents"
    ranks_queries: ClassVar[bool] = False  # if True, QUERY_LIMIT applies
    space: ClassVar[Mapping[str, Dimension]] = TREES
    published: ClassVar[Mapping[str, Any]] = LIGHTGBM

    def __init__(self, texts: Sequence[str]) -> None:
        import lightgbm

        self.texts = list(texts)
        self.boosters = [lightgbm.Booster(model_str=text) for text in self.texts]

    @classmethod
    def uses_seed(cls, params: B) -> bool:
        """Return whether the trees are trained on random samples of features or documents.

        If there are more than 200,000 documents, LightGBM also computes its bins from a sample. This sample does not
        count here.
        """
        return params.feature_fraction < 1.0 or (params.bagging_freq > 0 and params.bagging_fraction < 1.0)

    @classmethod
    def objectives(cls, train: Collection, params: B) -> list[tuple[np.ndarray, dict[str, Any]]]:
        """Return one pair per booster: its (n,) targets and its LightGBM settings."""
        raise NotImplementedError

    @classmethod
    def combine(cls, outputs: list[np.ndarray]) -> np.ndarray:
        """Return the (n,) scores. outputs: one array per booster, of shape (n,) or (n, classes)."""
        return outputs[0]

    @classmethod
    def combine_forms(cls, forms: list[list[TreesForm]]) -> ScoringForm:
        """Return the form of the scores that `combine` returns.

        forms: one list per booster, with one form per output before LightGBM applies the function of the objective,
        such as softmax.
        """
        return forms[0][0]

    @classmethod
    def check(cls, train: Collection, params: B) -> None:
        """Raise GradrankError if a query has too many documents or the samples of documents would be empty.

        In both cases, LightGBM would end the process.
        """
        longest = int(np.diff(train.offsets).max())
        if cls.ranks_queries and longest > QUERY_LIMIT:
            raise GradrankError(
                f"{cls.name}: a training query has {longest:,} documents, but LightGBM's ranking objectives accept at "
                f"most {QUERY_LIMIT:,}. Fix: shorten the query, or use mart, mcrank, lambdaloss_trees or ranksvm"
            )
        if params.bagging_fraction * train.rows < 1.0:
            raise GradrankError(
                f"{cls.name}: bagging_fraction {params.bagging_fraction:g} selects none of the {train.rows:,} training "
                f"documents. Fix: raise bagging_fraction to 1/{train.rows} or more"
            )

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: B, seed: int, callback: Callback) -> Self:
        cls.check(train, params)
        boosters = [
            create_booster(train, vali, target, lightgbm_settings(params, train, (seed + number) % 2**31) | settings)
            for number, (target, settings) in enumerate(cls.objectives(train, params))
        ]
        return cls(boost(boosters, cls.combine, vali, params, callback))

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        outputs = [np.asarray(booster.predict(features, num_threads=thread_count())) for booster in self.boosters]
        return self.combine(outputs)

    def scoring_form(self, features: int) -> ScoringForm:

        return self.combine_forms([lightgbm_forms(booster) for booster in self.boosters])

    def save(self, folder: Path) -> None:
        for number, text in enumerate(self.texts):
            with atomic(folder / f"trees{number}.txt") as partial:
                partial.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from gradrank.training.solvers.lightgbm_text import read_lightgbm_text

        files = {path.name for path in folder.glob("trees*")}
        paths = [folder / f"trees{number}.txt" for number in range(max(len(files), 1))]
        if files - {path.name for path in paths}:
            raise damaged(
                folder, f"expected the files trees0.txt to {paths[-1].name}, found {', '.join(sorted(files))}"
            )
        return cls([read_lightgbm_text(path) for path in paths])

    def check_width(self, features: int) -> None:
        for number, booster in enumerate(self.boosters):
            check_width(f"booster {number}", booster.num_feature(), features)


def lightgbm_settings(params: BoostingParams, train: Collection, seed: int) -> dict[str, Any]:
    """Return the settings of LightGBM: those in `params`, the seed, and the settings for bit-identical results.

    train: the training part, whose features the constraints refer to. Raises GradrankError for an unknown feature.
    """
    settings = params.model_dump(include=set(BoostingParams.model_fields) - OWN_PARAMETERS)
    if params.monotone:
        settings["monotone_constraints"] = monotone_signs(params.monotone, train)
    if params.interactions:
        settings["interaction_constraints"] = interaction_groups(params.interactions, train)
    return settings | {
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": thread_count(),
        "metric": "None",
        "feature_pre_filter": False,
        "verbosity": -1,
    }


def create_booster(train: Collection, vali: Collection, target: np.ndarray, settings: dict[str, Any]) -> Any:
    """Create a LightGBM booster with (n,) targets. It has `vali` as validation data, and no trees yet."""
    import lightgbm

    sizes = np.diff(train.offsets)
    categorical = [*train.categorical] or "auto"  # an array has no categories unless they are declared
    data = lightgbm.Dataset(
        train.features, target, weight=train.weights, group=sizes, params=settings, categorical_feature=categorical
    )
    booster = lightgbm.Booster(settings, data)
    # The labels of the validation data are zeros and not used, because `best_of` has the grades of `vali`.
    booster.add_valid(data.create_valid(vali.features, np.zeros(vali.rows), params=settings), "vali")
    return booster


def boost(
    boosters: list,
    combine: Callable[[list[np.ndarray]], np.ndarray],
    vali: Collection,
    params: BoostingParams,
    callback: Callback,
) -> list[str]:
    """Train all boosters round by round, and return their models as text, up to the best round on `vali`.

    Training ends after `params.rounds` rounds, after `params.patience` rounds without improvement, or when no tree can
    be split. combine: function from the outputs of the boosters to the (n,) scores.
    """

    def rounds() -> Iterator[Candidate]:
        for number in range(1, params.rounds + 1):
            finished = [booster.update() for booster in boosters]
            yield Candidate(number, scores=combine([_validation_output(booster) for booster in boosters]))
            if all(finished):
                return

    best = best_of(rounds(), vali, params.select_by, callback, params.patience)
    texts = (booster.model_to_string(num_iteration=best.kept) for booster in boosters)
    # The text has the number of threads, which has no effect on the trees.
    return [text.replace(f"[num_threads: {thread_count()}]", "[num_threads: 1]") for text in texts]


def _validation_output(booster: Any) -> np.ndarray:
    """Return the current outputs for the validation data, which LightGBM updates after each round."""
    outputs = []

    def copy_output(output: np.ndarray, data: Any) -> tuple[str, float, bool]:
        outputs.append(output.copy())
        return "copied", 0.0, True

    booster.eval_valid(feval=copy_output)
    return outputs[0]


class WrappedBooster:
    """A wrapper of a LightGBM booster, which forwards the methods that `boost` calls."""

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    def update(self) -> bool:
        """Train one round and return whether no tree could be split."""
        return self.booster.update()

    def eval_valid(self, feval: Callable) -> list:
        """Evaluate `feval` on the validation data."""
        return self.booster.eval_valid(feval=feval)

    def model_to_string(self, num_iteration: int) -> str:
        """Return the first `num_iteration` rounds of the model as text."""
        return self.booster.model_to_string(num_iteration=num_iteration)

    def wrap_callback(self, callback: Callback) -> Callback:
        """Return a callback that calls `callback`. A subclass can add further work to be done after each round."""
        return callback


class CustomObjectiveBooster(WrappedBooster):
    """A booster that fits its trees to the derivatives of a given loss at the current scores.

    LightGBM does not weight the derivatives of such a loss, so they are multiplied by the (n,) weights here.
    """

    def __init__(self, booster: Any, derivatives: "Derivatives", weights: np.ndarray | None = None) -> None:
        super().__init__(booster)
        self.derivatives, self.weights = derivatives, weights

    def update(self) -> bool:
        return self.booster.update(fobj=lambda scores, data: self._weighted(*self.derivatives(scores)))

    def _weighted(self, slopes: np.ndarray, curvatures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.weights is None:
            return slopes, curvatures
        return self.weights * slopes, self.weights * curvatures


class BestModelBooster(WrappedBooster):
    """A booster that stores the text of its model after the round with the best `select_by`."""

    def __init__(self, booster: Any, select_by: str) -> None:
        super().__init__(booster)
        self.measure, self.best, self.text = f"vali_{select_by}", -np.inf, ""

    def wrap_callback(self, callback: Callback) -> Callback:
        def store_best(step: int, **values: float) -> None:
            if values[self.measure] > self.best:
                self.best, self.text = values[self.measure], self.booster.model_to_string()
            callback(step, **values)

        return store_best

    def model_to_string(self, num_iteration: int) -> str:
        return self.text


class WrappedBoostedTrees(BoostedTrees[B]):
    """The base class of models with one wrapped booster. Subclasses define `wrap`."""

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: B, seed: int) -> WrappedBooster:
        """Return the wrapper of a LightGBM booster for the training part."""
        raise NotImplementedError

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: B, seed: int, callback: Callback) -> Self:
        """Train the wrapped booster; see `Model.fit`. Raises the errors of `with_grades_to_order` and `check`."""
        train = with_grades_to_order(train, cls.name)
        cls.check(train, params)
        if np.all((train.features == train.features[0]) | np.isnan(train.features) & np.isnan(train.features[0])):
            raise GradrankError(
                f"{cls.name}: all documents of the training part have the same features, from which LightGBM builds no "
                "tree for this loss. Fix: give features that differ between documents"
            )
        ((target, settings),) = cls.objectives(train, params)
        booster = create_booster(train, vali, target, lightgbm_settings(params, train, seed % 2**31) | settings)
        wrapped = cls.wrap(booster, train, params, seed)
        return cls(boost([wrapped], cls.combine, vali, params, wrapped.wrap_callback(callback)))
