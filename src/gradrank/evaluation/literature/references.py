"""The publications that the models and data sets name in their own words, as BibTeX (literature/references.bib).

A text names a publication by authors and year, `Burges et al. 2005` or `(Xu & Li 2007)`; at the beginning of a clause
by its first author with the year or arXiv number anywhere behind (the catalogue's way); or by one of its keywords,
`LightGBM`. So a model cites by its summary, and nothing else lists who cites what.
"""

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

NAME = r"[A-Z][\w'-]+"
CITED = re.compile(rf"({NAME})(?:, {NAME})*(?:,? (?:&|and) {NAME}| et al\.,?)? (\d{{4}})\b")


class Reference(NamedTuple):
    """One entry. `bibtex`: as it stands in the file."""

    key: str
    fields: dict[str, str]
    bibtex: str

    @property
    def authors(self) -> list[str]:
        """Family names."""
        return [author.partition(",")[0].strip("{}") for author in self.fields["author"].split(" and ")]

    @property
    def words(self) -> str:
        """`Xu and Li: AdaRank: ..., 2007`: for readers."""
        names = self.authors
        who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return re.sub(r"[{}\\]|``|''", "", f"{who}: {self.fields['title']}, {self.fields.get('year', '')}").rstrip(", ")

    def named_by(self, text: str) -> bool:
        cited = any(match.groups() == (self.authors[0], self.fields.get("year")) for match in CITED.finditer(text))
        return cited or self._named_by_clause(text) or self._named_by_keyword(text)

    def _named_by_clause(self, text: str) -> bool:
        numbers = [self.fields[key] for key in ("year", "eprint") if key in self.fields]
        return any(
            re.match(rf"{re.escape(self.authors[0])}\b", clause.strip()) and any(each in clause for each in numbers)
            for clause in text.split(";")
        )

    def _named_by_keyword(self, text: str) -> bool:
        keyword = self.fields.get("keywords")
        return bool(keyword and re.search(rf"\b{re.escape(keyword)}\b", text))


@cache
def references() -> dict[str, Reference]:
    """Every entry by its key, in the file's order."""
    text = files("gradrank.evaluation").joinpath("literature/references.bib").read_text(encoding="utf-8")
    found = re.finditer(r"^@\w+\{(\w+),\n.*?^\}", text, re.MULTILINE | re.DOTALL)
    return {
        entry[1]: Reference(entry[1], dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry[0], re.MULTILINE)), entry[0])
        for entry in found
    }


def named(text: str) -> list[Reference]:
    """The publications that a text names."""
    return [each for each in references().values() if each.named_by(text)]


def missing(text: str) -> list[str]:
    """What a text cites by authors and year that is not in the file."""
    known = {(each.authors[0], each.fields.get("year")) for each in references().values()}
    return [match[0] for match in CITED.finditer(text) if match.groups() not in known]
