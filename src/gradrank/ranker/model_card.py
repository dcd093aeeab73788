"""The model card of a refitted model: a Markdown page in the folder of the model for the people who deploy it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gradrank.training.registry import get_model
from gradrank.training.trained_fold import TrainedFold

CARD = "model_card.md"
MOST_FEATURES, MOST_METHODS = 200, 20
MISSING = {
    "keep": "missing values are kept: NaN",
    "least": "a missing value is replaced by the least value of the feature in the query",
    "mean": "a missing value is replaced by the mean of the feature in the query",
    "zero": "a missing value is replaced by 0",
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
    data = {
        "data set": spec.get("dataset", "given as arrays or data frames in Python"),
        "SHA-256 of the data": spec.get("data_sha256"),
        "training queries": f"{entry['queries']:,}",
        "training documents": f"{entry['documents']:,}",
        "normalisation": fold.schema.normaliser.method if fold.schema.normaliser else "none",
        "missing values": MISSING[fold.schema.missing],
    }
    params = {name: f"`{value}`" for name, value in spec["params"].items()}
    names = fold.schema.feature_names
    shown = ", ".join(f"`{name}`" for name in names[:MOST_FEATURES])
    steps = (
        f"Trained for {entry['step']} steps (rounds, epochs or grid points), the {entry['rule']}."
        if "step" in entry
        else "The method selects no number of steps on validation data."
    )
    lines = [
        f"# Model card: {cls.name}",
        "",
        f"{cls.summary}. Trained by gradrank on all queries of the data, with seed {spec.get('job_seed')}.",
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
        f"{entry['metric']} under the convention `{entry['convention']}`, equal scores in expectation, ± half the 95% "
        "interval over the validation queries. Each value is that of a model that was trained without these queries. "
        "The validation part also selected the number of steps, so the values are slightly too high.",
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
        "- The model was never evaluated on queries that it was not trained on. The values above are those of models "
        "with the same settings, which were trained on fewer queries.",
        "- The intervals cover the sampling of queries, not that of the training data or changes over time.",
        "- All features must be computed as in the training data. "
        + (
            "Missing values are accepted."
            if fold.model.takes_missing
            else "A missing value that is not replaced is refused."
        ),
        "- Values for groups of queries, documents or users were not measured.",
        "",
    ]
    return "\n".join(lines)


def _with_interval(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return "undefined"
    return f"{found['value']:.4f}" + ("" if found["half_width"] is None else f" ± {found['half_width']:.4f}")


def _comparison(compared: Compared | None) -> list[str]:
    if compared is None:
        return ["Nothing: there is no summary of a comparison on these data."]
    under = f" under the convention `{compared.convention}`" if compared.convention else ""
    shown = [*compared.means.items()][:MOST_METHODS]
    rows = [(f"**{name}**" if name == compared.name else name, f"{mean:.4f}") for name, mean in shown]
    more = len(compared.means) - len(shown)
    return [
        f"Mean {compared.metric} of the test parts of the folds{under}. summary.md has the intervals and tests.",
        "",
        *_table(("method", compared.metric), *rows),
        *(["", f"{more} further methods are in summary.md."] if more else []),
    ]


def _table(head: tuple[str, ...], *rows: Any) -> list[str]:
    """Return the lines of a Markdown table. rows: tuples, or one dict for a table with two columns."""
    listed = [*rows[0].items()] if len(rows) == 1 and isinstance(rows[0], Mapping) else rows
    lines = [head, tuple(":--" for _ in head), *((*row,) for row in listed if row[1] is not None)]
    return [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
