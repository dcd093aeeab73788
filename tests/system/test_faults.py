"""The tests find faults: every seeded fault still has its place, and a random sample of them is tried."""

import random
from pathlib import Path

import pytest
from faults import FAULTS, ROOT, copy_checkout, is_found, with_fault


def test_every_fault_replaces_one_piece_of_a_source_file():
    for fault in FAULTS.values():
        text = (ROOT / "src/gradrank" / fault.file).read_text(encoding="utf-8")
        assert with_fault(fault, text) != text


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the checkout, in which a fault replaces the fault before it. Its compiled code is cached."""
    return copy_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize("number", range(3))
def test_a_random_fault_is_found(number, checkout):
    name = random.choice(list(FAULTS))
    found, last = is_found(FAULTS[name], checkout)
    assert found, f"{name}: {last}"
