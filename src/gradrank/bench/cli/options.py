"""Options that several commands of the benchmark share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gradrank.base.errors import GradrankError, nearest
from gradrank.bench.results import Results

if TYPE_CHECKING:
    from gradrank.bench.config.params import RunSettings


REPORT = Results().report_path

Seed = Annotated[int, typer.Option(help="Seed of the run. Each job derives its own seed from it.")]

Model = Annotated[str, typer.Option(help="Name of a model; `gradrank models` lists them.")]
Fold = Annotated[int, typer.Option(min=1, help="Number of the fold.")]
Pairs = Annotated[
    Path | None, typer.Option(help="Folder of the stored pairs. By default, pairs are enumerated from the grades.")
]
Members = Annotated[
    Path | None, typer.Option(help="Folder results/<dataset>, for a model that combines the scores of other models.")
]
Code = Annotated[str | None, typer.Option(help="Digest of the code. By default, it is computed.")]
ResultsFolder = Annotated[Path, typer.Option(help="Results root, with one folder per data set.")]
ParamsFile = Annotated[Path, typer.Option(help="File with the parameters of the run.")]
Settings = Annotated[
    str | None,
    typer.Option(help="Settings as a JSON object, or @FILE. By default, those of params.yaml and study.yaml."),
]


Ties = Literal["omit", "half"]
Missing = Literal["least", "zero", "keep", "mean", "median", "indicator"]
Normalise = Annotated[
    Literal["query", "global", "none"],
    typer.Option(
        help="Normalisation of the features. query: to [0, 1] within each query, as in LETOR. global: by mean and "
        "deviation of the training part of each fold."
    ),
]


def run_settings(path: Path = Path("params.yaml"), study: str = "") -> "RunSettings":
    """Return the checked settings of a project.

    path: the path of params.yaml. Raises GradrankError if `study` is given and has no settings in the project.
    """
    from gradrank.bench.config.params import load
    from gradrank.bench.config.studies import settings_path

    settings = load(path)
    if study and study not in settings.studies:
        file = settings_path(study.partition("/")[0], path.parent)
        what = "no key `reduced`" if file.is_file() else f"no such file{nearest(study, list(settings.studies))}"
        raise GradrankError(f"{file}: {what}. Fix: write the settings of the study, or give --settings")
    return settings
