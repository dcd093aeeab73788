"""Check that a release may be published: its version, date, notes and tag are the same in every file.

    python tools/release.py          # before the tag is made
    python tools/release.py v0.2.0   # with the tag

Each problem is printed with its file. The exit code is 1 if there is one. Only the standard library is needed.
"""

import json
import re
import sys
from pathlib import Path

from release_notes import ENTRY, ROOT, package_version, release_notes


def stated(root: Path) -> dict[str, tuple[str, str]]:
    """Return a dict from the name of each file with a version to its version and date. A missing value is empty."""
    changelog = ENTRY.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    codemeta = json.loads((root / "codemeta.json").read_text(encoding="utf-8"))
    keys = ("version", "date-released")
    cited = [re.search(rf"^{key}: *[\"']?([^\s\"']+)", citation, re.MULTILINE) for key in keys]
    return {
        "CHANGELOG.md": (changelog["version"], changelog["date"] or "") if changelog else ("", ""),
        "CITATION.cff": (cited[0][1] if cited[0] else "", cited[1][1] if cited[1] else ""),
        "codemeta.json": (codemeta.get("version", ""), codemeta.get("datePublished", "")),
    }


def problems(root: Path, tag: str = "") -> list[str]:
    """Return what prevents a release, one text per problem. tag: the tag of the release; empty before it is made."""
    version, files = package_version(root), stated(root)
    released = files["CHANGELOG.md"][1]
    found = [
        f"{name}: version {own or 'missing'}, but src/gradrank/__init__.py has {version}. Fix: write {version}"
        for name, (own, _) in files.items()
        if own != version
    ]
    found += [
        f"{name}: date {date or 'missing'}, but CHANGELOG.md has {released}. Fix: write {released}"
        for name, (_, date) in files.items()
        if released and date != released
    ]
    if tag and tag != f"v{version}":
        found.append(f"{tag}: the version of gradrank is {version}. Fix: name the tag v{version}")
    try:
        release_notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except ValueError as error:
        found.append(str(error))
    return found


def main(tag: str = "") -> None:
    """Print the problems, or a line that the files agree."""
    found = problems(ROOT, tag)
    if found:
        sys.exit("\n".join(found))
    print(f"gradrank {package_version(ROOT)}: the files about the release agree")


if __name__ == "__main__":
    main(*sys.argv[1:2])
