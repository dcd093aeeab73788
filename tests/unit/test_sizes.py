"""Test that tools/sizes.py finds long files, long functions and full folders."""

import pytest

from sizes import FILE_LINES, FUNCTION_LINES, MODULES, findings

LONG_FUNCTION = "def f():\n" + "    pass\n" * FUNCTION_LINES


@pytest.fixture
def write(tmp_path):
    """`write(path, content)` in the project whose findings the tests read."""

    def write(name: str, content: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    return write


def test_the_limits_themselves_are_accepted(tmp_path, write):
    write("src/p/long.py", "x = 1\n" * FILE_LINES)
    write("src/p/function.py", LONG_FUNCTION.replace("    pass\n", "", 1))
    for number in range(MODULES + 1):
        write(f"src/p/models/m{number}.py", "")
        write(f"tests/unit/test_{number}.py", "")
    write("tests/test_function.py", LONG_FUNCTION)
    assert list(findings(tmp_path)) == []


def test_long_files_long_functions_and_full_folders_are_found(tmp_path, write):
    write("src/p/long.py", "x = 1\n" * (FILE_LINES + 1))
    write("tests/test_long.py", "x = 1\n" * (FILE_LINES + 1))
    write("tools/function.py", "x = 1\n\n\n" + LONG_FUNCTION)
    for number in range(MODULES + 1):
        write(f"src/p/room/m{number}.py", "")
    write("src/p/room/__init__.py", "")
    found = list(findings(tmp_path))
    assert [each.split(": ")[0] for each in found] == [
        "src/p/long.py:1",
        "src/p/room",
        "tools/function.py:4",
        "tests/test_long.py:1",
    ]


def test_a_link_to_another_folder_is_not_read(tmp_path, write):
    write("tests/contract/test_long.py", LONG_FUNCTION)
    write("src/p/m.py", "")
    (tmp_path / "src/p/contract").symlink_to(tmp_path / "tests/contract")
    assert list(findings(tmp_path)) == []
