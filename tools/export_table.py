"""Write the table of methods and model formats in docs/export.md.

Each method is trained on small generated data without missing values, and each format tries to write the trained model.
Methods with equal formats share a row. All extras must be installed.
"""

from collections import defaultdict
from pathlib import Path

import gradrank

gradrank.pin()  # before numpy

# isort: split
from gradrank.base.errors import GradrankError
from gradrank.export.export import exported_model, possible_formats
from gradrank.export.lookup import format_names
from gradrank.training.contract.test_models import fitted
from gradrank.training.model import Model
from gradrank.training.registry import missing_packages, models
from gradrank.training.trained_fold import TrainedFold

PAGE = Path(__file__).parents[1] / "docs/export.md"
MARKERS = "<!-- table of methods -->", "<!-- end of the table -->"
FEATURES = 5  # of the generated data


def formats_of(cls: type[Model]) -> tuple[str, ...]:
    """Return the names of the formats that can express a method with default parameters."""
    try:
        with exported_model(TrainedFold(fitted(cls), {"model": cls.name, "features": FEATURES})) as model:
            return tuple(possible_formats(model))
    except GradrankError:  # the model has no scoring form
        return ()


def table() -> str:
    """Return the table. Raises GradrankError if the packages of a method are not installed."""
    rows = defaultdict(list)
    for name, cls in models().items():
        if missing := missing_packages(cls):
            raise GradrankError(f"{name}: needs {', '.join(missing)}. Fix: pip install 'gradrank[all]'")
        rows[formats_of(cls)].append(name)
    names = format_names()
    lines = [f"| methods | {' | '.join(names)} |", f"| :-- |{' :-: |' * len(names)}"]
    for formats, methods in sorted(rows.items(), key=lambda row: (-len(row[0]), row)):
        marks = ("yes" if name in formats else "" for name in names)
        lines.append(f"| {', '.join(f'`{method}`' for method in methods)} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def table_of_page() -> str:
    """Return the table between the markers of the page."""
    return PAGE.read_text(encoding="utf-8").partition(f"{MARKERS[0]}\n")[2].partition(MARKERS[1])[0]


def main() -> None:
    """Replace the table of the page."""
    before, marker, rest = PAGE.read_text(encoding="utf-8").partition(f"{MARKERS[0]}\n")
    _, end, after = rest.partition(MARKERS[1])
    PAGE.write_text(before + marker + table() + end + after, encoding="utf-8")


if __name__ == "__main__":
    main()
