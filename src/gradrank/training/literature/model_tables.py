"""Tables of the models and of their parameters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradrank.base.extensions import extension_of
from gradrank.training.accepted_data import accepted_data
from gradrank.training.literature import by_family
from gradrank.training.model import Model
from gradrank.training.registry import get_model, missing_packages, models

if TYPE_CHECKING:
    import polars as pl


def model_table(name: str | None = None) -> "pl.DataFrame":
    """Return a frame with one row per model, or with one row per parameter of the model `name`.

    The columns for all models are:

    - `name`, `summary`: the name of the model, and one line with the method and its publication;
    - `family`: the name of a group of models that share code and most parameters; the rows are sorted by family, year
      and name;
    - `year`: the year of the earliest publication that the summary cites, or null;
    - `extra`: the extra of gradrank that installs the model's packages, as in `pip install 'gradrank[catboost]'`, or
      null if the model needs none;
    - `installed`: whether these packages are installed;
    - `needs_pairs`: whether the model learns from pairs of documents;
    - `accepts`: the optional properties of data that the model accepts: some of `missing`, `categorical`, `sparse`,
      `weights` and `gains`;
    - `takes_missing`: whether features may be NaN;
    - `uses_weights`: `documents` if the model uses weights of documents, `queries` if it uses weights that are equal
      within each query, or null if it refuses weights;
    - `randomised`: whether the model with its default parameters depends on the random seed;
    - `package`: the distribution that contains the model, with its version, or null for gradrank itself.

    The columns for one model are `parameter`, `default`, `allowed` (the type and the range) and `source` (the origin of
    the default), all of them text.

    Raises GradrankError if there is no model `name`.

    Examples
    --------
    >>> import gradrank
    >>> gradrank.models().filter(name="ranksvm").select("year", "needs_pairs", "installed").row(0)
    (1999, True, True)
    >>> gradrank.models("single_feature").row(0)[:3]
    ('select_by', 'map', 'string')
    """
    import polars as pl

    if name is not None:
        return pl.DataFrame(
            _parameters(get_model(name)), schema=["parameter", "default", "allowed", "source"], orient="row"
        )
    rows = [
        _described(cls, family, year)
        for family, members in by_family(models().values()).items()
        for cls, year in members
    ]
    text = ("extra", "package", "uses_weights")  # null in every row if there are few models
    types = {"year": pl.Int64, "accepts": pl.List(pl.String), **dict.fromkeys(text, pl.String)}
    return pl.DataFrame(rows, schema_overrides=types)


def _described(cls: type[Model], family: str, year: str) -> dict[str, Any]:
    """Return the row of a model."""
    extension = extension_of(cls.__module__)
    return {
        "name": cls.name,
        "family": family,
        "year": int(year) if year else None,
        "summary": cls.summary,
        "extra": cls.extra,
        "installed": not missing_packages(cls),
        "needs_pairs": cls.needs_pairs,
        "accepts": accepted_data(cls),
        "takes_missing": cls.takes_missing,
        "uses_weights": cls.uses_weights,
        "randomised": cls.uses_seed(cls.Params()),
        "package": f"{extension.distribution} {extension.version}" if extension else None,
    }


def _parameters(cls: type[Model]) -> list[tuple[str, str, str, str]]:
    """Return the rows of the parameters of a model."""
    schema = cls.Params.model_json_schema()["properties"]
    return [
        (name, str(field.default), _allowed(schema[name]), field.description or "")
        for name, field in cls.Params.model_fields.items()
    ]


def _allowed(schema: Mapping[str, Any]) -> str:
    """Return the type and the range of a parameter as text. schema: JSON schema of the parameter."""
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(_allowed(choice) for choice in schema["anyOf"])
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    kind = schema.get("type", "any")
    if kind == "array" and isinstance(schema.get("items"), dict):
        kind = f"list of {_allowed(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        kind = f"dict of {_allowed(schema['additionalProperties'])}"
    return " ".join([kind, *bounds])
