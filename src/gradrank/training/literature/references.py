"""Publications that the texts of models and data sets cite, as BibTeX entries (references.bib).

A text cites a publication in one of three forms: authors and year, such as `Burges et al. 2005` or `(Xu & Li 2007)`; a
clause that begins with the first author and contains the year or the arXiv number, as in the catalogue of data sets; or
the entry's keyword, such as `LightGBM`. A model cites its publications in its summary, so no other list is needed.
"""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

NAME = r"[A-Z][\w'-]+"
CITED = re.compile(rf"({NAME})(?:, {NAME})*(?:,? (?:&|and) {NAME}| et al\.,?)? (\d{{4}})\b")


class Reference(NamedTuple):
    """A BibTeX entry. key: its BibTeX key. fields: its fields; keys are field names. bibtex: its text in the file."""

    key: str
    fields: dict[str, str]
    bibtex: str

    @property
    def authors(self) -> list[str]:
        """Family names of the authors."""
        return [author.partition(",")[0].strip("{}") for author in self.fields["author"].split(" and ")]

    @property
    def words(self) -> str:
        """Short citation as plain text, such as `Xu and Li: AdaRank: ..., 2007`."""
        names = self.authors
        authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        citation = f"{authors}: {self.fields['title']}, {self.fields.get('year', '')}"
        return re.sub(r"[{}\\]|``|''", "", citation).rstrip(", ")

    def named_by(self, text: str) -> bool:
        """Return whether the text cites this publication."""
        cited = any(match.groups() == (self.authors[0], self.fields.get("year")) for match in CITED.finditer(text))
        return cited or self._named_by_clause(text) or self._named_by_keyword(text)

    def _named_by_clause(self, text: str) -> bool:
        numbers = [self.fields[key] for key in ("year", "eprint") if key in self.fields]
        return any(
            re.match(rf"{re.escape(self.authors[0])}\b", clause.strip()) and any(number in clause for number in numbers)
            for clause in text.split(";")
        )

    def _named_by_keyword(self, text: str) -> bool:
        keyword = self.fields.get("keywords")
        return bool(keyword and re.search(rf"\b{re.escape(keyword)}\b", text))


@cache
def references() -> dict[str, Reference]:
    """Return a dict of all entries in file order. The keys are BibTeX keys."""
    text = files("gradrank.training").joinpath("literature/references.bib").read_text(encoding="utf-8")
    entries = re.finditer(r"^@\w+\{(\w+),\n.*?^\}", text, re.MULTILINE | re.DOTALL)
    return {
        entry[1]: Reference(entry[1], dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry[0], re.MULTILINE)), entry[0])
        for entry in entries
    }


def named(text: str) -> list[Reference]:
    """Return the publications that a text cites."""
    return [reference for reference in references().values() if reference.named_by(text)]


def missing(text: str) -> list[str]:
    """Return the citations in a text that consist of authors and a year and have no entry in references.bib."""
    available = {(reference.authors[0], reference.fields.get("year")) for reference in references().values()}
    return [match[0] for match in CITED.finditer(text) if match.groups() not in available]
