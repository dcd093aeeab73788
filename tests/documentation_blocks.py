"""The code blocks of README.md, CONTRIBUTING.md and docs/, and the tests that run them.

A block that no test runs has a comment with the reason above it: `<!-- not run: REASON -->`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
README_REASONS = {
    "make reproduce": "builds an environment; .ci/run calls `make test`",
    ".venv/bin/gradrank inspect": "the paths are placeholders; docs/tutorial.md runs these commands",
}
BLOCK = re.compile(r"^(?:<!-- not run: (?P<reason>[^>]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)

COMMANDS = ["contest", "conventions", "diff", "explain", "folds", "models", "submit", "tutorial"]
SETTINGS = ["changes", "contest", "datasets", "factorial", "folds", "gpu", "own-data", "tutorial"]
# For the blocks of a language on a page: the test that runs those without a comment.
RUN_BY = {(f"docs/{page}.md", kind): "tests/system/test_docs.py" for page in COMMANDS for kind in ("sh", "text")}
RUN_BY |= {(f"docs/{page}.md", "yaml"): "tests/unit/bench/config/test_params_file.py" for page in SETTINGS}
RUN_BY |= {(page, "python"): "tests/unit/test_public_api.py" for page in ("README.md", "docs/python.md")}
RUN_BY |= {
    ("README.md", "text"): "tests/unit/test_public_api.py",
    ("docs/changes.md", "python"): "tests/system/test_module.py",
    ("docs/clicks.md", "python"): "tests/unit/clicks/test_clicks.py",
    ("docs/export.md", "python"): "tests/system/test_serving.py",
    ("docs/extend-with-a-package.md", "sh"): "tests/system/test_extension_package.py",
    ("docs/extend-with-a-package.md", "toml"): "tests/unit/repository/test_documentation_blocks.py",
    ("docs/search-engines.md", "json"): "tests/unit/repository/test_documentation_blocks.py",
}


class Block(NamedTuple):
    """A code block. page: path from the root. line: its first line. reason: why no test runs it; empty if one does."""

    page: str
    line: int
    language: str
    text: str
    reason: str


def blocks(path: Path) -> Iterator[Block]:
    """Yield the code blocks of a page."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        page = path.relative_to(ROOT).as_posix()
        reasons = [reason for start, reason in README_REASONS.items() if match["text"].startswith(start)]
        yield Block(page, line, match["language"], match["text"], match["reason"] or "".join(reasons))


def run_blocks(page: str, *languages: str) -> list[Block]:
    """Return the blocks of a page that a test runs, in some languages."""
    return [block for block in blocks(ROOT / page) if block.language in languages and not block.reason]
