"""Faults in the YAML syntax of params.yaml are named by line, and examples of the documentation can be pasted."""

import re
from pathlib import Path

import pytest
import yaml

from documentation_blocks import SETTINGS, run_blocks
from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import load
from gradrank.bench.config.params_file import read

ROOT = Path(__file__).parents[4]
SHIPPED = (ROOT / "params.yaml").read_text()
BLOCKS = [block.text for page in SETTINGS for block in run_blocks(f"docs/{page}.md", "yaml")]
OF_STUDIES = [text for text in BLOCKS if text.startswith("# studies/")]  # the first line names the file
EXAMPLES = [text for text in BLOCKS if text not in OF_STUDIES]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", r"line 1, column 6: not YAML: expected ',' or '\]'"),
        ("a: 1\nb:\n\tc: 1", r"line 3, column 1: not YAML: found character '\\t'"),
        ("a: 'x\n", r"not YAML: .*end of stream .while scanning a quoted scalar that begins in line 1\)"),
        ("a: b: c", "line 1, column 5: not YAML: mapping values are not allowed here"),
        ("a: 1\nb: !!python/object:os.system x", "line 2, column 4: not YAML: could not determine a constructor"),
        ("a: 1\nb: \x00", "line 2: .*x00"),
        ("a: 2024-13-45", "month must be in 1..12.*Fix: "),
        ("a: " + "[" * 3000, "nested too deeply"),
        ("[1]", "expected keys and their values"),
        ("", "expected keys and their values"),
        ("a: 1\nb: 2\na: 3", r"\n  a: given in line 1 and again in line 3"),
        ("a:\n  b: [{c: 1,\n    c: 2}]", r"\n  a\.b\.0\.c: given in line 2 and again in line 3"),
        ("a:\n  b: 1:30", r"line 2: .*1:30"),
        ("a: [3, 010]", r"line 1: .*010"),
        ("a: 1\na: 2\na: 3", r"line 1 and again in line 2.*\n  a: given in line 1 and again in line 3"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, text, message):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(GradrankError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}")


def test_a_missing_file_and_bytes_that_are_not_text_are_refused(tmp_path):
    with pytest.raises(GradrankError, match="no such file"):
        read(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_bytes(b"a: 1\nb: \xff")
    with pytest.raises(GradrankError, match="line 2: not UTF-8 text"):
        read(tmp_path / "params.yaml")


def test_a_merged_key_is_not_a_duplicate(tmp_path):
    (tmp_path / "params.yaml").write_text("a: &a {b: 1, c: 1}\nd: {<<: *a, b: 2}\ne: [*a, *a]")
    assert read(tmp_path / "params.yaml")["d"] == {"b": 2, "c": 1}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_can_be_pasted_into_its_section(tmp_path, monkeypatch, example):
    """Add each entry to its section of the shipped file, or replace the entry of the same name."""
    monkeypatch.chdir(tmp_path)
    for name in ("data", "my_data.csv", "train.csv"):
        (tmp_path / name).mkdir()
    example = example.replace("/path/to/folder", str(tmp_path / "data"))
    text = SHIPPED
    for section, entries in yaml.safe_load(example).items():
        for entry in entries:
            text = pasted(text, section, entry, block(example, section, entry))
    (tmp_path / "params.yaml").write_text(text)
    assert yaml.safe_load(text) != yaml.safe_load(SHIPPED)
    load(tmp_path / "params.yaml")


@pytest.mark.parametrize("example", OF_STUDIES)
def test_an_example_of_a_study_is_accepted_in_the_file_that_it_names(tmp_path, monkeypatch, example):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_data.csv").touch()
    path = tmp_path / example.splitlines()[0].removeprefix("# ")
    path.parent.mkdir(parents=True)
    path.write_text(example)
    text = pasted(SHIPPED, "datasets", "my_data", "  my_data: { path: my_data.csv }\n")
    (tmp_path / "params.yaml").write_text(text)
    assert [*load(tmp_path / "params.yaml").studies] == [path.parent.name]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_below_the_shipped_file_is_refused_with_both_lines(tmp_path, example):
    (tmp_path / "params.yaml").write_text(SHIPPED + example)
    section = example.partition(":")[0]
    lines = SHIPPED.splitlines()
    first = next(number for number, line in enumerate(lines, 1) if line.startswith(f"{section}:"))
    with pytest.raises(GradrankError) as caught:
        load(tmp_path / "params.yaml")
    assert f"{section}: given in line {first} and again in line {len(lines) + 1};" in str(caught.value)


def block(text: str, section: str, entry: str) -> str:
    """Return the lines of `section.entry`, including the indented lines below it; empty if it does not exist."""
    body = re.search(rf"^{section}:.*?\n(?=\S|\Z)", text, re.MULTILINE | re.DOTALL)[0]
    match = re.search(rf"^  {entry}:.*\n(?:   .*\n)*", body, re.MULTILINE)
    return match[0] if match else ""


def pasted(text: str, section: str, entry: str, lines: str) -> str:
    """Return the text with `section.entry` replaced by `lines`, or with `lines` at the start of the section."""
    if old := block(text, section, entry):
        return text.replace(old, lines)
    return re.sub(rf"^{section}:.*\n", lambda header: header[0] + lines, text, count=1, flags=re.MULTILINE)
