"""One page per collection, from the catalogue: what the data are, how to get them, and the results on them."""

from collections.abc import Iterable, Sequence

from boards import Board
from gradrank.base.text_tables import Grid, markdown_table
from gradrank.data.sources.catalogue import Archive, Entry, catalogue
from gradrank.measures.conventions import DEFAULT
from leaderboard import PROTOCOLS

ACCESS = {
    "artificial": "generated on your machine",
    "public": "downloaded from a public address",
    "licensed": "each user gets the data from the owner",
}


def data_cards(boards: Sequence[Board]) -> dict[str, str]:
    """Return the text of the page of each collection, and of the page that lists them. The keys are URIs."""
    entries = catalogue()
    pages = {f"collections/{name}.md": _card(entry, boards) for name, entry in entries.items()}
    return {"collections/index.md": _index(entries.values())} | pages


def _index(entries: Iterable[Entry]) -> str:
    rows = [
        [f"[`{each.name}`]({each.name}.md)", each.title, _count(each.rows), _count(each.queries), each.access]
        for each in entries
    ]
    about = "One card per collection of the catalogue. [Data sets and studies](../datasets.md) shows how to use them."
    table = markdown_table(Grid(["name", "title", "documents", "queries", "access"], "llrrl", rows))
    return "\n\n".join(["# Data cards", about, table]) + "\n"


def _card(entry: Entry, boards: Sequence[Board]) -> str:
    """Return the page of a collection."""
    shown = [board for board in boards if board.dataset == entry.name and board.is_primary]
    convention = shown[0].convention if shown else entry.convention or DEFAULT
    sections = [f"# {entry.title}", f"`{entry.name}`: {entry.about}", _facts(entry, convention)]
    if entry.labels:
        total = sum(entry.labels.values())
        rows = [[str(grade), f"{count:,}", f"{count / total:.1%}"] for grade, count in sorted(entry.labels.items())]
        sections += ["## Grades { #grades }", markdown_table(Grid(["grade", "documents", "share"], "rrr", rows))]
    sections += ["## Get it { #get }", *_sources(entry)]
    sections += ["## Cite { #cite }", entry.citation + "."]
    links = [
        f"- [{PROTOCOLS[board.protocol]}](../leaderboard/{board.page}.md#{board.id}), {len(board.entries)} methods"
        for board in shown
    ]
    sections += ["## Results { #results }", "\n".join(links) or "This repository has no committed results on it."]
    return "\n\n".join(sections) + "\n"


def _facts(entry: Entry, convention: str) -> str:
    """Return the table of the counts, the licence and the convention."""
    grades = f"{min(entry.labels)} to {max(entry.labels)}" if entry.labels else ""
    facts = {
        "documents": _count(entry.rows),
        "queries": _count(entry.queries),
        "features": _count(entry.features),
        "grades": grades,
        "folds": str(entry.folds),
        "convention": f"[`{convention}`](../conventions.md)",
        "access": ACCESS[entry.access],
        "licence": entry.licence,
        "homepage": f"<{entry.homepage}>" if entry.homepage else "",
    }
    return markdown_table(Grid(["", ""], "ll", [[name, value] for name, value in facts.items() if value]))


def _sources(entry: Entry) -> list[str]:
    """Return the command that brings the data, and the files with their sizes and checksums."""
    if entry.generator:
        sizes = "--queries 50 --documents 30 --seed 1"
        return [f"~~~sh\ngradrank generate {entry.generator} {sizes} --out {entry.name}\n~~~"]
    mirror = "" if entry.access == "public" else " --mirror /path/to/archives"
    texts = [f"~~~sh\ngradrank fetch {entry.name} --out {entry.name}{mirror}\n~~~"]
    if entry.obtain:
        texts.insert(0, entry.obtain)
    if entry.files:
        rows = [[f"`{file.name}`", _count(file.bytes), f"`{file.sha256}`"] for file in entry.files]
    else:
        rows = [[f"`{each.name}`", _count(each.bytes), _checksums(each)] for each in entry.archives]
    return [*texts, markdown_table(Grid(["file", "bytes", "checksum"], "lrl", rows))]


def _checksums(archive: Archive) -> str:
    """Return the checksums of all known good copies."""
    known = [*archive.sha256, *archive.md5]
    return ", ".join(f"`{value}`" for value in known) or "none known"


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
