"""A results folder as a Side: results/, results/<dataset>/ or the project around it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gradrank.diff.results import (
    costs_of,
    faults,
    measured,
    methods_of,
    of_provenance,
    primary_convention,
)
from gradrank.diff.side import Side
from gradrank.errors import GradrankError
from gradrank.evaluation.per_query import gather
from gradrank.files import read_json
from gradrank.validation import flat

if TYPE_CHECKING:
    import polars as pl


def read_folder(path: Path) -> Side:
    """Raises GradrankError where there are no results."""
    root, only = _located(path)
    summaries = {file.parent.name: read_json(file) for file in sorted(root.glob(f"{only}/summary.json"))}
    frame = _values(root, only)
    names = sorted({*summaries, *([] if frame is None else frame["dataset"].unique())})
    names = [name for name in names if only in ("*", name)]
    if not names:
        raise GradrankError(
            f"{path}: no results; expected <dataset>/summary.json or <dataset>/<model>/per_query.parquet below it"
        )
    known = _known(root, names)
    values = measured(frame, known["conventions"]) if frame is not None else {}
    values = {dataset: own for dataset, own in values.items() if dataset in names}
    cure = "run `dvc pull`, or the workflow, in its checkout"
    return Side(
        name=str(path),
        kind="results folder",
        revision=None,
        methods=methods_of(
            summaries,
            values,
            costs_of({str(file): file.read_bytes() for file in root.glob(f"{only}/*/fold*/timing.json")}),
        ),
        notices=tuple(faults(summaries, values, cure)),
        **known,
    )


def _located(path: Path) -> tuple[Path, str]:
    """The folder of all data sets, and the name of the one that is meant (`*`: all)."""
    if (path / "results").is_dir():
        return path / "results", "*"
    if (path / "summary.json").is_file() or any(path.glob("*/fold*/spec.json")):
        return path.resolve().parent, path.resolve().name
    return path, "*"


def _values(root: Path, only: str) -> "pl.DataFrame | None":
    """Each method's own file; where they are not here, what `dvc pull` brings: all of them in one."""
    import polars as pl

    if any(root.glob(f"{only}/*/fold*/spec.json")) and any(root.glob(f"{only}/*/per_query.parquet")):
        return gather(root, only)
    collected = root / "per_query.parquet"
    return pl.read_parquet(collected) if collected.is_file() else None


def _known(root: Path, names: list[str]) -> dict[str, Any]:
    """How the results were made: what provenance.json says, and of the methods what their spec.json says."""
    beside = root.parent / "params.yaml"
    study = yaml.safe_load(beside.read_text(encoding="utf-8")) if beside.is_file() else None
    convention = primary_convention(study or {})
    known: dict[str, Any] = {"params": {}, "data": {}, "code": {}, "versions": {}}
    if (root / "provenance.json").is_file():
        known = of_provenance(read_json(root / "provenance.json"))
    known["conventions"] = dict.fromkeys(names, convention) | known.get("conventions", {})
    for dataset in names:
        for file in sorted(root.glob(f"{dataset}/*/fold1/spec.json")):
            spec = read_json(file)
            params = known["params"].setdefault(dataset, {})
            params |= {"": {"seed": spec["seed"]}, f"models.{file.parts[-3]}": flat(spec["params"])}
            known["data"].setdefault(dataset, {})["source"] = spec["data_sha256"]
            known["versions"].setdefault(dataset, spec["versions"])
    return {part: {name: each[name] for name in names if name in each} for part, each in known.items()}
