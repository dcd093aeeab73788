"""What was here once and is gone or damaged: deleted or edited by hand, cut off by a full disk or a crash.

Snakemake makes a file again that a target needs, not one that only an existing file was made of: without these
results its tables would pass for complete.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gradrank.errors import GradrankError
from gradrank.results import Fold, Results


def forget_damaged(results: Results) -> list[str]:
    """Remove each spec.json that says of a fold what is not true any more; what was wrong, a line each.

    The fold is then trained again. Of files that are older than spec.json, which is written last, only their presence
    is asked.
    """
    found = []
    for fold in (fold for own in results.datasets() for each in own.methods() for fold in each.folds()):
        if wrong := next(_wrong(fold), None):
            found.append(
                f"{wrong}: gone, damaged or edited since its job wrote it; the fold is trained again"
            )
            fold.spec_path.unlink()
    return found


def gaps(
    results: Results, dataset: str, methods: Mapping[str, Sequence[int]], folds: Iterable[int]
) -> list[str]:
    """What to ask for of a data set's methods: of those that were begun, or stand in its summary, what is not here.

    methods: by name their seeds, that of fold<k>/ itself first.
    """
    own = results.dataset(dataset)
    begun = [each for each in map(own.method, sorted(methods)) if own.summarised or each.begun]
    places = (
        (each, fold, seed) for each in begun for seed in (None, *methods[each.name][1:]) for fold in folds
    )
    specs = [
        each.fold(fold, seed).spec_path for each, fold, seed in places if not each.fold(fold, seed).finished
    ]
    return [str(path) for path in specs + [each.per_query_path for each in begun if not each.evaluated]]


def _wrong(fold: Fold) -> Iterator[Path]:
    """The files of a finished fold that are not what its spec.json says."""
    written = fold.spec_path.stat().st_mtime_ns
    try:
        names = fold.spec()["files"]
    except (GradrankError, KeyError):  # damaged, or of a time before they were named
        yield fold.spec_path
        return
    for path in (fold.folder / name for name in names):
        if not path.is_file():
            yield path
        elif path.stat().st_mtime_ns > written:
            try:
                fold.check(path)
            except GradrankError:
                yield path
