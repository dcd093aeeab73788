"""The JSON Schemas of params.yaml and study.yaml, generated from the settings classes and the parameters of all models.

Editors use the schema to complete keys and to mark faults while a file is edited. The schema accepts every file that
`params.check` accepts, if numbers and truth values are written as such. It does not know the rules that compare several
values, such as that a listed model exists; `params.check` tests them.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from gradrank.bench.config.datasets import DataSetParams, OwnDataParams, SyntheticParams
from gradrank.bench.config.params import RunSettings
from gradrank.bench.config.studies import StudySettings, get_study
from gradrank.bench.config.variants import NAME
from gradrank.data.sources.catalogue import catalogue
from gradrank.measures.conventions import CONVENTIONS
from gradrank.training.model import Model
from gradrank.training.registry import models

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MODE: JsonSchemaMode = "validation"
MODELS = "models"  # the definition of the section `models`
VARIANT = "Variant"  # the definition of an entry of `models` whose key is not the name of a model


class _FileSchema(GenerateJsonSchema):
    """The generator of schemas for values as they are written in the file, before pydantic converts them."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: a title would repeat the key."""
        return False

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Return the schema of a value that a validator converts first.

        The column names of data may be numbers, and a list with one element may be written as this element.
        """
        converted = super().function_before_schema(schema)
        written = {"string": {"type": "integer"}, "array": converted.get("items")}.get(converted.get("type", ""))
        return {"anyOf": [written, converted]} if written else converted


def params_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of params.yaml.

    It covers the models and data sets of this installation, and the user's models in the folder `models/`.
    """
    top, definitions = _generated(RunSettings)
    _add_conventions(definitions["EvaluationParams"]["properties"])
    properties = {key: value for key, value in top["properties"].items() if key != "studies"}
    definitions.pop(StudySettings.__name__)
    return {
        "$schema": DRAFT,
        "title": "params.yaml of gradrank",
        **_mapping(properties | {"datasets": _datasets(), "models": _reference(MODELS)}, type="object"),
        "required": [key for key in top["required"] if key != "models"],
        "$defs": definitions,
    }


def study_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the settings of a study, with the parameters of its variants.

    Raises GradrankError with the nearest name for an unknown study.
    """
    kind = getattr(get_study(name), "Settings", StudySettings)
    top, definitions = _generated(kind)
    return {"$schema": DRAFT, "title": f"Settings of the study {name}", **_study(kind, top), "$defs": definitions}


def _generated(kind: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a class, and the definitions that it and the section `models` need, with this section."""
    kinds = list(dict.fromkeys([kind, *(cls.Params for cls in models().values())]))
    references, generated = models_json_schema([(each, MODE) for each in kinds], schema_generator=_FileSchema)
    names = {each: references[each, MODE]["$ref"].rpartition("/")[2] for each in kinds}
    definitions: dict[str, Any] = generated["$defs"]
    top = definitions.pop(names[kind])
    section = _model_section(models(), {name: definitions[names[cls.Params]] for name, cls in models().items()})
    for cls in models().values():
        definitions.pop(names[cls.Params], None)  # the section has the parameters of each model
    definitions |= section.pop("$defs") | {MODELS: section}
    return top, dict(sorted(definitions.items()))


def _reference(definition: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{definition}"}


def _mapping(properties: Mapping[str, Any], others: Any = False, **keywords: Any) -> dict[str, Any]:
    """Return the schema of a mapping with these keys. others: schema of the values of other keys, or False.

    A mapping without a value is written `key:` in YAML, which is null. `type="object"` refuses it.
    """
    return {"type": ["object", "null"], "properties": dict(properties), "additionalProperties": others} | keywords


def _model_section(classes: Mapping[str, type[Model]], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section `models` and the definitions that it refers to, as one schema with `$defs`.

    classes: dict from the name of each model to its class. parameters: schema of the parameters per name of a model.
    """
    definitions, entries, cases = {}, {}, []
    shared: dict[str, list[Any]] = {}  # the different schemas of parameters with the same name
    for name, cls in classes.items():
        values, sweeps = {}, {}
        for key, value in parameters[name]["properties"].items():
            alike = shared.setdefault(key, [])
            alike += [] if value in alike else [value]
            definition = f"{key}.{alike.index(value) + 1}"
            definitions[definition], sweeps[key] = _parameter(definition, value)
            values[key] = _reference(definition)
        grid = _mapping(sweeps, type="object", description="sweep of parameters, also of those that are lists")
        described = {"description": cls.summary}
        entries[name] = _mapping({"model": {"const": name}} | values | {"grid": grid}, **described)
        chosen = {"properties": {"model": {"const": name}}}
        cases.append({"if": chosen, "then": {"$ref": f"#/$defs/{MODELS}/properties/{name}"}})
    scores = _mapping({"scores": {"type": "string"}}, type="object", required=["scores"])
    known = {"properties": {"model": {"enum": list(classes)}}, "allOf": cases}
    definitions[VARIANT] = {"type": "object", "if": {"required": ["model"]}, "then": known, "else": scores}
    return _mapping(entries, _reference(VARIANT)) | {"$defs": definitions}


def _parameter(name: str, value: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the definition `name` of a parameter, and the schema of its sweep, which is a list of values.

    A parameter that is not itself a list may be a sweep without `grid`.
    """
    if _takes_list(value):
        return dict(value), {"type": "array", "minItems": 1, "items": _reference(name)}
    described = {key: value[key] for key in ("description", "default") if key in value}
    single = {key: schema for key, schema in value.items() if key not in described}
    sweep = {"type": "array", "minItems": 1, "items": _reference(f"{name}/anyOf/0")}
    return described | {"anyOf": [single, sweep]}, _reference(f"{name}/anyOf/1")


def _takes_list(schema: Mapping[str, Any]) -> bool:
    """Return whether a list may be one value of a parameter."""
    return schema.get("type") == "array" or any(map(_takes_list, schema.get("anyOf", ())))


def _study(kind: type[StudySettings], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the settings of a study, including its reduced form.

    settings: the schema that pydantic made, in which `variants` and `reduced` may contain anything.
    """
    properties = dict(settings["properties"])
    for field in kind.model_fields.values():
        if isinstance(field.validation_alias, AliasChoices):  # pydantic describes the first of these names
            first, *others = map(str, field.validation_alias.choices)
            properties |= dict.fromkeys(others, properties[first])
    properties["variants"] = _mapping({}, _reference(VARIANT))
    properties["reduced"] = _mapping({key: schema for key, schema in properties.items() if key != "reduced"})
    required = {"type": "object", "required": settings["required"]} if "required" in settings else {}
    return _mapping(properties, description=settings["description"], **required)


def _datasets() -> dict[str, Any]:
    """Return the schema of the section `datasets`: data sets of the catalogue, and the user's own data."""
    settings = {name: SyntheticParams if entry.generator else DataSetParams for name, entry in catalogue().items()}
    properties = {name: {"anyOf": [_reference(kind.__name__), {"type": "null"}]} for name, kind in settings.items()}
    names = {"pattern": f"^{NAME}$"}
    return _mapping(properties, _reference(OwnDataParams.__name__), type="object", propertyNames=names)


def _add_conventions(properties: dict[str, Any]) -> None:
    """Add the names of the conventions to the section `evaluation`, whose class accepts any text."""
    properties["convention"]["enum"] = properties["conventions"]["items"]["enum"] = list(CONVENTIONS)
