"""Export of a trained fold to a model format."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.targets import check_file_output, replaced_file
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible
from gradrank.export.lookup import find_format, format_names
from gradrank.training.scoring_form import NoScoringForm
from gradrank.training.trained_fold import TrainedFold


def export(fold: TrainedFold, to: str, out: Path | str, names: Sequence[str] | None = None) -> list[Path]:
    """Write a trained fold in the format `to`, and return the written files. Existing files are replaced.

    Parameters
    ----------
    fold
        The trained fold.
    to
        The name of a format; see `gradrank.export.lookup.format_names`.
    out
        The file. A format that needs more files writes them next to it. The files are complete or not written.
    names
        The names of the features in the files; None for those of the training data, or f1 to fd if they have no names.

    Raises
    ------
    GradrankError
        If there is no such format, if a package is not installed, if names are missing or occur twice, or if the format
        cannot express the model. In the last case, the message lists the formats that can.
    """
    model_format, out = find_format(to), Path(out)
    with exported_model(fold, names) as model:
        try:
            return _written(model_format, model, out)
        except NotExpressible as reason:
            raise GradrankError(
                f"{fold.model.name} cannot be exported as {to}: {reason}. {_advice(possible_formats(model))}"
            ) from None


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
def exported_model(fold: TrainedFold, names: Sequence[str] | None = None) -> Iterator[ExportedModel]:
    """Yield a trained fold in the form that formats take. Its stored files are in a temporary folder.

    names: as in `export`. Raises GradrankError for wrong names, and if no format can express the model.
    """
    try:
        if fold.members:
            raise NoScoringForm("its features are the scores of other models")
        form = fold.model.scoring_form(fold.schema.width)
    except NoScoringForm as reason:
        raise GradrankError(f"{fold.model.name} cannot be exported: {reason}. {_advice([])}") from None
    checked = tuple(feature_names(fold, names))
    with tempfile.TemporaryDirectory() as folder:
        fold.model.save(Path(folder))
        yield ExportedModel(form, checked, fold.schema.normaliser, fold.model.takes_missing, Path(folder))


def possible_formats(model: ExportedModel) -> list[str]:
    """Return the names of the formats that can express the model, in alphabetical order. Each format is tried."""
    return [name for name in format_names() if _can_express(find_format(name), model)]


def _can_express(model_format: ModelFormat, model: ExportedModel) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            model_format.write(model, Path(folder) / f"model{model_format.extension}")
        except NotExpressible:
            return False
        except GradrankError:  # the user can fix it, for example by installing a package
            return True
    return True


def _advice(possible: Sequence[str]) -> str:
    if not possible:
        return "No format can express this model. Fix: score with `gradrank predict` or gradrank.load"
    return f"Fix: give another format ({', '.join(possible)}), or score with `gradrank predict`"


def _written(model_format: ModelFormat, model: ExportedModel, out: Path) -> list[Path]:
    """Write the files to a temporary folder, and copy them to their places when all of them are complete.

    A further file that a format writes next to `out` was not named by the user, so it replaces no other content.
    """
    is_stream = replaced_file(out) is None
    with tempfile.TemporaryDirectory() as folder:
        written = {out.parent / file.name: file for file in model_format.write(model, Path(folder) / out.name)}
        if is_stream and len(written) > 1:
            raise GradrankError(f"{out}: not a file, but {model_format.name} writes two files. Fix: give a new file")
        for path, file in written.items():
            check_file_output(path)
            if path != out and path.is_file() and path.read_bytes() != file.read_bytes():
                raise GradrankError(
                    f"{path}: exists with other content, and {model_format.name} writes this file next to {out}. "
                    "Fix: move or delete it, or give another output"
                )
        for path, file in written.items():
            with atomic(path) as partial:
                shutil.copyfile(file, partial)
        return list(written)
