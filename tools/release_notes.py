"""Print the entry of CHANGELOG.md for a version, as the text of its release.

    python tools/release_notes.py v0.2.0

The exit code is 1 if gradrank has another version, or if the entry is missing, empty or without a date.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENTRY = re.compile(r"^## (?P<version>\S+)(?: \((?P<date>\d{4}-\d\d-\d\d)\))?\n(?P<text>.*?)(?=^## |\Z)", re.M | re.S)


def release_notes(changelog: str, version: str) -> str:
    """Return the text of the entry of a version. Raises ValueError if the entry is missing, empty or without a date."""
    for entry in ENTRY.finditer(changelog):
        if entry["version"] == version:
            if entry["date"] is None or not entry["text"].strip():
                raise ValueError(
                    f"CHANGELOG.md: the entry {version} is empty or has no date, as in `## {version} (2026-01-31)`"
                )
            return entry["text"].strip() + "\n"
    raise ValueError(f"CHANGELOG.md: no entry for {version}. Fix: add `## {version} (<date>)` above the other entries")


def package_version(root: Path = ROOT) -> str:
    """Return the version in src/gradrank/__init__.py of a checkout, without importing the package."""
    text = (root / "src/gradrank/__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.M)[0]


def main(tag: str) -> None:
    """Print the text of the release of a tag."""
    if tag != f"v{package_version()}":
        sys.exit(f"{tag}: the version of gradrank is {package_version()}. Fix: name the tag v{package_version()}")
    try:
        print(release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), tag[1:]), end="")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1])
