"""BibTeX entries of methods and data sets."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gradrank.base.errors import GradrankError, unknown
from gradrank.bench.config.params import load
from gradrank.data.sources.catalogue import catalogue
from gradrank.training.literature import missing, named, references
from gradrank.training.registry import get_model, models


def cite(names: Sequence[str], datasets: Sequence[str], params: Path) -> Iterator[str]:
    """Yield the BibTeX entries of methods and data sets, each entry once, with the names that cite it.

    names: registered models, or variants of the file `params`. If `names` and `datasets` are empty, the entries of this
    package and of all methods and data sets that `run` in `params` selects are yielded. A comment is yielded for a name
    without a publication, and for a publication without an entry in references.bib. Raises GradrankError for an unknown
    name.
    """
    used: dict[str, list[str]] = {}
    if not names and not datasets:
        settings = load(params)
        datasets, used["gradrank"] = settings.run.datasets, ["this package"]
        names = sorted({name for dataset in datasets for name in settings.model_names(dataset)})
    for name, text in (_of_methods(names, params) | _of_datasets(datasets, params)).items():
        entries = named(text)
        for entry in entries:
            used.setdefault(entry.key, []).append(name)
        if absent := missing(text) if name not in datasets else []:
            yield f"% {name}: references.bib has no entry for {', '.join(absent)}"
        elif not entries:
            yield f"% {name}: no publication to cite{f' ({text})' if name in datasets else ''}"
    for key, entry in references().items():
        if key in used:
            yield f"\n% {', '.join(used[key])}\n{entry.bibtex}"


def _of_methods(names: Sequence[str], params: Path) -> dict[str, str]:
    """Return a dict from the name of each method to its publication, as text.

    The methods whose scores a method combines are included. Raises GradrankError for an unknown name.
    """
    settings = load(params) if params.is_file() else None
    variants = settings.models if settings else {}
    waiting, texts = list(names), {}
    while waiting:
        name = waiting.pop(0)
        if settings is None or name not in variants:
            if name not in models():
                raise GradrankError(unknown("model", name, {*variants, *models()}))
            texts[name] = get_model(name).summary
        elif settings.imported(name):
            texts[name] = ""  # imported scores have no publication
        else:
            texts[name] = settings.model(name).summary
            waiting += settings.members(name)
    return texts


def _of_datasets(names: Sequence[str], params: Path) -> dict[str, str]:
    """Return the citation of each data set by name; "your own data" if it is not in the catalogue."""
    configured = load(params).datasets if params.is_file() else {}
    for name in names:
        if name not in catalogue() and name not in configured:
            raise GradrankError(unknown("data set", name, {*catalogue(), *configured}))
    return {name: catalogue()[name].citation if name in catalogue() else "your own data" for name in names}
