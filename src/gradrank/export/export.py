"""Export of a trained fold to a model format, and the comparison of the exported model with gradrank.

Both score the same documents.
"""

import functools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, check_file_output, replaced_file, write_json
from gradrank.data.reader import Batch
from gradrank.export.category_trees import numeric_form
from gradrank.export.engines import MEANINGS, MissingRule, Target, targets
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, Reader
from gradrank.export.lookup import find_format, format_names
from gradrank.training.scoring_form import NoScoringForm
from gradrank.training.trained_fold import TrainedFold


@dataclass(frozen=True)
class Agreement:
    """The result of a comparison in which no difference exceeds the tolerance.

    rows: the number of documents. difference: the largest difference of a score. allowed: the largest allowed
    difference: the tolerance of the format, times the larger of 1 and the largest absolute score.
    """

    rows: int
    difference: float
    allowed: float

    def __str__(self) -> str:
        return (
            f"{self.rows:,} documents have the scores and the order of gradrank; largest difference of a score: "
            f"{self.difference:.3g} (allowed: {self.allowed:.3g})"
        )


def check(
    fold: TrainedFold, to: str, path: Path, rows: Iterable[Batch], names: Sequence[str], target: Target | None = None
) -> Agreement:
    """Compare the scores of an exported file with those of the trained fold.

    Parameters
    ----------
    fold
        The trained fold.
    to
        The name of the format.
    path
        The first file that the export wrote.
    rows
        The documents, in batches of whole queries.
    names
        The d names of the features in the file.
    target
        The search engine, whose rules for missing features are simulated; None for the rule of the format.

    Raises
    ------
    GradrankError
        If a score differs by more than the tolerance of the format, if two documents of a query are in another order
        although their scores differ by more than the tolerance, or if the file is malformed. The message names the
        first such document.
    """
    model_format = find_format(to)
    reader = model_format.read(path)
    columns = _columns(reader, names, path)
    rules = sorted(target.missing) if target else [None]
    ours, offsets, documents = [np.empty(0)], [np.zeros(1, np.int64)], []
    theirs: dict[MissingRule | None, list[np.ndarray]] = {rule: [np.empty(0)] for rule in rules}
    for batch in rows:
        ours.append(fold.score(batch.features, batch.offsets))
        features = np.ascontiguousarray(batch.features[:, columns])
        for rule, scores in theirs.items():
            scores.append(
                reader.scores(features, batch.offsets)
                if rule is None
                else reader.scores_under(rule, features, batch.offsets)
            )
        offsets.append(offsets[-1][-1] + batch.offsets[1:])
        documents.extend(_documents(batch))
    expected, differences = np.concatenate(ours), []
    for rule, scores in theirs.items():
        found, where = np.concatenate(scores), f"{path}" if rule is None else f"{path}, if {MEANINGS[rule]}"
        differences.append(_compared(fold, model_format, expected, found, np.concatenate(offsets), documents, where))
    return max(differences, key=lambda agreement: agreement.difference)


def _compared(
    fold: TrainedFold,
    model_format: ModelFormat,
    expected: np.ndarray,
    found: np.ndarray,
    offsets: np.ndarray,
    documents: Sequence[str],
    where: str,
) -> Agreement:
    """Compare the (n,) scores of a file with those of the fold, as `check` does. where: begin of the message."""
    tolerance = model_format.tolerance_of(numeric_form(fold.model, len(fold.schema.sources)))
    allowed = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    differs = ~(np.abs(expected - found) <= allowed)  # also true for a score that is not a number
    fault = f"a difference above {allowed:.3g} is not allowed"
    if not differs.any():
        differs = in_other_order(expected, found, offsets, allowed)
        fault = "a document with a clearly lower score in gradrank has no lower score in the file"
    if differs.any():
        row = int(differs.argmax())
        raise GradrankError(
            f"{where}: {documents[row]} has the score {found[row]:.9g}, and in gradrank {expected[row]:.9g}; {fault}. "
            "Fix: do not use the file; export the model in another format"
        )
    return Agreement(len(expected), float(np.abs(expected - found).max(initial=0.0)), allowed)


def in_other_order(expected: np.ndarray, found: np.ndarray, offsets: np.ndarray, allowed: float) -> np.ndarray:
    """Return (n,) bool, whether a document of the same query is clearly below in `expected`, but not below in `found`.

    expected, found: (n,) scores. offsets: (q+1,); query i has the rows offsets[i]:offsets[i+1]. allowed: scores that
    differ by more than this are clearly different.
    """
    out = np.zeros(len(expected), bool)
    for start, stop in pairwise(offsets):
        one, two = expected[start:stop], found[start:stop]
        order = np.argsort(one, kind="stable")
        highest = np.r_[-np.inf, np.maximum.accumulate(two[order])]  # the highest `found` of the k lowest `expected`
        below = np.searchsorted(one[order], one - allowed, side="left")
        out[start:stop] = two <= highest[below]
    return out


