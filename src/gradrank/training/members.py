"""Models made of other models' scores: those scores as features, and the members kept with what they make."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.results import DatasetFolder, FoldFolder, MethodFolder
from gradrank.data.collection import Collection
from gradrank.training.registry import models


def trained_members(
    members: Sequence[str], folder: Path | None, spec: dict[str, Any], data: Path
) -> dict[str, FoldFolder]:
    """Each member's fold, folder/<member>/fold<k>, of the job's seed where the member has several.

    folder: results/<dataset>. spec: of the job that is made of them; data: its Parquet collection. Raises
    GradrankError for a member that is not trained or was trained on another fold or other data.
    """
    if folder is None:
        raise GradrankError(
            f"{spec['model']}: it is made of the scores of {', '.join(members)}; say where they are: "
            f"--members results/{spec['dataset']}"
        )
    found = {member: _of_seed(DatasetFolder(folder).method(member), spec["fold"], spec["seed"]) for member in members}
    for member, fold in found.items():
        model = member.partition("-")[0]  # of a sweep's variant, the entry
        job = f"--model {model} --data {data} --fold {spec['fold']} --seed {spec['seed']}"
        command = f"gradrank train {job} --out {fold.folder}"
        if not fold.finished:
            raise GradrankError(f"{fold.folder}: a member of {spec['model']} that is not trained; first run: {command}")
        own = fold.spec()
        expected = {key: spec[key] for key in ("fold", "data_sha256")}
        if model in models():  # else a variant under a name of its own
            expected["model"] = model
        for key, wanted in expected.items():
            if own[key] != wanted:
                raise GradrankError(
                    f"{fold.folder}: its {key} is {own[key]!r}, expected {wanted!r}; train it again: {command}"
                )
    return found


def _of_seed(method: MethodFolder, number: int, seed: int) -> FoldFolder:
    """The fold trained with `seed`; where none belongs to the first seed's fold<k>/, that: it is the only one."""
    first, further = method.fold(number), method.fold(number, seed)
    if not (first.finished and further.finished) or first.spec()["seed"] == seed:
        return first
    same = all(first.spec()[key] == further.spec()[key] for key in ("model", "params", "data_sha256"))
    return further if same else first


def with_member_scores(collection: Collection, split: str, members: dict[str, FoldFolder]) -> Collection:
    """A fold's `split`, with (n, m) float32 features: the scores of m members in their order.

    Raises GradrankError for scores that do not fit the collection.
    """
    scores = []
    for fold in members.values():
        own = fold.scores(split)
        if len(own) != collection.rows:
            raise GradrankError(
                f"{fold.folder}: {len(own)} scores of the {split} part, which has {collection.rows} "
                "documents; train it again"
            )
        scores.append(own)
    return replace(collection, features=member_features(scores))


def member_features(scores: Sequence[np.ndarray]) -> np.ndarray:
    """(n, m) float32 features from the (n,) scores of m members."""
    return np.stack(scores, axis=1).astype(np.float32)


def keep_members(members: dict[str, FoldFolder], fold: FoldFolder) -> None:
    """Copy the trained members into the fold whose model is made of them, so that it can rank new data."""
    for number, member in enumerate(members.values(), start=1):
        kept = fold.member(number)
        shutil.copytree(member.model_path, kept.model_path)
        shutil.copy(member.spec_path, kept.spec_path)


def kept_members(fold: FoldFolder) -> list[FoldFolder]:
    """What `keep_members` put into `fold`, in the members' order."""
    return list(takewhile(lambda kept: kept.finished, map(fold.member, count(1))))
