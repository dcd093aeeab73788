"""The training of a compared method on all queries of its data set, as a model to deploy."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradrank import __version__
from gradrank.base.conventions import selection_convention
from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.processor import form
from gradrank.bench.results import MethodFolder, NumberedFold
from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve as resolve_convention
from gradrank.ranker.model_card import CARD, Compared, model_card
from gradrank.ranker.refit import (
    REFIT,
    FoldSelection,
    frozen_fit,
    has_alternatives,
    median_step,
    query_values,
    refit_entry,
    selected_step,
)
from gradrank.training.best_of import History
from gradrank.training.fit import degenerate_model_note, job_seed, resolve, taken_as_is
from gradrank.training.fold_folder import FoldFolder, partial_folder, publish
from gradrank.training.label_gains import with_gains
from gradrank.training.trained_fold import TrainedFold

METRIC = "ndcg@10"
WHOLE = 0  # the number of the fold from which the seed of a refit is derived; folds are counted from 1
SETTINGS = ("model", "params", "gain", "data_sha256")  # entries of spec.json that all folds share
KEPT = ("model", "dataset", "params", "gain", "features", "seed", "convention")
KEPT += ("missing", "names", "columns", "sparse", "levels")  # the form of the features


def method_folder(path: Path) -> MethodFolder:
    """Return the folder of a method, from its path or from results/<dataset>/<method>.

    Raises GradrankError if the folder has no trained fold.
    """
    candidates = [MethodFolder(path), MethodFolder(path.parent / "methods" / path.name)]
    for method in candidates:
        if method.folds():
            return method
    raise GradrankError(
        f"{path}: no trained fold. Fix: give results/<dataset>/<method>, and train the method with `snakemake` or get "
        "its folds with `dvc pull`"
    )


def refit(path: Path, out: Path, data: Path | None = None, pairs: Path | None = None) -> dict[str, Any]:
    """Train a method of a comparison on all queries of its data set, write the model, and return its `refit` entry.

    The settings are those of the folds. The number of rounds or epochs is the lower median of those that the folds
    selected.

    Parameters
    ----------
    path
        The folder of the method: results/<dataset>/<method>, or results/<dataset>/methods/<method>.
    out
        The folder to write, in the form of a trained fold. The entry `refit` of spec.json has the validation values of
        the folds.
    data
        The folder of the stored collection. None means data/parquet/<dataset>.
    pairs
        The folder of the stored pairs. If None, pairs are enumerated from the grades.

    Raises GradrankError if no fold is trained, if folds have different settings, if the data are others than those of
    the folds, or if the method combines the scores of others.
    """
    method = method_folder(path)
    folds = method.folds()
    spec = _common(folds)
    cls, params = resolve(spec["model"], spec["params"])
    if members := cls.members(params):
        raise GradrankError(
            f"{method.folder}: {cls.name} combines the scores of {', '.join(members)}, and is trained on their "
            "validation scores. Fix: refit one of them, or deploy a fold of this method"
        )
    stored = StoredCollection.open(data or Path("data/parquet") / spec["dataset"])
    if stored.source_sha256 != spec["data_sha256"]:
        raise GradrankError(
            f"{stored.path}: not the data that the folds of {method.folder} were trained on. Fix: give --data, or "
            "train the folds again"
        )
    if stored.features != spec["features"]:
        raise GradrankError(f"{method.folder}: trained without some features. Fix: refit a method with all features")
    convention, gain = resolve_convention(selection_convention(spec)), spec.get("gain")

    def with_settings(collection: Collection) -> Collection:
        (part,) = with_gains([replace(collection, convention=convention)], gain)
        return part

    selections = []
    for fold in folds:
        vali = with_settings(stored.read(stored.fold(fold.number)["vali"]))
        step = None if has_alternatives(cls) else selected_step(fold.history(), spec["params"])
        values = query_values(METRIC, fold.scores("vali"), vali)
        selections.append(FoldSelection(fold.number, fold.spec()["seed"], step, values))
    stored_pairs = stored.pairs(pairs) if pairs is not None and cls.needs_pairs else None
    preparation = stored.preparation(None, taken_as_is(cls))
    whole = with_settings(stored.read(stored.all_parts, stored_pairs, preparation, True))
    whole.check(f"{stored.path}, all parts", missing=cls.takes_missing)
    step, seed = median_step(selections), job_seed(spec["seed"], spec["dataset"], spec["model"], WHOLE)
    with partial_folder(out, [stored.path, method.folder]) as partial:
        model = frozen_fit(cls, whole, params, seed, step, History(f"{spec['dataset']}/{spec['model']}/refit"))
        if note := degenerate_model_note(model, params, whole):
            print(f"{out}: warning: {note}", file=sys.stderr)
        entry = refit_entry(selections, step, METRIC, convention, whole)
        written = {key: spec[key] for key in KEPT if key in spec} | {"job_seed": seed}
        written |= {"data_sha256": stored.source_sha256, REFIT: entry}
        written |= preparation.entries()
        inputs = {fold.spec_path.relative_to(method.folder).as_posix(): sha256(fold.spec_path) for fold in folds}
        made_by = {"inputs": inputs, "versions": {"gradrank": __version__}, "processor": form()}
        trained = TrainedFold(model, written | made_by)
        (partial.folder / CARD).write_text(model_card(trained, _compared(method)), encoding="utf-8")
        trained.save(partial)
        publish(partial, FoldFolder(out))
    return entry


def _common(folds: list[NumberedFold]) -> Mapping[str, Any]:
    """Return the specification of the first fold. Raises GradrankError if another fold has other settings."""
    first = folds[0].spec()
    if "params" not in first or "model" not in first or not folds[0].model_path.is_dir():
        raise GradrankError(
            f"{folds[0].folder}: imported scores, not a model. Fix: refit a method that gradrank trains"
        )
    for fold in folds[1:]:
        spec = fold.spec()
        for key in SETTINGS:
            if spec.get(key) != first.get(key):
                raise GradrankError(
                    f"{fold.folder}: its {key} differs from that of {folds[0].folder}. Fix: train the folds again with "
                    "the same settings and data"
                )
    return first


def _compared(method: MethodFolder) -> Compared | None:
    """Return the test values of the methods of the data set; None if there is no summary."""
    dataset = method.dataset_folder
    if not dataset.summarised:
        return None
    means = {name: mean for name, values in dataset.summary().items() if (mean := values.get(METRIC)) is not None}
    settings = dataset.provenance().get("params", {}) if dataset.recorded else {}
    convention = settings.get("evaluation", {}).get("convention", "")
    return Compared(method.name, METRIC, convention, dict(sorted(means.items(), key=lambda item: -item[1])))
