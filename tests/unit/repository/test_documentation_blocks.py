"""Every code block of the documentation is run by a test, or says why not."""

import json
import re
import tomllib
from itertools import chain

import pytest
import yaml

from documentation_blocks import PAGES, ROOT, RUN_BY, blocks

BLOCKS = list(chain.from_iterable(map(blocks, PAGES)))


def test_every_fence_of_a_page_belongs_to_a_block():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE)) == 2 * len(list(blocks(path))), path


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_a_block_is_run_by_a_test_or_has_a_reason(block):
    assert block.reason or (block.page, block.language) in RUN_BY, "Fix: run it in a test, or add <!-- not run: ... -->"
    for path in re.findall(r"\b(?:tests|docs)/[\w/.-]*\w", block.reason):
        assert (ROOT / path).exists(), path


def test_the_named_tests_have_blocks_to_run():
    found = {(block.page, block.language) for block in BLOCKS if not block.reason}
    shell = {page for page, language in found if language == "sh"}
    for (page, language), test in RUN_BY.items():
        assert (ROOT / test).is_file()
        assert (page, language) in found or (language == "text" and page in shell), (page, language)


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.language in ("json", "toml", "yaml")],
    ids=lambda block: f"{block.page}:{block.line}",
)
def test_a_block_of_data_can_be_read(block):
    read = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}[block.language]
    assert read(block.text)
