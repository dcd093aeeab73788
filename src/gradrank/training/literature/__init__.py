"""Publications of methods and data sets as BibTeX entries (references.bib), and the family and year of a model.

A text cites a publication in one of three forms: authors and year, such as `Burges et al. 2005` or `(Xu & Li 2007)`; a
clause that begins with the first author and contains the year or the arXiv number, as in the catalogue of data sets; or
the entry's keyword, such as `LightGBM`. A model cites its publications in its summary, so no other list is needed.

The family of a model follows from its base class, and its year from the publications in its summary.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from gradrank.training.model import Model

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


OTHERS = "others"  # name of the group of models without a family


def year(model: type[Model]) -> str:
    """Return the year of the earliest publication that the model's summary cites; empty if it cites none."""
    return min((match[2] for match in CITED.finditer(model.summary)), default="")


def family(model: type[Model]) -> str:
    """Return the name of the model's most general base class below Model.

    The name is split into words, such as `boosted trees`. If the base class is itself a registered model, its class
    name is unchanged, such as `RankSVM`.
    """
    base = [cls for cls in model.__mro__ if issubclass(cls, Model)][-2]
    if "name" in vars(base):  # registered
        return base.__name__
    return " ".join(re.findall(r"[A-Z][a-z]+", base.__name__)).lower()


def by_family(models: Iterable[type[Model]]) -> dict[str, list[tuple[type[Model], str]]]:
    """Return a dict of the models of each family. The keys are names of families.

    The values are lists of (model, year), sorted by year and name. A family has at least two models. The other models
    are listed last, under the key OTHERS.
    """
    groups: dict[str, list[tuple[type[Model], str]]] = {}
    for model in models:
        groups.setdefault(family(model), []).append((model, year(model)))
    singles = [members for members in groups.values() if len(members) == 1]
    families = {name: groups[name] for name in sorted(groups, key=str.lower) if len(groups[name]) > 1}
    grouped = families | ({OTHERS: [member for members in singles for member in members]} if singles else {})
    return {name: sorted(members, key=lambda member: (member[1], member[0].name)) for name, members in grouped.items()}
