"""The JSON Schemas of params.yaml and study.yaml accept what gradrank accepts, and reject wrong keys and types."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.config.params_schema import params_schema, study_schema
from gradrank.bench.config.project_folder import init
from gradrank.bench.config.studies import read_settings
from gradrank.data.sources.synthetic import generate
from gradrank.training.registry import models

ROOT = Path(__file__).parents[4]
FILE = "workflow/schemas/params.schema.json"
SCHEMA = json.loads((ROOT / FILE).read_text(encoding="utf-8"))
SHIPPED = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
STUDIES = read_settings(ROOT)
PARAMS = "params"
BRIEF = {  # the required keys
    "seed": 1,
    "run": {"datasets": ["synthetic_net"]},
    "datasets": {name: SHIPPED["datasets"][name] for name in ("synthetic_net", "synthetic_poly")},
    "evaluation": {"metrics": ["map"]},
}
WRONG: tuple[Any, ...] = ("word", -7, [[["word"]]], {"wrong": 1}, True, None)


@cache
def validator(file: str) -> Draft202012Validator:
    """Return the validator of params.yaml, or of the settings of a study."""
    schema = SCHEMA if file == PARAMS else study_schema(file)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(values: Any, file: str = PARAMS) -> list[str]:
    """Return the paths at which the schema rejects the values of a file, whose keys may be numbers as in YAML."""
    return [error.json_path for error in validator(file).iter_errors(json.loads(json.dumps(values)))]


def is_accepted(values: Any, file: str = PARAMS) -> bool:
    """Return whether the settings classes accept the values of a file."""
    try:
        check(values if file == PARAMS else SHIPPED | {"studies": {file: values}})
    except GradrankError:
        return False
    return True


def changed(text: str) -> dict[str, Any]:
    """Return the shipped file with the keys of a YAML text, merged into the sections."""
    values = copy.deepcopy(SHIPPED)
    for key, section in yaml.safe_load(text).items():
        merged = isinstance(section, dict) and key in ("datasets", "models", "run", "evaluation")
        values[key] = values[key] | section if merged else section
    return values


def mappings(values: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each mapping in nested values."""
    if isinstance(values, dict):
        yield path
        for key, inner in values.items():
            yield from mappings(inner, (*path, key))


def shipped_files() -> dict[str, dict[str, Any]]:
    """Return the shipped files, with at most two variants per study, which are checked faster."""
    files = copy.deepcopy({PARAMS: SHIPPED} | STUDIES)
    for values in files.values():
        if "variants" in values:
            values["variants"] = dict(list(values["variants"].items())[:2])
    for study, names_other_variants in (("ranknet2005", "fewer"), ("arsm", "repeated")):
        del files[study][names_other_variants]
    return files


