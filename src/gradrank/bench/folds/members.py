"""The trained folds of the members of a model that combines the scores of other models, for its training job."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.bench.results import DatasetFolder, MethodFolder, NumberedFold
from gradrank.data.collection import Collection
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.members import member_features
from gradrank.training.registry import models


def trained_members(
    members: Sequence[str], folder: Path | None, spec: dict[str, Any], data: Path
) -> dict[str, NumberedFold]:
    """Return a dict from the name of each member to its trained fold, folder/<member>/fold<k>.

    If a member was trained with several seeds, its fold with the seed of the job is returned. folder:
    results/<dataset>. spec: specification of the job that combines the members. data: folder of the job's stored
    collection. Raises GradrankError without a `folder`, if a member is not trained, or if a member was trained on a
    different fold or on different data.
    """
    if folder is None:
        raise GradrankError(
            f"{spec['model']}: combines the scores of {', '.join(members)}, but --members is missing. "
            f"Fix: add --members results/{spec['dataset']}"
        )
    folds = {member: _seed_fold(DatasetFolder(folder).method(member), spec["fold"], spec["seed"]) for member in members}
    for member, fold in folds.items():
        model = member.partition("-")[0]  # a variant of a parameter sweep is named <entry>-<values>
        job = f"--model {model} --data {data} --fold {spec['fold']} --seed {spec['seed']}"
        command = f"gradrank train {job} --out {fold.folder}"
        if not fold.finished:
            raise GradrankError(f"{fold.folder}: a member of {spec['model']} that is not trained. Fix: {command}")
        member_spec = fold.spec()
        expected = {key: spec[key] for key in ("fold", "data_sha256")}
        if model in models():  # else the member is a variant whose name does not begin with a model
            expected["model"] = model
        for key, value in expected.items():
            if member_spec[key] != value:
                raise GradrankError(
                    f"{fold.folder}: its {key} is {member_spec[key]!r}, expected {value!r}. Fix: {command}"
                )
    return folds


def _seed_fold(method: MethodFolder, number: int, seed: int) -> NumberedFold:
    """Return fold<k>/seed<s>/ if it differs from the training of fold<k>/ only in the seed, else fold<k>/.

    The model, the parameters and the data of both must be equal.
    """
    first, further = method.fold(number), method.fold(number, seed)
    if not (first.finished and further.finished) or first.spec()["seed"] == seed:
        return first
    same = all(first.spec()[key] == further.spec()[key] for key in ("model", "params", "data_sha256"))
    return further if same else first


def with_member_scores(collection: Collection, split: str, members: dict[str, NumberedFold]) -> Collection:
    """Return `collection`, a part of the data, with the scores of the m members as (n, m) float32 features.

    split: name of this part. The columns have the order of `members`.

    Raises GradrankError if the number of scores differs from the number of documents.
    """
    scores = []
    for fold in members.values():
        member_scores = fold.scores(split)
        if len(member_scores) != collection.rows:
            raise GradrankError(
                f"{fold.folder}: {len(member_scores)} scores of the {split} part, which has {collection.rows} "
                "documents. Fix: remove this folder and train the member again"
            )
        scores.append(member_scores)
    return replace(collection, features=member_features(scores), names=tuple(members))


def copy_members(members: dict[str, NumberedFold], fold: FoldFolder) -> None:
    """Copy the trained members into `fold`, so that the model that combines them can rank new data."""
    for number, member in enumerate(members.values(), start=1):
        copy = fold.member(number)
        shutil.copytree(member.model_path, copy.model_path)
        shutil.copy(member.spec_path, copy.spec_path)
