"""Test that tools/prose.py finds each kind of bad sentence, and accepts plain ones and code."""

import subprocess
import sys
from pathlib import Path

import pytest

from prose import ROOT, Text, files_below, findings, main, metaphors, texts
from prose_rules import PHRASES, RULES

SCRIPT = ROOT / "tools/prose.py"

BAD_STARTS = [
    "Of each job's timing.json; None without any.",
    "Those of a run.",
    "These are the folds.",
    "The same rows in another order.",
    "As the paper has it.",
    "What the grades say.",
    "None of one that ignores the order.",
    "Nothing that depends on time.",
    "Whose scores these are.",
    "Where the file is.",
    "Whether is equal.",
    "Whether of the same run.",
]
GOOD_STARTS = ["Return the mean over folds.", "Whether the loss has a gradient.", "If False, train once."]
BAD = {
    "distributive 'a'": [
        "Submit one job a fold.",
        "It holds 12 bytes a pair.",
        "A folder a data set.",
        "a table with the values a query",
        "15 leaves and 50 documents a leaf",
        "about 2.1 seconds a fold",
        "It is called twice a row.",
    ],
    "clause as subject": [
        "What chance changes is trained three times.",
        "The run ends. What is missing stays away.",
        "Who can sum over grades reads the description.",
        "Whatever is stale runs.",
        "who can sum over grades reads the description alone",
    ],
    "'is no' and a noun": ["timing.json is no output.", "Columns that are no numbers are refused."],
    "'lies' of a file": [
        "The archive lies in the cache.",
        "files that lie beside it",
        "everything that lies in `data/raw`",
        "Nothing is moved if the result already lies there.",
    ],
    "begins with 'Nor'": ["Nor does the log name it."],
    "archaic or metaphor": [
        "The model is trained anew.",
        "what the user can mend",
        "pairs of one's own",
        "nothing is repeated for the want of it",
        "a deleted fold passed for present",
        "it must not pass for a number",
        "PID 1 asks after no orphans",
        "empty for nobody's invention",
        "It waits for ever.",
        "It went well at another attempt.",
        "the dataset is none of the catalogue's",
        "though no parameter is another",
        "the file whose checksum is another than the lock's",
        "a seed stands in it twice",
        "the callback is told of every step",
        "what is told the job",
        "nothing is said of it",
        "one is held out, and said so",
        "It must not be wrong in silence.",
        "It runs no matter the order.",
        "a convention that minds no order",
        "The folds are likewise equal.",
        "It is found by itself.",
        "It is documented elsewhere.",
        "At its end, the report opens.",
        "the widest gap of ours",
        "no result of theirs",
        "with the data at hand",
        "such a one is skipped",
        "none but the first is used",
        "brings what it was made of",
        "the paper and the references therein",
        "whatsoever the order",
    ],
}  # fmt: skip
GOOD = [
    "trains every randomised model with three seeds",
    "without a validation file, one is held out and the log says so",
    "are recognised file names",
    "also rebuilds its missing inputs",
    "a container whose PID 1 does not reap orphans",
    "A missing timing.json does not trigger retraining",
    "a deleted fold went unnoticed",
    "it must never be silently wrong",
    "models that sum over grades do not need the pair list",
    "If False, the model is trained only once",
    "The model returned invalid scores",
    "Build from the timing.json files; None if there are none",
    "The jobs of one run",
    "cannot be mixed with results of this process",
    "None if the convention ignores file order",
    "empty if the method has no publication",
    "duplicate seed",
    "these files are stored in DVC, which is not installed. Fix: pip install 'gradrank[dvc]'",
    "2 jobs failed and succeeded on retry",
    "although no parameter, code, data or package changed",
    "Number of features, if sparse rows leave it ambiguous",
    "Results root: one folder per data set",
    "Return the files a job writes.",
    "If the seed is None, the default is used; if there are none, 0.",
    "The interval in which the value lies is wide, and there is no test for it.",
    "The default is no limit, and the table is no longer read.",
    "Another option is a query's own gain; three values are passed for each metric.",
]
MODULE = '''"""Of a module."""

anew = 1  # made anew


def f(x):
    """Return it.

    >>> anew
    Made anew.

    Made anew.
    """
    raise ValueError(
        f"column {x.anew} is read "
        "in silence"
    )
'''