def at(values: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


def test_the_committed_schema_is_current_and_valid():
    assert params_schema() == SCHEMA, f"Fix: gradrank schema > {FILE}"
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"] and "studies" not in SCHEMA["properties"]


@pytest.mark.parametrize("file", [PARAMS, "contest"])  # the schemas of all studies are made by one function
def test_every_reference_leads_to_a_schema(file):
    schema = validator(file).schema
    text = json.dumps(schema)
    for part in {part.partition('"')[0] for part in text.split('"$ref": "#/')[1:]}:
        node: Any = schema
        for key in part.split("/"):
            node = node[int(key) if isinstance(node, list) else key]
        assert isinstance(node, dict), part


def test_the_file_of_the_checkout_and_those_of_init_are_accepted_and_name_the_schema(tmp_path):
    generate("net", 10, 8, 3, tmp_path / "data")
    init(tmp_path / "shipped")
    init(tmp_path / "own", tmp_path / "data")
    for folder in (ROOT, tmp_path / "shipped", tmp_path / "own"):
        text = (folder / "params.yaml").read_text(encoding="utf-8")
        assert faults(yaml.safe_load(text)) == []
        first = text.splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema=")
        named = folder / first.partition("$schema=")[2]  # editors read the path relative to the file
        assert json.loads(named.read_text(encoding="utf-8")) == SCHEMA


@pytest.mark.parametrize(
    "text",
    [
        "models: {lambdamart: {num_leaves: [7, 15], learning_rate: 1}}",
        "models: {ranknet_two_layer: {grid: {hidden: [[32], [64, 32]]}}}",
        "models: {small: {model: lambdamart, num_leaves: 7, monotone: {price: -1, 3: 1}}}",
        "models: {theirs: {scores: 'runs/fold{fold}.txt'}}",
        "models: {oap_bpm: {members: 10}}",
        "models: {oap_bpm: {members: [10, 30]}}",
        "models: {ranksvm: }",
        "datasets: {mq2007: }",
        "datasets: {mine: {path: ., query: 1, label: grade, fold: 3, keep: [4], grade_edges: [0, 0.5], pairs: .}}",
        "run: {seeds: [1, 2], explanations: true}",
        "track: false",
    ],
)
def test_forms_that_gradrank_accepts_are_accepted(text):
    assert is_accepted(changed(text))
    assert faults(changed(text)) == []


@pytest.mark.parametrize(
    ("study", "text"),
    [
        ("ablation", "{datasets: [mq2007], models: [mart], groups: {a: [1, 'x', '3-5']}}"),
        ("ablation", "{datasets: [mq2007], methods: [mart], groups: {a: [1]}}"),
        ("average_precision", "{}"),
    ],
)
def test_forms_of_a_study_that_gradrank_accepts_are_accepted(study, text):
    values = yaml.safe_load(text)
    assert is_accepted(values, study) and faults(values, study) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("sed: 1", "$"),
        ("seed: x", "$.seed"),
        ("seed: yes", "$.seed"),
        ("seed: -1", "$.seed"),
        ("track: perhaps", "$.track"),
        ("run: {model: all}", "$.run"),
        ("run: {seeds: [1, -2]}", "$.run.seeds"),
        ("datasets: {synthetic_net: {query: 5}}", "$.datasets.synthetic_net"),
        ("datasets: {mq2007: {folds: 5}}", "$.datasets.mq2007"),
        ("datasets: {mine: {pth: .}}", "$.datasets.mine"),
        ("datasets: {mine: {path: ., normalise: queries}}", "$.datasets.mine.normalise"),
        ("datasets: {Mine: {path: .}}", "$.datasets"),
        ("pairs: {ties: keep}", "$.pairs.ties"),
        ("models: {lambdmart: {num_leaves: 7}}", "$.models.lambdmart"),
        ("models: {lambdamart: {num_leaf: 7}}", "$.models.lambdamart"),
        ("models: {lambdamart: {num_leaves: many}}", "$.models.lambdamart.num_leaves"),
        ("models: {lambdamart: {num_leaves: [7, many]}}", "$.models.lambdamart.num_leaves"),
        ("models: {lambdamart: {num_leaves: []}}", "$.models.lambdamart.num_leaves"),
        ("models: {lambdamart: {grid: {num_leaf: [7]}}}", "$.models.lambdamart.grid"),
        ("models: {lambdamart: {grid: {num_leaves: 7}}}", "$.models.lambdamart.grid.num_leaves"),
        ("models: {lambdamart: {grid: {num_leaves: [many]}}}", "$.models.lambdamart.grid.num_leaves[0]"),
        ("models: {small: {model: lambdmart}}", "$.models.small.model"),
        ("models: {small: {model: lambdamart, hidden: [3]}}", "$.models.small"),
        ("models: {theirs: {scores: [a]}}", "$.models.theirs.scores"),
        ("evaluation: {convention: letr4}", "$.evaluation.convention"),
        ("evaluation: {conventions: [letor4, letr3]}", "$.evaluation.conventions[1]"),
        ("evaluation: {metrics: []}", "$.evaluation.metrics"),
    ],
)
def test_a_fault_is_rejected_by_the_classes_and_by_the_schema_at_its_place(text, path):
    assert not is_accepted(changed(text))
    rejected = faults(changed(text))
    assert rejected and all(fault.startswith(path) for fault in rejected)


@pytest.mark.parametrize(
    ("study", "text", "path"),
    [
        ("contest", "{}", "$"),
        ("contest", "{methods: [mart], trial: 3}", "$"),
        ("contest", "{methods: [mart], trials: 0}", "$.trials"),
        ("arsm", "{variants: {v: {model: arsm, leves: 3}}}", "$.variants.v"),
        ("pair_targets", "{draws: 5, sizes: [100], reduced: {draw: 3}}", "$.reduced"),
    ],
)
def test_a_fault_of_a_study_is_rejected_by_the_classes_and_by_the_schema_at_its_place(study, text, path):
    values = yaml.safe_load(text)
    rejected = faults(values, study)
    assert not is_accepted(values, study) and rejected and all(fault.startswith(path) for fault in rejected)


@pytest.mark.parametrize("name", models())
def test_the_defaults_of_a_model_are_accepted_and_its_misspelt_parameters_are_not(name):
    parameters = models()[name].Params().model_dump(mode="json")
    assert faults(BRIEF | {"models": {name: parameters}}) == []
    assert faults(BRIEF | {"models": {"variant": {"model": name} | parameters}}) == []
    for key, value in parameters.items():
        for entry in ({f"{key}_": value}, {"grid": {f"{key}_": [value]}}, {key: {"wrong": "word"}}):
            assert faults(BRIEF | {"models": {name: entry}}) != [], entry


def test_each_key_of_a_file_is_checked_for_its_spelling():
    for file, shipped in shipped_files().items():
        assert is_accepted(shipped, file) and faults(shipped, file) == []
        for path in mappings(shipped):
            if path in (("datasets",), ("models",)) or path[-1:] in (("variants",), ("budgets",), ("families",)):
                continue  # the user chooses names
            if {"scorers", "nets_by_dataset"} & set(path):
                continue  # the same, and load() checks the parameters and the names of data sets
            for key in at(shipped, path):
                values = copy.deepcopy(shipped)
                section = at(values, path)
                section[f"{key}_x"] = section.pop(key)
                assert faults(values, file) != [], (file, *path, key)
                assert not is_accepted(values, file), (file, *path, key)


def test_values_that_the_schema_rejects_are_rejected_by_the_classes():
    rejected = 0
    for file, shipped in shipped_files().items():
        for path in mappings(shipped):
            for number, key in enumerate(at(shipped, path)):
                for wrong in WRONG[number % 2 :: 2]:
                    values = copy.deepcopy(shipped)
                    at(values, path)[key] = wrong
                    if faults(values, file):
                        rejected += 1
                        assert not is_accepted(values, file), (file, *path, key, wrong)
    assert rejected > 200
