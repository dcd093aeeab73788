"""The methods that a report lists as trained since the report before, with the change of their means."""

import json
from pathlib import Path

import pytest

from gradrank.bench.report.document import MOST, training_changes, write_printed
from gradrank.bench.results import DatasetFolder


def make(folder: Path, means: dict[str, float | None], code: str = "1", source: str = "ab") -> DatasetFolder:
    """Write summary.json and provenance.json; `code` stands for everything that makes a model train again."""
    folder.mkdir(exist_ok=True)
    methods = {
        name: {"digest": "d", "train": code, "results": f"{mean}", "values": "v"} for name, mean in means.items()
    }
    (folder / "summary.json").write_text(json.dumps({name: {"map": mean} for name, mean in means.items()}))
    record = {"methods": methods, "data": {"source_sha256": source}}
    (folder / "provenance.json").write_text(json.dumps(record))
    return DatasetFolder(folder)


def listed(dataset: DatasetFolder, metric: str = "map", convention: str = "letor4") -> dict[str, str]:
    """Return the lines about methods: {method: rest of the line}."""
    lines = list(training_changes(dataset, metric, convention))[1:]
    return dict(line.strip().split(maxsplit=1) for line in lines)


@pytest.fixture
def printed(tmp_path) -> DatasetFolder:
    dataset = make(tmp_path / "mine", {"a": 0.5, "b": 0.4})
    assert listed(dataset) == {}, "the first report has nothing to compare with"
    write_printed(dataset, "map", "letor4")
    return dataset


def test_a_report_without_training_lists_nothing(printed):
    assert list(training_changes(printed, "map", "letor4")) == []


def test_changed_and_new_methods_with_their_former_means(printed):
    make(printed.folder, {"a": 0.5, "b": 0.45, "c": 0.1})
    found = listed(printed)
    assert found.keys() == {"b", "c"}
    assert found["b"].split()[:2] == ["0.4500", "+0.0500"] and "0.4000" in found["b"] and found["c"].endswith("new")
    assert listed(printed) == found, "a report that was killed before it wrote printed.json is repeated"
    write_printed(printed, "map", "letor4")
    assert listed(printed) == {}


def test_equal_means_after_new_code(printed):
    make(printed.folder, {"a": 0.5, "b": 0.4}, code="2")
    assert {name: line.split()[-1] for name, line in listed(printed).items()} == {"a": "unchanged", "b": "unchanged"}


@pytest.mark.parametrize("other", [{"source": "cd"}, {"convention": "standard"}])
def test_no_change_is_shown_between_other_data_or_conventions(printed, other):
    make(printed.folder, {"a": 0.6, "b": 0.4}, code="2", source=other.get("source", "ab"))
    found = listed(printed, convention=other.get("convention", "letor4"))
    assert found == {"a": "0.6000", "b": "0.4000"}


def test_long_lists_are_cut_and_undefined_means_shown(printed):
    make(printed.folder, {f"m{i}": None if i == 0 else i / 100 for i in range(MOST + 3)})
    lines = list(training_changes(printed, "map", "letor4"))
    assert len(lines) == MOST + 2 and lines[-1].split()[1] == "3"


@pytest.mark.parametrize("text", ["{", "[]", '{"printed": "mine"}'])
def test_a_file_of_the_user_is_said_and_stays(text, printed):
    printed.printed_path.write_text(text)
    assert any("Fix: " in line for line in training_changes(printed, "map", "letor4"))
    write_printed(printed, "map", "letor4")
    assert printed.printed_path.read_text() == text
