"""The files of a new method, loss, metric or study, each with its test, from the templates in templates/."""

import keyword
import re
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic

Kind = Literal["method", "loss", "metric", "study"]
TEMPLATES = Path(__file__).parent / "templates"
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
METRICS = "src/gradrank/measures/metrics.py"  # a checkout has all metrics in this file


class Place(NamedTuple):
    """The paths of a new file and of its test, relative to the folder of the project."""

    file: str
    test: str


PROJECT: dict[Kind, Place] = {
    "method": Place("models/{name}.py", "tests/test_{name}.py"),
    "loss": Place("losses/{name}.py", "tests/test_{name}.py"),
    "metric": Place("metrics/{name}.py", "tests/test_{name}.py"),
    "study": Place("studies/{name}.py", "tests/test_{name}.py"),
}
CHECKOUT: dict[Kind, Place] = {
    "method": Place("src/gradrank/models/{name}.py", "tests/unit/models/test_{name}.py"),
    "loss": Place("src/gradrank/training/losses/{name}.py", "tests/unit/training/test_{name}.py"),
    "metric": Place(METRICS, "tests/unit/measures/test_{name}.py"),
    "study": Place("studies/{name}.py", "tests/studies/test_{name}.py"),
}
NEXT: dict[Kind, str] = {
    "method": "gradrank models {name}",
    "loss": "make losses/ the entry point `gradrank.losses` of a package (docs/extend-with-a-package.md)",
    "metric": "import metrics/{name}.py in your program, then `gradrank.evaluate(..., metrics=['{name}@5'])`",
    "study": "snakemake --cores 2 {name}",
}
NEXT_IN_CHECKOUT: dict[Kind, str] = {
    "loss": "set `loss: {name}` for a neural ranker in params.yaml",
    "metric": "add {name}@5 to `evaluation.metrics` in params.yaml",
    "study": "add studies/{name}.yaml to `params` in dvc.yaml, then `snakemake --cores 2 {name}`",
}


def is_checkout(project: Path) -> bool:
    """Return whether a folder is a checkout of gradrank, where additions belong to the package."""
    return (project / METRICS).is_file()


def write_new(kind: Kind, name: str, project: Path) -> list[Path]:
    """Write the files of a new method, loss, metric or study, and return their paths.

    project: the folder of a project, or a checkout of gradrank, in which a metric is added at the end of the file of
    all metrics. If the name is not valid or is taken, or if a file exists, GradrankError is raised and nothing is
    written.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise GradrankError(
            f"{name}: not a name of a {kind}. Fix: use lower-case letters, digits and _, as in my_{kind}"
        )
    if name in _taken(kind):
        raise GradrankError(f"{name}: gradrank already has a {kind} of this name. Fix: choose another name")
    file, test = (project / path.format(name=name) for path in (CHECKOUT if is_checkout(project) else PROJECT)[kind])
    appends = kind == "metric" and is_checkout(project)
    written = {test: _filled(f"test_{kind}.py", name, project, file, test)}
    text = _filled(f"{kind}.py", name, project, file, test)
    if kind == "study":
        written[file.with_suffix(".yaml")] = _filled("study.yaml", name, project, file, test)
    for path in written if appends else {file, *written}:
        if path.exists():
            raise GradrankError(
                f"{path}: the file exists and is not replaced. Fix: choose another name, or move the file"
            )
    if appends:
        text = file.read_text(encoding="utf-8") + "\n\n" + text[text.index("@metric") :]
    for path, content in ({file: text} | written).items():
        with atomic(path) as partial:
            partial.write_text(content, encoding="utf-8")
    return [file, *written]


def next_step(kind: Kind, name: str, project: Path) -> str:
    """Return what to do after the files were written."""
    steps = NEXT | NEXT_IN_CHECKOUT if is_checkout(project) else NEXT
    return steps[kind].format(name=name)


def _taken(kind: Kind) -> set[str]:
    """Return the names of this kind that gradrank has. Names of studies belong to the project."""
    if kind == "method":
        from gradrank.training.registry import models

        return {*models()}
    if kind == "loss":
        from gradrank.training.registry import loss_names

        return {*loss_names()}
    if kind == "metric":
        from gradrank.measures import metrics

        return {pattern.partition("@")[0] for pattern in metrics.METRICS} | {*vars(metrics)}
    return set()


def _filled(template: str, name: str, project: Path, file: Path, test: Path) -> str:
    """Return the text of a template. Its placeholders are names, and the paths of the file as seen by the test."""
    words = name.split("_")
    text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(
        name=name,
        camel="".join(word.title() for word in words),
        title=" ".join(words).capitalize(),
        file=file.relative_to(project).as_posix(),
        folder=file.parent.relative_to(project).as_posix(),
        depth=len(test.relative_to(project).parts) - 1,
    )
