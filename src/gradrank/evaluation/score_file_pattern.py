"""A ranking from elsewhere, as params.yaml names it: `their_system: { scores: path/fold{fold}.txt }`.

`{dataset}`, `{fold}` and `{split}` (train, vali or test) stand for what they say. Without `{split}` the files rank the
test part; without `{fold}` one file ranks the whole collection, of which each fold takes its part.
"""

from pathlib import Path
from string import Formatter

IMPORTED = "imported"  # stands in spec.json where a registered model's name stands
ORIGIN = "origin.json"  # of a fold's model folder: the files and their SHA-256
SPLITS = ("train", "vali", "test")  # what a training job scores
FIELDS = ("dataset", "fold", "split")


def score_files(scores: str, dataset: str, fold: int) -> dict[str, Path]:
    """The file of each part that the pattern `scores` names, by part."""
    splits = SPLITS if "{split}" in scores else ("test",)
    return {split: Path(scores.format(dataset=dataset, fold=fold, split=split)).expanduser() for split in splits}


def fault(scores: object) -> str | None:
    """Why this is no pattern of score files."""
    if not isinstance(scores, str) or not scores:
        return "expected the path of score files, as in runs/fold{fold}.txt"
    try:
        found = {field for _, field, form, how in Formatter().parse(scores) if field is not None}
        plain = not any(form or how for _, _, form, how in Formatter().parse(scores))
    except ValueError as error:
        return f"{error}; braces stand for {{{'}, {'.join(FIELDS)}}} alone"
    if not plain or not found <= set(FIELDS):
        return f"braces stand for {{{'}, {'.join(FIELDS)}}} alone"
    return None
