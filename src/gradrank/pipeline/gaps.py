"""What was here once and is gone: deleted by hand, or by a job that was killed while it wrote.

Snakemake makes a file again that a target needs, not one that only an existing file was made of: without these
results its tables would pass for complete.
"""

from collections.abc import Iterable

from gradrank.results import Fold, Results


def forget_unfinished(results: Results) -> None:
    """Remove each spec.json that says of a fold what is not true any more, that all of it is there."""
    for fold in (fold for own in results.datasets() for each in own.methods() for fold in each.folds()):
        if not _whole(fold):
            fold.spec_path.unlink()


def gaps(results: Results, dataset: str, methods: Iterable[str], folds: Iterable[int]) -> list[str]:
    """What to ask for of a data set's methods: of those that were begun, or stand in its summary, what is not here."""
    own = results.dataset(dataset)
    begun = [each for each in map(own.method, sorted(methods)) if own.summarised or each.begun]
    specs = [fold.spec_path for each in begun for fold in map(each.fold, folds) if not _whole(fold)]
    return [str(path) for path in specs + [each.per_query_path for each in begun if not each.evaluated]]


def _whole(fold: Fold) -> bool:
    """Timings are missed by nothing that is made of a fold."""
    return all(
        path.exists() for path in (fold.model_path, fold.scores_path, fold.history_path, fold.spec_path)
    )
