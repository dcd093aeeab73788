"""Training of one model on arrays in memory, the seeds of jobs, and the check of missing values.

Training jobs and `gradrank.Ranker` call these functions. The seeds are derived from the seed of the study.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError, require
from gradrank.base.validation import validate
from gradrank.data.collection import Collection
from gradrank.training.accepted_data import accepted_data, models_that_accept
from gradrank.training.label_gains import check_labels
from gradrank.training.model import Callback, Model, ModelParams
from gradrank.training.registry import get_model, parameter_hint
from gradrank.training.score_checks import InvalidScores, check_scores, has_order
from gradrank.training.training_queries import have_two_grades, with_usable_weights


def job_seed(seed: int, dataset: str, model: str, fold: int) -> int:
    """Return the seed of one job, from 0 to 2^31 - 1.

    The seed depends only on the arguments, so it is the same for any number of cores and on any machine.
    """
    digest = hashlib.sha256(f"{seed}/{dataset}/{model}/{fold}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def taken_as_is(cls: type[Model]) -> list[str]:
    """Return what the method takes without a preparation: `missing`, `categorical`, both or none."""
    return [name for name in accepted_data(cls) if name in ("missing", "categorical")]


MOST_NAMED = 10  # maximum number of features that the message lists


def check_missing_values(data: Path, description: Mapping[str, Any], methods: Sequence[str]) -> None:
    """Raise GradrankError if a feature has missing values. The message names all such features and all methods.

    data: the folder of the stored collection. description: the content of its collection.json. methods: the names of
    methods that do not accept missing values.
    """
    names = description.get("names")
    encoded = {f"f{number}" for number, name in enumerate(names or (), 1) if name in description.get("levels", {})}
    missing = {name: rows for name, rows in description.get("missing_values", {}).items() if name not in encoded}
    if not (missing and methods) or "fill" in description:
        return
    called = {feature: f" ({names[int(feature[1:]) - 1]!r})" if names else "" for feature in missing}
    counts = [f"{feature}{called[feature]} in {rows:,}" for feature, rows in missing.items()]
    more = f", .. ({len(counts):,} features in all)" if len(counts) > MOST_NAMED else ""
    shown = ", ".join(counts[:MOST_NAMED]) + more
    refuse = f"{methods[0]} does" if len(methods) == 1 else f"{', '.join(methods[:-1])} and {methods[-1]} do"
    capable = ", ".join(models_that_accept(["missing"]))
    raise GradrankError(
        f"{data}: features are missing in some of {description['rows']:,} rows: {shown}; "
        f"{refuse} not accept missing values. Fix: replace them (`missing: mean`, `median` or `indicator` for "
        f"{description['dataset']} in params.yaml), or choose methods that accept them: {capable}"
    )


def resolve(model: str, params: Mapping[str, Any]) -> tuple[type[Model], ModelParams]:
    """Return the class of the model `model` and its checked parameters. Missing parameters have their defaults.

    Raises GradrankError if the model is unknown, a package that the model needs is not installed, or a parameter is
    invalid.
    """
    cls = get_model(model)
    require(*cls.requires, extra=cls.extra, needed_by=model)
    faults: list[str] = []
    resolved = validate(cls.Params, params, "params.", faults, parameter_hint)
    if not isinstance(resolved, ModelParams):
        raise GradrankError(f"{model}: {'; '.join(faults)}")
    return cls, resolved


def fit(
    cls: type[Model], train: Collection, vali: Collection, params: ModelParams, seed: int, callback: Callback
) -> Model:
    """Return the model that `cls.fit` trains. Raises GradrankError if the model cannot be trained on the data.

    The validation part is not weighted.
    """
    check_labels(cls, params, train)
    train = with_usable_weights(cls, train)
    try:
        return cls.fit(train, vali, params, seed, callback)
    except InvalidScores as error:
        raise GradrankError(f"{cls.name}: while it was fitted: {error}") from None


def degenerate_model_note(model: Model, params: Any, train: Collection) -> str:
    """Return the text about a trained model that learned no order, with the cause if it is known; else an empty text.

    Such a model is not an error, because one configuration of a search may give it. Its value is that of a random
    order, or of the order of the rows. params: the parameters of the model. train: the training part, which the model
    scores until two documents of a query differ.
    """
    source = train.pair_source
    if not (source is not None and source.given) and not have_two_grades(train).any():
        return (
            f"{model.name}: no training query has documents of different grades, so there is no order to learn, and "
            "the order of the scores means nothing. Fix: correct the grades, or train on more queries"
        )
    if _orders_documents(model, train):
        return ""
    cause, fix = _cause(params, train)
    return (
        f"{model.name}: the model gives all documents of each training query the same score, so it orders nothing"
        f"{cause and f', because {cause}'}. Fix: {fix}"
    )


def _orders_documents(model: Model, part: Collection) -> bool:
    """Return whether a model gives different scores to two documents of a query of `part`.

    Few queries are scored first, because nearly every model orders the first ones. The result is True if the scores are
    invalid.
    """
    start, count = 0, 1
    while start < part.queries:
        end = min(start + count, part.queries)
        first, last = int(part.offsets[start]), int(part.offsets[end])
        offsets = part.offsets[start : end + 1] - first
        try:
            scores = check_scores(model.score(part.features[first:last], offsets), last - first, model.name)
        except InvalidScores:  # reported wherever scores are used
            return True
        if has_order(scores, offsets):
            return True
        start, count = end, 4 * count
    return False


def _cause(params: Any, train: Collection) -> tuple[str, str]:
    """Return the cause of constant scores, which is empty if it is unknown, and the repair."""
    first = train.features[np.repeat(train.offsets[:-1], np.diff(train.offsets))]
    if np.all((train.features == first) | (np.isnan(train.features) & np.isnan(first))):
        return "no feature varies within a query", "give features that differ between the documents of a query"
    least = getattr(params, "min_data_in_leaf", None)
    if least is None:
        return "", "compare the features with the grades, or change the parameters of the method"
    sample = getattr(params, "bagging_fraction", 1.0) if getattr(params, "bagging_freq", 0) else 1.0
    documents = int(sample * train.rows)
    if documents >= 2 * least:
        return "", f"lower min_data_in_leaf (now {least}), or train on more documents"
    return (
        f"a split with min_data_in_leaf={least} needs {2 * least:,} documents and a tree is trained on {documents:,}",
        f"lower min_data_in_leaf to {max(documents // 10, 1)} or less, or train on more documents",
    )
