"""Plot of mean ranks with Nemenyi's critical difference (Demšar 2006), one bar per method.

Two methods differ significantly if their bars do not overlap.
"""

from dataclasses import dataclass

from markupsafe import Markup

from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.strips import MIDDLE, Strip, axis, bar, percent, strip, vertical_line


@dataclass(frozen=True)
class Ranks:
    """The plot of one metric, best method first.

    p: p value of Friedman's test; its null hypothesis is that all methods have the same mean rank. level: the other
    methods that are not significantly worse than the best method.
    """

    metric: str
    convention: str
    critical_difference: float
    p: float
    strips: list[Strip]
    axis: Markup
    level: list[str]


def mean_ranks(dataset: ReportedDataset) -> Ranks | None:
    """Return the plot of the headline metric, or None if the mean ranks of this metric were not computed.

    A bar extends by half the critical difference to either side of the mean rank, so that the bars of two methods
    overlap if and only if their mean ranks differ by less than the critical difference. The usual plot connects methods
    with brackets, which are hard to read for 40 methods.
    """
    rows = [row for row in dataset.tables.get("ranks", []) if row["metric"] == dataset.headline]
    if not rows:
        return None
    critical, best = rows[0]["critical_difference"], rows[0]["rank"]
    ends = [row["rank"] + side * critical / 2 for row in rows for side in (-1, 1)]
    scale = svg.padded(ends, 0, 100, 0.03)
    strips = []
    for row in rows:
        rank, differs = row["rank"], row["rank"] - best > critical
        at = percent(scale, rank)
        parts = [
            vertical_line(scale, best + critical / 2, "edge"),  # the end of the best method's bar
            bar(scale, rank - critical / 2, rank + critical / 2, f"rank{' apart' if differs else ''}"),
            svg.element("circle", cx=at, cy=MIDDLE, r=4.0, class_=f"rank{' apart' if differs else ''}"),
        ]
        label = f"mean rank {rank:.2f}, {rank - critical / 2:.2f} to {rank + critical / 2:.2f}: "
        label += "significantly worse than the best" if differs else "not significantly worse than the best"
        strips.append(Strip(row["model"], rank, strip(scale, parts, label)))
    return Ranks(
        metric=dataset.headline,
        convention=rows[0]["convention"],
        critical_difference=critical,
        p=rows[0]["p"],
        strips=strips,
        axis=axis(scale),
        level=[row["model"] for row in rows[1:] if row["rank"] - best <= critical],
    )