def _documents(batch: Batch) -> list[str]:
    """Return the query and the id of each document for a message; the row within the query if there is no id."""
    sizes = np.diff(batch.offsets)
    rows = np.arange(len(batch.features)) - np.repeat(batch.offsets[:-1], sizes) + 1
    return [
        f"query {qid}, document {row if docid is None else docid}"
        for qid, row, docid in zip(np.repeat(batch.qids, sizes), rows, batch.docids, strict=True)
    ]


def _columns(reader: Reader, names: Sequence[str], path: Path) -> list[int]:
    """Return the positions of the features of a file in `names`."""
    if reader.names is None:
        return list(range(len(names)))
    positions = {name: number for number, name in enumerate(names)}
    if unknown := [name for name in reader.names if name not in positions]:
        raise GradrankError(f"{path}: the feature {unknown[0]!r} is not in the data. Fix: export the model again")
    return [positions[name] for name in reader.names]


ENGINE_ADVICE = (
    "Fix: name the exact version of the engine, train with `missing: zero` if missing values are the reason, "
    "give a format for another program (--to, possible: {}), or serve the model with gradrank.load(..).scorer()"
)


class Exported(NamedTuple):
    """The written files, and the comparison with gradrank; None without data."""

    files: list[Path]
    agreement: Agreement | None = None


def export(fold: TrainedFold, to: str, out: Path | str, names: Sequence[str] | None = None) -> list[Path]:
    """Write a trained fold in the format `to`, and return the written files, as `checked_export` does."""
    return checked_export(fold, to, out, names).files


def checked_export(
    fold: TrainedFold,
    to: str | None,
    out: Path | str,
    names: Sequence[str] | None = None,
    engine: str | None = None,
    rows: Iterable[Batch] | None = None,
) -> Exported:
    """Write a trained fold in the format `to`, and compare the files with it. Existing files are replaced.

    Parameters
    ----------
    fold
        The trained fold.
    to
        The name of a format; see `gradrank.export.lookup.format_names`. None for the first format of the engine that
        can express the model.
    out
        The file. A format that needs more files writes them next to it. The files are complete or not written.
    names
        The names of the features in the files; None for those of the training data, or f1 to fd if they have no names.
    engine
        A search engine, such as `opensearch@3.3`. The file has the scores of gradrank in all versions that begin with
        this one, or the export is refused. None for no particular engine.
    rows
        Documents in batches of whole queries, on which the files are compared with the fold (see `check`) before they
        are in their places. None for no comparison.

    Raises
    ------
    GradrankError
        If there is no such format, if a package is not installed, if names are missing or occur twice, if the format or
        the engine cannot express the model, or if the comparison fails. No file is written then.
    """
    out, used = Path(out), feature_names(fold, names)
    found = [target for target in targets(engine) if to in (None, target.to)] if engine else [None]
    if not found:
        known = ", ".join(target.to for target in targets(engine or ""))
        raise GradrankError(f"--to: {engine} does not read {to}. Fix: give one of its formats ({known})")
    if to is None and engine is None:
        raise GradrankError("--to: missing. Fix: give a format, or an engine (--engine)")
    reasons, advice = [], ""
    for target in found:
        chosen = target.to if target is not None else str(to)
        compare = None if rows is None else functools.partial(check, fold, chosen, rows=rows, names=used, target=target)
        with exported_model(fold, names, target) as model:
            try:
                return _written(find_format(chosen), model, out, compare)
            except NotExpressible as reason:
                reasons.append(f"{fold.model.name} cannot be exported as {chosen}: {reason}")
                possible = possible_formats(replace(model, target=None))
                advice = ENGINE_ADVICE.format(", ".join(possible) or "none") if engine else _advice(possible)
    raise GradrankError(f"{'; '.join(reasons)}. {advice}")