def rules_of(content: str, opens: bool = False) -> set[str]:
    return {
        rule.split(" '")[0] if rule.startswith("starts") else rule for _, rule, _ in findings(Text(1, content, opens))
    }


def found_in(folder: Path, name: str, content: str) -> list[int]:
    """Return the lines of the findings in a file with this content."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return [line for text in texts(path) for line, _, _ in findings(text)]


@pytest.mark.parametrize("sentence", BAD_STARTS)
def test_a_fragment_at_the_start_of_a_docstring_is_found(sentence):
    assert any(rule.startswith("starts with a fragment") for rule in rules_of(sentence, opens=True))


@pytest.mark.parametrize(("rule", "sentence"), [(rule, each) for rule, bad in BAD.items() for each in bad])
def test_a_bad_sentence_is_found_under_its_rule(rule, sentence):
    assert any(found.startswith(rule) for found in rules_of(sentence)), rules_of(sentence)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern.pattern[:30])
def test_each_rule_has_an_example(rule):
    sentences = BAD_STARTS if rule.starts else BAD[rule.name]
    assert any(rule.pattern.search(each.replace("`data/raw`", "`f`")) for each in sentences)


@pytest.mark.parametrize("sentence", GOOD + GOOD_STARTS)
def test_a_plain_sentence_is_accepted(sentence):
    assert rules_of(sentence, opens=True) == set()


@pytest.mark.parametrize("phrase", PHRASES)
def test_each_phrase_has_advice(phrase):
    assert PHRASES[phrase]


def test_a_question_is_accepted():
    assert rules_of("What happens if a job is killed?") == set()


def test_a_page_is_read_outside_its_code(tmp_path):
    page = (
        "# Title\n\nRun `anew`, ``a job a fold``\nor [this](anew.md).\n\n```sh\nmake anew\n```\n\nIt is\nmade anew.\n"
    )
    assert found_in(tmp_path, "page.md", page) == [11]
    assert found_in(tmp_path, "table.md", "| file | rows |\n| :-- | --: |\n| anew | a value a query |\n") == [3, 3]


def test_the_text_and_the_strings_of_a_template_are_read(tmp_path):
    template = '## Made anew {: #made }\n\n{{ anew }} rows.\n\n{{ table("id", anew,\n  "A note anew.") }}\n'
    assert found_in(tmp_path, "page.md.jinja", template) == [1, 6]


def test_docstrings_literals_and_comments_are_read(tmp_path):
    assert sorted(found_in(tmp_path, "module.py", MODULE)) == [1, 3, 12, 15]
    assert found_in(tmp_path, "option.py", 'Option(help="What the job writes")\n') == [1]
    rule = '# A row\n# a value.\nrule one:\n    output:\n        "anew",\n    message:\n        "made anew"\n'
    assert sorted(found_in(tmp_path, "train.smk", rule)) == [1, 7]


def test_comments_of_configuration_are_read(tmp_path):
    assert found_in(tmp_path, "params.yaml", "title: 'made # anew'\nkey: anew # made anew\n# fine\n") == [2]
    assert found_in(tmp_path, "some.toml", '# made anew\nname = "anew # anew"\n') == [1]


def test_a_metaphor_in_the_name_of_a_module_is_found():
    assert metaphors(Path("src/gradrank/bench/provenance/mending.py")) == {"mending"}
    assert metaphors(Path("studies/kit/names.py")) == {"kit"}
    assert metaphors(Path("src/gradrank/bench/provenance/audit.py")) == set()


def test_the_command_exits_with_1_and_names_file_line_and_rule(tmp_path, capsys):
    (tmp_path / "bad.md").write_text("Fine.\n\nMade anew.\n")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], text=True, capture_output=True)
    assert done.returncode == 1
    assert f"{tmp_path / 'bad.md'}:3: archaic or metaphor 'anew'" in done.stdout
    (tmp_path / "bad.md").write_text("Fine.\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


def test_a_linked_file_is_read_once_and_the_examples_never(tmp_path):
    (tmp_path / "page.md").write_text("Fine.\n")
    (tmp_path / "same.md").symlink_to(tmp_path / "page.md")
    assert files_below([tmp_path]) == [tmp_path / "page.md"]
    assert files_below([ROOT / "tools/prose_rules.py", Path(__file__)]) == []
