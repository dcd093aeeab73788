"""Export of a trained estimator to the format of another program."""

from collections.abc import Sequence
from pathlib import Path

from gradrank.data.reader import Batch
from gradrank.training.trained_fold import TrainedFold


def export_fold(
    fold: TrainedFold, path: Path | str, to: str, names: Sequence[str] | None, batch: Batch | None
) -> list[Path]:
    """Write a trained fold to `path` in the format `to`, and return the written files.

    names: the (d,) names of the features; None for those of the training data. batch: documents on which the written
    file is compared with the fold; None for no comparison. Raises GradrankError as `Ranker.export` does.
    """
    from gradrank.export.check import check
    from gradrank.export.export import export, feature_names

    used = feature_names(fold, names)
    files = export(fold, to, path, used)
    if batch is not None:
        check(fold, to, files[0], [batch], used)
    return files
