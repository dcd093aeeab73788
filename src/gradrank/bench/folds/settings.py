"""Settings that are read before params.yaml is checked: path patterns of score files, primary convention and baseline.

Imported score files have a pattern, such as `their_system: { scores: path/fold{fold}.txt }`. A pattern may contain the
fields `{dataset}`, `{fold}` and `{split}` (train, vali or test). Without `{split}`, the files rank the test part.
Without `{fold}`, one file ranks the whole collection, and each fold uses its part of this file.

The primary convention and the baseline of a data set are looked up in the content of a params.yaml. The content is not
validated, because an older version of gradrank may have written the file next to the results.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.conventions import DEFAULT

IMPORTED = "imported"  # the model's name in spec.json for imported scores
ORIGIN = "origin.json"  # file in a fold's model folder: the score files and their SHA-256
SPLITS = ("train", "vali", "test")  # the parts that a training job scores
FIELDS = ("dataset", "fold", "split")
PATH_VARIABLE = re.compile(r"<[a-z][a-z0-9_]*>")  # Snakemake replaces it in a path by the value of a variable


def score_files(scores: str, dataset: str, fold: int) -> dict[str, Path]:
    """Return a dict of the score files that the pattern `scores` stands for in one fold.

    The keys are `train`, `vali` and `test`, or only `test` if the pattern has no `{split}`.
    """
    splits = SPLITS if "{split}" in scores else ("test",)
    return {split: Path(scores.format(dataset=dataset, fold=fold, split=split)).expanduser() for split in splits}


def fault(scores: object) -> str | None:
    """Return the reason why `scores` is not a valid pattern of score files, or None if it is valid."""
    if not isinstance(scores, str) or not scores:
        return "expected the path of score files, such as runs/fold{fold}.txt"
    if match := PATH_VARIABLE.search(scores):
        return f"Snakemake reads {match[0]} in a path as a variable; rename the folder, or link to it (`ln -s`)"
    valid = f"only {{{'}, {'.join(FIELDS)}}} may stand in braces"
    try:
        fields = {field for _, field, _, _ in Formatter().parse(scores) if field is not None}
        is_plain = not any(form or conversion for _, _, form, conversion in Formatter().parse(scores))
    except ValueError as error:
        return f"{error}; {valid}"
    return None if is_plain and fields <= set(FIELDS) else valid


BASELINE = "ranksvm"  # Joachims 2002, the oldest method on pairs of documents with a published value on LETOR's data


def primary_convention(params: Mapping[str, Any], dataset: str, default: str | None = None) -> str:
    """Return the value of `datasets.<dataset>.convention`, or the default if this key is not set.

    default: if None, the convention in the catalogue is used, then the value of `evaluation.convention`, then DEFAULT.
    """
    settings, entry = _section(_section(params, "datasets"), dataset), catalogue().get(dataset)
    of_entry = entry.convention if entry else None
    of_run = _section(params, "evaluation").get("convention")
    return settings.get("convention") or default or of_entry or of_run or DEFAULT


def baseline_of(params: Mapping[str, Any]) -> str:
    """Return the value of `evaluation.baseline`, or BASELINE if this key is not set."""
    return _section(params, "evaluation").get("baseline") or BASELINE


def _section(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}