def feature_names(fold: TrainedFold, names: Sequence[str] | None = None) -> list[str]:
    """Return the names that the features of a trained fold have in a file: `names`, or those of the training data.

    Features without names are called f1 to fd. Raises GradrankError if the number of the names is wrong, or if a name
    is empty or occurs twice.
    """
    width = fold.schema.width
    names = list(fold.schema.feature_names if names is None else names)
    if len(names) != width:
        raise GradrankError(f"names: {len(names)} names for {width} features. Fix: give one name per feature")
    for name in names:
        if not name.strip():
            raise GradrankError("names: a name is empty. Fix: give one name per feature")
        if names.count(name) > 1:
            raise GradrankError(f"names: {name!r} occurs twice. Fix: give different names")
    return names


def read_names(path: Path) -> list[str]:
    """Return the lines of a text file. Raises GradrankError if it cannot be read as text."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise GradrankError(f"{path}: cannot be read ({error}). Fix: give a text file with one name per line") from None


@contextmanager
def exported_model(
    fold: TrainedFold, names: Sequence[str] | None = None, target: Target | None = None
) -> Iterator[ExportedModel]:
    """Yield a trained fold in the form that formats take. Its stored files are in a temporary folder.

    names: as in `export`. target: the search engine, if one is given. Raises GradrankError for wrong names, and if no
    format can express the model.
    """
    try:
        if fold.members:
            raise NoScoringForm("its features are the scores of other models")
        form = numeric_form(fold.model, len(fold.schema.sources))
    except NoScoringForm as reason:
        raise GradrankError(f"{fold.model.name} cannot be exported: {reason}. {_advice([])}") from None
    checked = tuple(feature_names(fold, names))
    with tempfile.TemporaryDirectory() as folder:
        fold.model.save(Path(folder))
        schema, takes_missing = fold.schema, fold.model.takes_missing
        levels = {checked[schema.feature_names.index(name)]: values for name, values in schema.levels.items()}
        steps = schema.preparation.steps, levels
        about = schema.normaliser, takes_missing, Path(folder), *steps, target, fold.spec.get("data_sha256", "")
        yield ExportedModel(form, checked, *about)


def possible_formats(model: ExportedModel) -> list[str]:
    """Return the names of the formats that can express the model, in alphabetical order. Each format is tried."""
    return [name for name in format_names() if _can_express(find_format(name), model)]


def _can_express(model_format: ModelFormat, model: ExportedModel) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            _write(model_format, model, Path(folder) / f"model{model_format.extension}")
        except NotExpressible:
            return False
        except GradrankError:  # the user can fix it, for example by installing a package
            return True
    return True


def _write(model_format: ModelFormat, model: ExportedModel, out: Path) -> list[Path]:
    """Write a model as `ModelFormat.write` does. Raises NotExpressible if the format cannot express its features.

    The levels of categories are a further file unless the format contains them.
    """
    kinds = {step.kind for step in model.steps or ()}
    if kinds - {"number", "category"} and not model_format.expresses_steps:
        raise NotExpressible("the model has encoded categories or replaced missing values, and the format has neither")
    if "category" in kinds and model.normaliser is not None:
        raise NotExpressible("its features are normalised, but not the codes of categories")
    files = model_format.write(model, out)
    if "category" in kinds and not model_format.expresses_steps:
        files.append(out.with_name(f"{out.stem}.levels.json"))
        write_json(files[-1], dict(model.levels))
    return files


def _advice(possible: Sequence[str]) -> str:
    if not possible:
        return "No format can express this model. Fix: score with `gradrank predict` or gradrank.load"
    return f"Fix: give another format ({', '.join(possible)}), or score with `gradrank predict`"


def _written(
    model_format: ModelFormat, model: ExportedModel, out: Path, compare: Callable[[Path], Agreement] | None
) -> Exported:
    """Write the files to a temporary folder, and copy them to their places when all of them are complete.

    compare: `check` for the first file, which raises an error if the file is wrong; None for no comparison.

    A further file that a format writes next to `out` was not named by the user, so it replaces no other content.
    """
    is_stream = replaced_file(out) is None
    with tempfile.TemporaryDirectory() as folder:
        files = _write(model_format, model, Path(folder) / out.name)
        written = {out.parent / file.name: file for file in files}
        if is_stream and len(written) > 1:
            raise GradrankError(f"{out}: not a file, but {len(written)} files are written. Fix: give a new file")
        for path, file in written.items():
            check_file_output(path)
            if path != out and path.is_file() and path.read_bytes() != file.read_bytes():
                raise GradrankError(
                    f"{path}: exists with other content, and the export writes this file next to {out}. "
                    "Fix: move or delete it, or give another output"
                )
        agreement = None if compare is None else compare(files[0])
        for path, file in written.items():
            with atomic(path) as partial:
                shutil.copyfile(file, partial)
        return Exported(list(written), agreement)
