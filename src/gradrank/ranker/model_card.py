"""The model card of a refitted model: a Markdown page in the folder of the model for the people who deploy it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from gradrank import __version__
from gradrank.training.registry import get_model
from gradrank.training.trained_fold import TrainedFold

CARD = "model_card.md"
MOST_FEATURES, MOST_METHODS = 200, 20
KEPT, REFUSED = "are taken as they are", "are refused"
MISSING = {
    "least": "become the least value of the feature in the query",
    "mean": "become the mean of the feature in the query",
    "zero": "become 0",
}
STEPS = {
    "filled": "numbers become a constant of each feature, which was learned on the data",
    "indicator": "a further column tells where a number is missing",
    "category": "levels are taken as they are",
    "one_hot": "each level becomes a column",
    "mean_grade": "levels become the mean grade of their documents",
}


class Compared(NamedTuple):
    """The methods with which a method was compared.

    name: the method itself. metric, convention: of the means. means: test value per method, best first.
    """

    name: str
    metric: str
    convention: str
    means: Mapping[str, float]


def model_card(fold: TrainedFold, compared: Compared | None = None) -> str:
    """Return the model card of a refitted model as Markdown.

    fold: a trained model whose specification has the entry `refit`. compared: the test values of a comparison; None if
    there was none.
    """
    spec, cls = fold.spec, get_model(fold.spec["model"])
    entry = spec["refit"]
    kinds = {step.kind for step in fold.schema.preparation.steps or ()}
    kept = KEPT if fold.model.takes_missing else REFUSED
    data = {
        "data set": spec.get("dataset", "given as arrays or data frames in Python"),
        "SHA-256 of the data": spec.get("data_sha256"),
        "training queries": f"{entry['queries']:,}",
        "training documents": f"{entry['documents']:,}",
        "normalisation": fold.schema.normaliser.method if fold.schema.normaliser else "none",
        "missing values": _described(kinds, ("filled", "indicator")) or MISSING.get(fold.schema.missing, kept),
        "categories": _described(kinds, ("category", "one_hot", "mean_grade")) or None,
    }
    params = {name: f"`{value}`" for name, value in spec["params"].items()}
    names = fold.schema.feature_names
    levels = {name: f" ({len(values)} levels)" for name, values in fold.schema.levels.items()}
    shown = ", ".join(f"`{name}`{levels.get(name, '')}" for name in names[:MOST_FEATURES])
    steps = (
        f"Trained for {entry['step']} steps (rounds, epochs or grid points), the {entry['rule']}."
        if "step" in entry
        else "The method selects no number of steps on validation data."
    )
    lines = [
        f"# Model card: {cls.name}",
        "",
        f"This model computes one score per document of a query. Rank the documents by descending score. The method is "
        f"`{cls.name}`: {cls.summary}. gradrank {__version__} trained the model on all queries of the data, with the "
        f"seed {spec.get('job_seed')}.",
        "",
        "## Data",
        "",
        *_table(("property", "value"), data),
        "",
        f"## Features ({len(names)})",
        "",
        shown + (f" and {len(names) - MOST_FEATURES} more (spec.json lists all)" if len(names) > MOST_FEATURES else ""),
        "",
        "## Parameters",
        "",
        steps,
        "",
        *_table(("parameter", "value"), params),
        "",
        "## Validation values",
        "",
        f"The table shows the mean {entry['metric']} of the validation queries of each fold, ± half its 95% interval "
        f"over these queries. The convention is `{entry['convention']}`, and equal scores count in expectation. Each "
        "value is that of a model with the same settings, which was trained without its validation queries. No query "
        "is left to evaluate the model itself."
        + (
            " The validation queries also selected the number of steps, so the values are slightly too high."
            if "step" in entry
            else ""
        ),
        "",
        *_table(
            ("fold", "seed", "step", "queries", entry["metric"]),
            *[
                (each["fold"], each["seed"], each.get("step", ""), each["queries"], _with_interval(each))
                for each in entry["folds"]
            ],
            ("mean", "", entry.get("step", ""), "", _with_interval(entry)),
        ),
        "",
        "## Compared with",
        "",
        *_comparison(compared),
        "",
        "## Limits",
        "",
        "- Scores order the documents of one query. They are neither probabilities nor comparable between queries.",
        "- The intervals show how much the values depend on the choice of the validation queries. They contain neither "
        "the choice of the training queries nor changes over time.",
        "- The values are for queries and documents like those of the data. Compare the model with the present ranking "
        "on new queries before you rely on it.",
        "- All features must be computed as in the training data."
        + (" A level that the data do not have counts as missing." if levels else ""),
        "- Values for groups of queries, documents or users were not measured.",
        "",
    ]
    return "\n".join(lines)


def _with_interval(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return "undefined"
    return f"{found['value']:.4f}" + ("" if found["half_width"] is None else f" ± {found['half_width']:.4f}")


def _described(kinds: Collection[str], shown: Sequence[str]) -> str:
    """Return what happens to missing values or categories. kinds: the kinds of the steps of the preparation."""
    return ", and ".join(STEPS[kind] for kind in shown if kind in kinds)


def _comparison(compared: Compared | None) -> list[str]:
    if compared is None:
        return ["The model was not compared with other methods, or the folder of the comparison has no summary."]
    under = f" The convention is `{compared.convention}`." if compared.convention else ""
    shown = [*compared.means.items()][:MOST_METHODS]
    rows = [(f"**{name}**" if name == compared.name else name, f"{mean:.4f}") for name, mean in shown]
    more = len(compared.means) - len(shown)
    place = [*compared.means].index(compared.name) + 1 if compared.name in compared.means else None
    return [
        f"The table shows the mean {compared.metric} of the test queries of all folds, best first.{under} These are "
        "the values of the models of the folds. A difference of two means does not prove that a method is better. The "
        "file summary.md of the comparison has intervals and tests."
        + (f" This method, in bold, has place {place} of {len(compared.means)}." if place else ""),
        "",
        *_table(("method", compared.metric), *rows),
        *(["", f"{more} further methods are in summary.md."] if more > 0 else []),
    ]


def _table(head: tuple[str, ...], *rows: Any) -> list[str]:
    """Return the lines of a Markdown table. rows: tuples, or one dict for a table with two columns."""
    listed = [*rows[0].items()] if len(rows) == 1 and isinstance(rows[0], Mapping) else rows
    lines = [head, tuple(":--" for _ in head), *((*row,) for row in listed if row[1] is not None)]
    return [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
