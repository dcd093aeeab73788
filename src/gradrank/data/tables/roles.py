"""The columns of ranking data: which holds the query, the grade, the document id, and which are features.

Every form of input has the same roles. LETOR and SVMlight text has a fixed place for each; of a table they are found by
the names below, which are compared without letter case, blanks and the characters `_`, `-` and `.`.

A name that could belong to a role is never taken for a feature unless the user says so (`keep`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError

# Names that a column of the role may have where none is declared.
USUAL = {
    "query": ("qid", "queryid", "query", "topic", "topicid"),
    "label": ("label", "relevance", "grade", "rel"),
    "docid": ("docid", "documentid", "docno"),
}
ESTIMATES = ("inc", "prob")  # of LETOR's comments: stored, but no feature
WEIGHTS = ("weight", "weights", "sampleweight", "queryweight", "instanceweight")
IDS = ("rowid", "rownum", "rownumber", "group", "groups", "session", "itemid", "userid", "groupid", "searchid")
OF_IDS = ("id", "ids", "uid", "uuid", "guid")  # last words of a name that could be that of an id, such as `session_id`
PARTS = ("fold", "folds", "split", "splits", "part", "partition")
# Words in a name that could be that of a grade, such as `true_label`, `Relevance2` and pandas' `label.1`.
OF_GRADES = (
    "label",
    "labels",
    "grade",
    "grades",
    "relevance",
    "relevances",
    "judgement",
    "judgment",
    "qrel",
    "qrels",
    "target",
    "relevant",
    "relevancy",
)
GRADES = ("y", "ytrue", "gain", "gains", "rating", "ratings", "click", "clicks", "clicked", "truth", "groundtruth")
INDEX = re.compile(
    r"|index|level_\d+|__index_level_\d+__|Unnamed: \d+((_level_|\.)\d+)?|row_nr|row_index|rownames", re.IGNORECASE
)
STORED = ("qid", "query", "docid", "inc", "prob", "label")  # how a part with text ids begins that gradrank has written


class AsideColumn(NamedTuple):
    """A column that is neither a role nor a feature, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Columns:
    """The columns that a user declares for a table.

    query, label, docid: names, where they differ from the usual ones. ignore: columns to set aside. keep: columns that
    are features although their names could belong to a role.
    """

    query: str | None = None
    label: str | None = None
    docid: str | None = None
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def declared(self) -> dict[str, Any]:
        """The entries that say something, as JSON has them."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items() if value}

    @staticmethod
    def of(declared: Mapping[str, Any]) -> "Columns":
        """The inverse of `declared`. Raises TypeError for what that is not."""
        columns = Columns(
            **{key: tuple(value) if isinstance(value, list) else value for key, value in declared.items()}
        )
        if not all(isinstance(name, str) for name in columns.named()):
            raise TypeError(f"columns: {declared}")
        return columns

    def named(self) -> list[str]:
        """Every column that is named."""
        return [*filter(None, (self.query, self.label, self.docid)), *self.ignore, *self.keep]


@dataclass(frozen=True)
class Roles:
    """The columns of one table by role. `label` and `docid` may be None; a table whose `query` is None is one query."""

    query: str | None
    label: str | None
    docid: str | None
    features: list[str]
    estimates: list[str] = field(default_factory=list)
    aside: list[AsideColumn] = field(default_factory=list)


class Needs(NamedTuple):
    """The roles that a table must have, and its features in order if they are known.

    features: names that must be there, any other column being a fault; () if features are not read; None if they are
    all columns that are left.
    """

    roles: Collection[str] = ("query", "label")
    features: Sequence[str] | None = None


def find_roles(
    where: object, names: Sequence[str], columns: Columns, needs: Needs, index: Collection[str] = ()
) -> Roles:
    """The role of each column; `index`: those that were a data frame's index.

    Raises GradrankError, naming `where`, for a name that occurs twice, a role that several columns may have, a needed
    role or feature that is missing, and a column that could have a role but was not declared.
    """
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise GradrankError(
            f"{where}: {names.count(twice[0])} columns are called {twice[0]!r}. Fix: rename or delete all but one"
        )
    _check_declared(where, columns)
    known = {*(needs.features or ()), *columns.keep}
    found: dict[str, str | None] = {}
    for role in USUAL:
        is_read = role != "label" or role in needs.roles or needs.features is None
        found[role] = _column_of(where, role, names, columns, known, needs) if is_read else None
    taken = {name for name in found.values() if name}
    if len(taken) < sum(map(bool, found.values())):
        raise GradrankError(
            f"{where}: one column is declared for two roles: {found}. Fix: name another column for one of them"
        )
    left = [name for name in names if name not in taken]
    estimates = [name for name in left if name in ESTIMATES and name not in known and name not in columns.ignore]
    reasons = {name: _reason(name, columns, known, found, index) for name in left}
    aside = [AsideColumn(name, reason) for name, reason in reasons.items() if reason]
    features = [name for name, reason in reasons.items() if not reason]
    if needs.features is not None:
        _check_known(where, [name for name in features if name != columns.label], needs, [*names])
        features = list(needs.features)
    else:
        _check_features(where, features, columns, names)
    return Roles(**found, features=features, estimates=estimates, aside=aside)


def _column_of(
    where: object, role: str, names: Sequence[str], columns: Columns, known: Collection[str], needs: Needs
) -> str | None:
    declared = getattr(columns, role)
    if declared in names:
        return declared
    if declared and needs.features is None:  # what a model's data declared need not be true of new data
        raise GradrankError(
            f"{where}: no column {declared!r}, which is declared as the {role} column{_near(declared, names)}; found "
            f"{_listed(names)}. Fix: declare one of these"
        )
    taken = {*columns.ignore, *known, *filter(None, (getattr(columns, other) for other in USUAL))}
    candidates = [name for name in names if plain(name) in USUAL[role] and name not in taken]
    if role == "query" and tuple(names[: len(STORED)]) == STORED:
        candidates = ["query"]
    if len(candidates) > 1:
        raise GradrankError(
            f"{where}: {' and '.join(map(repr, candidates))} may each be the {role} column. Fix: declare one "
            f"({_declare(role, candidates[0])}), or set the others aside ({_declare('ignore', candidates[1])})"
        )
    if not candidates and role in needs.roles:
        usual = {"query": "qid, query_id, topic", "label": "label, relevance, grade", "docid": "docid, docno"}[role]
        raise GradrankError(
            f"{where}: no {role} column; expected a name such as {usual}; found {_listed(names)}. Fix: declare it "
            f"({_declare(role, 'NAME')})"
        )
    return candidates[0] if candidates else None


def _reason(
    name: str, columns: Columns, known: Collection[str], found: Mapping[str, str | None], index: Collection[str]
) -> str | None:
    """Why a column is set aside; None of one that is a feature."""
    if name in columns.ignore:
        return "declared under `ignore`"
    if name in known:
        return None
    if name in ESTIMATES:
        return f"LETOR's estimate, stored but no feature (`keep: [{name}]` makes it one)"
    if INDEX.fullmatch(name.strip()) or name in index:
        return (
            f"the row index of a data frame (`keep: [{name}]` makes it a feature)"
            if name
            else "without a name, as the row index of a data frame"
        )
    for role, usual in USUAL.items():
        if plain(name) in usual and found[role]:
            return f"the {role} is in {found[role]!r} (`keep: [{name}]` makes it a feature)"
    return None


def _check_declared(where: object, columns: Columns) -> None:
    named = columns.named()
    if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise GradrankError(
            f"{where}: column {twice[0]!r} is declared twice. Fix: name it once among query, label, docid, ignore "
            f"and keep"
        )


def check_exist(files: Mapping[object, Sequence[str]], columns: Columns) -> None:
    """Raise GradrankError for a declared column that none of the files has."""
    there = list(dict.fromkeys(name for names in files.values() for name in names))
    for name in columns.named():
        if name not in there:
            raise GradrankError(
                f"{next(iter(files))}: no column {name!r}, which is declared{_near(name, there)}; found "
                f"{_listed(there)}. "
                "Fix: write the name as the file has it"
            )


def _check_features(where: object, features: Sequence[str], columns: Columns, names: Sequence[str]) -> None:
    for name in features:
        if name not in columns.keep and (kind := could_be(name)):
            raise GradrankError(
                f"{where}: column {name!r} may be {kind}, so it is not taken for a feature unasked. Fix: set it aside "
                f"({_declare('ignore', name)}), or say that it is a feature ({_declare('keep', name)})"
            )
    if not features:
        raise GradrankError(f"{where}: no column is left for features; found {_listed(names)}")


def _check_known(where: object, left: Sequence[str], needs: Needs, names: list[str]) -> None:
    if not needs.features:
        return
    if missing := [name for name in needs.features if name not in names]:
        raise GradrankError(
            f"{where}: no column {missing[0]!r}, a feature that the model was trained on"
            f"{_near(missing[0], names)}; expected {_listed(needs.features)}; found {_listed(names)}"
        )
    more = [name for name in left if name not in needs.features and not could_be(name)]
    more = [name for name in more if not any(plain(name) in usual for usual in USUAL.values())]
    if more:
        raise GradrankError(
            f"{where}: column {more[0]!r} is no feature that the model was trained on; expected "
            f"{_listed(needs.features)}. "
            f"Fix: delete the column, or set it aside (`--ignore {more[0]}`)"
        )


def could_be(name: str) -> str | None:
    """Return what a column of this name may be other than a feature; None if nothing."""
    if plain(name) in WEIGHTS:
        return "the weights of rows, which training does not use yet"
    if plain(name) in PARTS:
        return "the part that a row belongs to"
    bare = re.sub(r"(duplicated)?\d+$", "", plain(name))
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if {*words} & {*OF_GRADES} or bare in USUAL["label"] or plain(name) in GRADES:
        return "a grade"
    if plain(name) in IDS or (words and words[-1] in OF_IDS):
        return "the id of a row, a document or a query"
    return next((f"a {role} id" for role in ("query", "docid") if bare in USUAL[role]), None)


def plain(name: str) -> str:
    """A name without letter case, blanks and the characters `_`, `-` and `.`."""
    return re.sub(r"[\s_.\-]", "", name).lower()


def _declare(key: str, name: str) -> str:
    shown = f"[{name}]" if key in ("ignore", "keep") else name
    return f"`{key}: {shown}` in params.yaml, `--{key} {name}` on the command line"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:12]) + (f", .. ({len(names)} in all)" if len(names) > 12 else "")


def _near(name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name.lower(), by_lower := {each.lower(): each for each in names}, n=1)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""
