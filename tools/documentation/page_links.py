"""Links of Markdown pages: from paths in the repository to pages of the site."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "source"  # folder of the pages that show files
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2`*~*$\n?", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".smk": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}
LANGUAGES |= {".csv": "text", ".bib": "bibtex", ".cff": "yaml", ".sh": "sh"}
# README.md has absolute links, because the package index shows it without the repository.
REPOSITORY = re.compile(
    r"https://(?:github\.com/gradrank/gradrank/(?:blob|tree)|raw\.githubusercontent\.com/gradrank/gradrank)/main/"
)
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"


class PageLinks:
    """Replaces links to files of the repository by links to pages of the site.

    origins: the URI of the page for each path of the repository that is a page, such as `docs/folds.md: folds.md`.
    """

    def __init__(self, origins: Mapping[str, str]) -> None:
        self.pages = dict(origins)
        self.origins = {uri: origin for origin, uri in origins.items()}

    def targets(self, uri: str, text: str) -> Iterator[str]:
        """Yield the paths of the linked files and folders that are not pages of the site."""
        for part, is_code in parts(text):
            for match in () if is_code else LINK.finditer(part):
                path = self._path(uri, match[1])
                if path is not None and path not in self.pages and not self._is_asset(path):
                    yield path

    def replaced(self, uri: str, text: str) -> str:
        """Return the text of a page with its links replaced."""
        return "".join(
            part if is_code else LINK.sub(lambda match: self._replaced(uri, match[1]) + (match[2] or ""), part)
            for part, is_code in parts(text)
        )

    def _replaced(self, uri: str, target: str) -> str:
        path = self._path(uri, target)
        if path is None:
            return target
        asset = path.removeprefix("docs/") if self._is_asset(path) else source_uri(path)
        return os.path.relpath(self.pages.get(path, asset), PurePosixPath(uri).parent)

    def _path(self, uri: str, target: str) -> str | None:
        """Return the path of a link's target in the repository; None if it is an address or does not exist."""
        origin = self.origins.get(uri)
        address = REPOSITORY.match(target)
        if origin is None or (":" in target and not address):
            return None
        path = (ROOT / target[address.end() :] if address else (ROOT / origin).parent / target).resolve()
        is_inside = path.is_relative_to(ROOT) and path.exists()
        return path.relative_to(ROOT).as_posix() if is_inside else None

    @staticmethod
    def _is_asset(path: str) -> bool:
        """Return whether MkDocs copies the file, such as a picture."""
        return path.startswith("docs/") and (ROOT / path).is_file() and not path.endswith((".md", ".ipynb"))


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a Markdown text, and whether each is a code block."""
    start = 0
    for match in FENCE.finditer(text):
        yield text[start : match.start()], False
        yield match[0], True
        start = match.end()
    yield text[start:], False


def source_uri(path: str) -> str:
    """Return the URI of the page that shows a file or folder of the repository."""
    return f"{SOURCES}/{path}.md"


def source_page(path: str) -> tuple[str, str]:
    """Return the URI and the text of a page that shows a file, or lists the files of a folder."""
    full = ROOT / path
    if full.is_dir():
        names = [f"- `{each.relative_to(ROOT).as_posix()}`" for each in sorted(full.rglob("*")) if each.is_file()]
        content = "\n".join(name for name in names if "__pycache__" not in name)
    else:
        language = LANGUAGES.get(full.suffix, "text")
        content = f"~~~~~~{language}\n{full.read_text(encoding='utf-8')}\n~~~~~~"
    return source_uri(path), f"{HIDDEN}# {full.name}\n\n`{path}`\n\n{content}\n"
