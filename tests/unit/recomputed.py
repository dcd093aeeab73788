"""The check of the scripts in tools/ that recompute the numbers of a study without importing gradrank."""

import json
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def checked(script, folder):
    """Return the finished process of a script of tools/ on the folder of a study."""
    return subprocess.run([sys.executable, TOOLS / script, folder], capture_output=True, text=True, check=False)


def assert_recomputed(script, folder, changes):
    """Assert that a script accepts numbers.json, and that it names each changed number.

    changes: the id of a table and a column, whose first value is changed.
    """
    text = (TOOLS / script).read_text()
    assert "import gradrank" not in text and "from gradrank" not in text
    result = checked(script, folder)
    assert result.returncode == 0, result.stdout + result.stderr
    path = folder / "numbers.json"
    numbers = json.loads(path.read_text())
    for table, key in changes:
        changed = json.loads(json.dumps(numbers))
        changed[table][0][key] += 0.0001
        path.write_text(json.dumps(changed))
        result = checked(script, folder)
        assert result.returncode == 1 and f"{key}:" in result.stdout
    path.write_text(json.dumps(numbers))
