"""The order of the methods of a data set, the pairs that differ significantly, and one sentence that sums them up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradrank.base.text_tables import is_missing, number
from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.tables.table import Row, descending, is_worse
from gradrank.comparison.statistics import LEVEL
from gradrank.measures.metrics import metric_label
from gradrank.training.literature import OTHERS, by_family
from gradrank.training.registry import models

FUSION = "fusion"  # family of the methods that combine the scores of other methods
MOST_NAMED = 3
MOST_BEST = 5  # largest number of methods that may be the best and are named one by one


@dataclass(frozen=True)
class Standing:
    """One method on one data set.

    half_width: half the 95% interval of the mean, or None if the values per query are missing. published: the rows of
    the published values under the same convention. is_worse: True if the method is significantly worse than the best,
    None if this was not tested.
    """

    model: str
    family: str
    mean: float
    half_width: float | None
    published: Sequence[Row]
    is_worse: bool | None


@dataclass(frozen=True)
class Standings:
    """The methods with a mean, best first.

    baseline: the method that the others are compared with. better: the methods that are significantly better than the
    baseline; None if this was not decided.
    """

    metric: str
    rows: list[Standing]
    baseline: str | None
    better: frozenset[str] | None

    def answer(self) -> str:
        """Return one sentence that says which methods are best, and whether the tests confirm it."""
        names = [row.model for row in self.rows]
        if not names:
            return f"No method has a value of {metric_label(self.metric)}."
        if len(names) == 1:
            only = self.rows[0]
            interval = "" if is_missing(only.half_width) else f" ± {number(only.half_width)}"
            return f"`{only.model}` is the only method: {metric_label(self.metric)} {number(only.mean)}{interval}."
        if not round(self.rows[0].mean, 4):
            return f"Every method has {metric_label(self.metric)} 0."
        clauses = [self._shared(), self._baseline(), self._best()]
        text = "; ".join(clause for clause in clauses if clause)
        return f"{text[0].upper()}{text[1:]}."

    def _shared(self) -> str:
        """Return a clause that names the methods that share the highest mean; empty if there is only one."""
        names = [row.model for row in self.rows if round(row.mean, 4) == round(self.rows[0].mean, 4)]
        if len(names) == 1:
            return ""
        if len(names) == len(self.rows):
            return f"all {len(names)} methods have the same mean"
        return f"{listed(names)} share the highest mean"

    def _baseline(self) -> str:
        """Return a clause on the methods that are better than the baseline; empty if the baseline itself is first."""
        names = [row.model for row in self.rows]
        if self.better is None or self.baseline not in names[1:] or len(names) == 2:
            return ""
        rivals = [row.model for row in self.rows if row.family != FUSION and row.model != self.baseline]
        noun = "method" if len(rivals) == len(names) - 1 else "single method"
        above = [model for model in rivals if model in self.better]
        fused = [model for model in names if model in self.better and model not in rivals]
        if not above and fused:
            return f"only {_are(fused)} significantly better than `{self.baseline}`, and no {noun} is"
        if not above:
            return f"no {noun} is significantly better than `{self.baseline}`"
        if len(above) <= MOST_NAMED:
            return f"{_are(above)} significantly better than `{self.baseline}`"
        return f"{len(above)} of {len(rivals)} other {noun}s are significantly better than `{self.baseline}`"

    def _best(self) -> str:
        """Return a clause on the methods that may be the best."""
        first, *others = (row.model for row in self.rows)
        if self.rows[0].is_worse is None:
            return f"`{first}` has the highest mean, which is not tested, because values per query are missing"
        level = [row.model for row in self.rows if not row.is_worse]
        if len(level) == 1:
            if others[1:]:
                return f"`{first}` is the best method with {1 - LEVEL:.0%} confidence"
            return f"`{first}` is significantly better than `{others[0]}`"
        if len(level) == len(self.rows):
            return "every method may be the best" if others[1:] else f"`{first}` and `{others[0]}` may both be the best"
        if len(level) <= MOST_BEST:
            return f"the methods that may be the best are {listed(level, MOST_BEST)}"
        return f"{len(level)} of {len(self.rows)} methods may be the best, and `{first}` has the highest mean"


def standings(dataset: ReportedDataset) -> Standings:
    """Return the methods of a data set by its headline metric under its primary convention."""
    rows = {model: row for model, row in dataset.headline_rows().items() if not is_missing(row["mean"])}
    published = comparable_published(dataset)
    family_of = families()
    ordered = sorted(rows, key=lambda model: (descending(rows[model]["mean"]), model))
    return Standings(
        dataset.headline,
        [
            Standing(
                model,
                family_of.get(dataset.model_of(model), OTHERS),
                rows[model]["mean"],
                None if is_missing(half := rows[model]["half_width"]) else half,
                published.get(model, ()),
                is_worse(rows[model]),
            )
            for model in ordered
        ],
        dataset.baseline,
        dataset.better,
    )


def comparable_published(dataset: ReportedDataset) -> dict[str, list[Row]]:
    """Return the published values of the headline metric by method.

    A value that was published under another convention is included only if our mean is the same under both.
    """
    rows = dataset.headline_rows()
    found: dict[str, list[Row]] = {}
    for row in dataset.tables.get("published", []):
        ours = rows.get(row["model"], {}).get("mean")
        if row["metric"] == dataset.headline and ours is not None and abs(row["ours"] - ours) < 5e-5:
            found.setdefault(row["model"], []).append(row)
    return found


def families() -> Mapping[str, str]:
    """Return the family of each installed model."""
    return {model.name: family for family, members in by_family(models().values()).items() for model, _ in members}


def _are(names: Sequence[str]) -> str:
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'}"


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return names as text: "`a`, `b` and `c`", or "`a`, `b`, `c` and 4 other methods". most: most names to show."""
    shown = [f"`{name}`" for name in names[:most]]
    if rest := len(names) - len(shown):
        shown.append(f"{rest} other method{'s' if rest > 1 else ''}")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
