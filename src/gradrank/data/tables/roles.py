"""The roles of a table's columns (query, label, document id or feature), and the column names that imply them.

All readers use one table of names: training, prediction, judgements, runs and pairs. Names are compared as `normalised`
returns them: letter case, blanks and the characters `_`, `-` and `.` are ignored.

All input forms have the same roles. In LETOR and SVMlight text, each role has a fixed place in the row. In a table, the
roles follow from the column names.

A column whose name suggests that it is not a feature is used as a feature only if the user declares so (`keep`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.data.grades import edges_fault

# key: a role. value: the column names, as returned by `normalised`, that have this role by default.
ROLE_NAMES = {
    "query": ("qid", "queryid", "query", "topic", "topicid"),
    "label": ("label", "relevance", "grade", "rel"),
    "docid": ("docid", "documentid", "docno"),
}
# Names of document ids in data of other programs. They have the role if no name in ROLE_NAMES is present.
FURTHER_NAMES = {"docid": ("productid", "itemid", "passageid", "corpusid", "pid", "did")}
# Names of the further columns of a run: the scores, and columns that have a meaning but are not read.
SCORES = ("score", "scores", "prediction", "predictions", "pred", "predicted", "predictedscore", "ypred")
RUN_COLUMNS = ("rank", "iteration", "iter", "q0", "tag", "run", "runid", "runname", "runtag", "system")
ESTIMATES = ("inc", "prob")  # numbers in the comments of LETOR, which are stored but not used as features

# Names, as returned by `normalised`, of columns that are probably not features. They are errors unless declared.
WEIGHTS = re.compile(r"(sample|instance|example|observation|case|row|item|pair|query|group|doc|document)?weights?")
PARTS = ("fold", "folds", "split", "splits", "part", "partition", "subset", "foldid", "splitid", "cvfold")
PARTS += ("istrain", "istest", "isvali", "isvalid")
GRADES = ("y", "ytrue", "gain", "gains", "rating", "ratings", "click", "clicks", "clicked", "truth", "groundtruth")
IDS = ("rowid", "rownum", "rownumber", "group", "groups", "groupid", "session", "sessionid", "itemid", "userid")
IDS += ("searchid", "requestid", "impressionid", "productid", "passageid", "recordid", "sampleid", "exampleid", "pid")
IDS += ("qids", "qno", "queries", "queryids", "queryno", "querynum", "querynumber", "topics", "topicno", "topicnumber")
IDS += ("did", "doc", "docs", "docids", "docnos", "docnum", "docnumber", "document", "documents", "documentids")
IDS += ("documentno", "documentnumber")
# Words within a name that suggest a grade, as in `true_label`, `Relevance2` and pandas' `label.1`.
GRADE_WORDS = ("label", "labels", "grade", "grades", "relevance", "relevances", "relevant", "relevancy")
GRADE_WORDS += ("judgement", "judgment", "qrel", "qrels", "target")
ID_WORDS = ("id", "ids", "uid", "uuid", "guid")  # final words of a name that suggest an id, as in `session_id`
INDEX = re.compile(
    r"|index|level_\d+|__index_level_\d+__|Unnamed: \d+((_level_|\.)\d+)?|row_nr|row_index|rownames", re.IGNORECASE
)
# Words within a name that suggest an outcome, which is known only after the documents were ranked, as in `click_bool`.
OUTCOMES = ("click", "clicks", "clicked", "clickthrough", "clickthroughs", "purchase", "purchases", "purchased")
OUTCOMES += ("bought", "booked", "booking", "bookings", "dwell", "dwelltime", "conversion", "conversions", "converted")
OUTCOMES += ("addtocart", "addedtocart", "carted", "outcome", "outcomes", "checkout")
# After `is`, `was`, `has` or `did`, these words suggest an outcome, too.
DEEDS = (*OUTCOMES, "ordered", "selected", "chosen", "viewed", "watched", "liked", "saved", "shared", "sold", "opened")
DEEDS += ("applied", "hired", "installed", "reserved", "subscribed", "played", "skipped", "satisfied", "read", "buy")
# Words that mark a statistic of the past or an estimate, which is known before: `click_rate_30d`, `click_model_prior`.
HISTORY = (
    "prior",
    "priors",
    "prob",
    "probability",
    "pred",
    "predicted",
    "prediction",
    "model",
    "estimate",
    "estimated",
)
HISTORY += ("history", "historical", "historic", "hist", "past", "previous", "prev", "last", "lifetime", "avg")
HISTORY += (
    "average",
    "mean",
    "median",
    "rate",
    "rates",
    "ratio",
    "ctr",
    "cvr",
    "smoothed",
    "daily",
    "weekly",
    "monthly",
)
HISTORY += ("d", "day", "days", "week", "weeks", "month", "months", "year", "years", "score", "cost", "price")
# A name of only such words, with `position` or `rank`, is the place at which a document was shown.
PLACES = (
    "position",
    "rank",
    "display",
    "displayed",
    "shown",
    "result",
    "results",
    "serp",
    "srp",
    "list",
    "item",
    "doc",
)
PLACES += ("document", "search", "impression", "original", "orig", "in", "of", "the", "page")
STORED = ("qid", "query", "docid", "inc", "prob", "label")  # first columns of a part file with text query ids


def suspected_role(name: str) -> str | None:
    """Return, as text, what a column of this name probably contains; None if the column is probably a feature."""
    plain = normalised(name)
    if WEIGHTS.fullmatch(plain):
        return "the weights of rows"
    if plain in PARTS:
        return "the part that a row belongs to"
    unnumbered = re.sub(r"(duplicated)?\d+$", "", plain)
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if {*words} & {*GRADE_WORDS} or unnumbered in ROLE_NAMES["label"] or plain in GRADES:
        return "a grade"
    if plain in IDS or (words and words[-1] in ID_WORDS):
        return "the id of a row, a document or a query"
    return next((f"a {role} id" for role in ("query", "docid") if unnumbered in ROLE_NAMES[role]), None)


def may_be_outcome(name: str) -> bool:
    """Return True if the name of a feature suggests an outcome, which is known only after the documents were ranked."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if {*words} & {*HISTORY}:
        return False
    if {*words} & {*OUTCOMES} or "".join(words[-3:]) in ("addtocart", "addedtocart"):
        return True
    deed = re.fullmatch(r"(?:is|was|has|did|been)+([a-z]+?)(?:flag|bool)?", "".join(words))
    if deed and deed[1] in DEEDS:
        return True
    return words in (["position"], ["rank"]) or ("position" in words and {*words} <= {*PLACES} - {"page"})


def normalised(name: str) -> str:
    """Return a name in lower case, without blanks and without the characters `_`, `-` and `.`."""
    return re.sub(r"[\s_.\-]", "", name).lower()


def named_columns(role: str, names: Sequence[str], excluded: Collection[str] = ()) -> list[str]:
    """Return the columns that have a role by their names; several if the names are ambiguous.

    names: all column names of the table. excluded: the columns that are declared to have another role or none.
    """
    free = [name for name in names if name not in excluded]
    if usual := [name for name in free if normalised(name) in ROLE_NAMES[role]]:
        return usual
    further = [name for name in free if normalised(name) in FURTHER_NAMES.get(role, ())]
    return further if len(further) == 1 else []


def is_index(name: str) -> bool:
    """Return True if a column of this name is the row index of a data frame, or has no name."""
    return INDEX.fullmatch(name.strip()) is not None


def is_of_run(name: str) -> bool:
    """Return True if a column of this name has a meaning in runs and qrels but is not read, such as the rank."""
    return normalised(name) in RUN_COLUMNS


class AsideColumn(NamedTuple):
    """A column that has no role and is not a feature, with the reason why it is set aside."""

    name: str
    reason: str


@dataclass(frozen=True)
class Columns:
    """The columns that a user declares for a table, and how its rows and labels are read.

    Parameters
    ----------
    query, label, docid
        The names of the columns with these roles. None if they follow from the names, or if there is no such column.
    ignore
        The columns to set aside.
    keep
        The columns that are features although their names suggest otherwise.
    header
        False if CSV and TSV files have no header. The name of a column is then its number, counted from 1.
    group_rows
        True if the rows of a query may be apart. They are then grouped: queries are in the order of their first rows,
        and the rows of a query keep their order.
    grade_edges
        If not empty, labels are any finite numbers, in tables and in text. The grade is the number of edges that are
        less than or equal to the label.
    weight
        The column of weights. A column of weights is always declared, because a weight changes the training.
    features_from
        The number of the first feature in text: 0 or 1.
    repeated
        `last` if rows of text may have features in any order and several times; the last value counts. `error` if such
        a row is refused.
    categorical
        The features whose values are names of categories, although they are numbers or have many different values.
    """

    query: str | None = None
    label: str | None = None
    docid: str | None = None
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    header: bool = True
    group_rows: bool = False
    grade_edges: tuple[float, ...] = ()
    weight: str | None = None
    features_from: int = 1
    repeated: Literal["error", "last"] = "error"
    categorical: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.features_from not in (0, 1):
            raise GradrankError(f"features_from: {self.features_from}. Fix: give 0 or 1")
        if self.repeated not in ("error", "last"):
            raise GradrankError(f"repeated: {self.repeated!r}. Fix: give error or last")
        if fault := edges_fault(self.grade_edges):
            raise GradrankError(f"grade_edges: {fault}. Fix: correct the list")

    def declared(self) -> dict[str, Any]:
        """Return the entries that are not defaults as a dict for a JSON file. Tuples become lists."""
        defaults = asdict(Columns())
        values = {key: value for key, value in asdict(self).items() if value != defaults[key]}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @staticmethod
    def of(declared: Mapping[str, Any]) -> "Columns":
        """Build from the result of `declared`. Raises TypeError if the content is malformed."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in declared.items()
        }
        columns = Columns(**values)
        if not all(isinstance(name, str) for name in (*columns.named(), *columns.categorical)):
            raise TypeError(f"columns: {declared}")
        return columns

    def named(self) -> list[str]:
        """Return all declared column names."""
        return [*filter(None, (self.query, self.label, self.docid, self.weight)), *self.ignore, *self.keep]


@dataclass(frozen=True)
class Roles:
    """The names of the columns of one table by role.

    A role without a column has the value None. A table without a query column is a single query. `estimates` are the
    columns whose names are in `ESTIMATES`. `aside` are the columns that have no role and are not features. `weight` is
    None for new data, because only the training uses weights.
    """

    query: str | None
    label: str | None
    docid: str | None
    features: list[str]
    estimates: list[str] = field(default_factory=list)
    aside: list[AsideColumn] = field(default_factory=list)
    weight: str | None = None

    @property
    def named(self) -> list[str]:
        """The columns that have a role."""
        return [name for name in (self.query, self.label, self.docid, self.weight) if name]


class Required(NamedTuple):
    """The roles and features that a table must have.

    `features` are the names of the features that must be present. Any other feature is an error. If `features` is
    empty, no features are read. With the value None, all columns without a role are features.
    """

    roles: Collection[str] = ("query", "label")
    features: Sequence[str] | None = None


def find_roles(
    where: object, names: Sequence[str], columns: Columns, required: Required, index: Collection[str] = ()
) -> Roles:
    """Find the role of each column.

    Parameters
    ----------
    where
        The name of the file or data frame in error messages.
    names
        The names of the table's columns.
    columns
        The columns that the user declares.
    required
        The roles and features that the table must have.
    index
        The names of the columns that were the index of a data frame.

    Raises GradrankError for a duplicate name, for a role that several columns may have, and for a missing role or
    feature. Also raises GradrankError for an undeclared column whose name suggests that it is not a feature.
    """
    if duplicates := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise GradrankError(
            f"{where}: {names.count(duplicates[0])} columns are called {duplicates[0]!r}. Fix: rename or delete all "
            f"but one{_header_hint(names)}"
        )
    _check_declared_once(where, columns)
    _check_unnamed(where, names, columns, required, index)
    declared_features = {*(required.features or ()), *columns.keep}
    by_role: dict[str, str | None] = {}
    for role in ROLE_NAMES:
        is_read = role != "label" or role in required.roles or required.features is None
        by_role[role] = _column_of(where, role, names, columns, declared_features, required) if is_read else None
    with_role = {name for name in by_role.values() if name}
    if len(with_role) < sum(map(bool, by_role.values())):
        raise GradrankError(
            f"{where}: one column is declared for two roles: {by_role}. Fix: declare another column for one of the "
            "roles"
        )
    rest = [name for name in names if name not in with_role and name != columns.weight]
    estimates = [
        name for name in rest if name in ESTIMATES and name not in declared_features and name not in columns.ignore
    ]
    reasons = {name: _reason_aside(name, columns, declared_features, by_role, index) for name in rest}
    aside = [AsideColumn(name, reason) for name, reason in reasons.items() if reason]
    features = [name for name, reason in reasons.items() if not reason]
    if required.features is not None:
        _check_trained_features(where, [name for name in features if name != columns.label], required.features, names)
        features = list(required.features)
    else:
        _check_features(where, features, columns, names)
        _check_weight(where, columns.weight, names)
    weight = columns.weight if required.features is None else None
    return Roles(**by_role, features=features, estimates=estimates, aside=aside, weight=weight)


def _column_of(
    where: object,
    role: str,
    names: Sequence[str],
    columns: Columns,
    declared_features: Collection[str],
    required: Required,
) -> str | None:
    """Return the column with a role: the declared column, or otherwise the column that has it by its name."""
    declared = getattr(columns, role)
    if declared in names:
        return declared
    # With `required.features`, the column may be declared for the training data only, and new data may lack it.
    if declared and required.features is None:
        raise GradrankError(
            f"{where}: no column {declared!r}, although it is declared as the {role} column{_near(declared, names)}; "
            f"found {_listed(names)}. Fix: declare one of these columns"
        )
    excluded = {*columns.ignore, *declared_features, columns.weight}
    excluded |= {getattr(columns, other) for other in ROLE_NAMES}
    candidates = named_columns(role, names, excluded)
    if role == "query" and tuple(names[: len(STORED)]) == STORED:
        candidates = ["query"]
    if len(candidates) > 1:
        raise GradrankError(
            f"{where}: {' and '.join(map(repr, candidates))} may each be the {role} column. Fix: declare one "
            f"({_declare(role, candidates[0])}), or set the others aside ({_declare('ignore', candidates[1])})"
        )
    if not candidates and role in required.roles:
        usual = {"query": "qid, query_id, topic", "label": "label, relevance, grade", "docid": "docid, docno"}[role]
        raise GradrankError(
            f"{where}: no {role} column; expected a name such as {usual}; found {_listed(names)}. Fix: declare it "
            f"({_declare(role, 'NAME')}){_header_hint(names)}"
        )
    return candidates[0] if candidates else None


def _reason_aside(
    name: str,
    columns: Columns,
    declared_features: Collection[str],
    by_role: Mapping[str, str | None],
    index: Collection[str],
) -> str | None:
    """Return the reason why a column is set aside, or None if the column is a feature."""
    if name in columns.ignore:
        return "declared under `ignore`"
    if name in declared_features:
        return None
    if name in ESTIMATES:
        return f"LETOR's estimate, stored but no feature (`keep: [{name}]` makes it one)"
    if is_index(name) or name in index:
        return (
            f"the row index of a data frame (`keep: [{name}]` makes it a feature)"
            if name
            else "without a name, as the row index of a data frame"
        )
    for role, usual in ROLE_NAMES.items():
        if normalised(name) in usual and by_role[role]:
            return f"the {role} is in {by_role[role]!r} (`keep: [{name}]` makes it a feature)"
    return None


def _check_unnamed(
    where: object, names: Sequence[str], columns: Columns, required: Required, index: Collection[str]
) -> None:
    """Raise GradrankError for a column without a name between others, which is not the row index of a data frame.

    pandas calls such a column `Unnamed: 3`. If no features are read, the column does not matter.
    """
    if required.features is not None and not required.features:
        return
    for place, name in enumerate(names[1:-1], start=2):
        is_unnamed = not name.strip() or name in (f"Unnamed: {place - 1}", f"unnamed: {place - 1}")
        if is_unnamed and name not in {*index, *columns.named(), *(required.features or ())}:
            raise GradrankError(
                f"{where}: column {place} has no name and is between other columns, so it is not the row index of a "
                "data frame. Fix: give the column a name, or delete it"
            )


def _check_declared_once(where: object, columns: Columns) -> None:
    named = columns.named()
    if duplicates := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise GradrankError(
            f"{where}: column {duplicates[0]!r} is declared twice. Fix: keep one of the declarations under query, "
            "label, docid, weight, ignore and keep"
        )


def check_exist(files: Mapping[object, Sequence[str]], columns: Columns) -> None:
    """Raise GradrankError for a declared column that is in none of the files.

    files: a dict from file to its column names.
    """
    names = list(dict.fromkeys(name for file_names in files.values() for name in file_names))
    for name in (*columns.named(), *columns.categorical):
        if name not in names:
            raise GradrankError(
                f"{next(iter(files))}: no column {name!r}, although it is declared{_near(name, names)}; found "
                f"{_listed(names)}. Fix: write the name as it is in the file"
            )


def _check_features(where: object, features: Sequence[str], columns: Columns, names: Sequence[str]) -> None:
    """Raise GradrankError if there are no features, or if an undeclared feature has a name that suggests a role.

    names: all column names of the table, for the error message.
    """
    for name in features:
        if name not in columns.keep and (role := suspected_role(name)):
            is_weight = WEIGHTS.fullmatch(normalised(name)) and not columns.weight
            as_weight = f", declare it as the weights of the rows ({_declare('weight', name)})" if is_weight else ""
            raise GradrankError(
                f"{where}: column {name!r} may be {role}, and is not used as a feature unless it is declared. Fix: set "
                f"it aside ({_declare('ignore', name)}){as_weight}, or declare it a feature ({_declare('keep', name)})"
            )
    if not features:
        raise GradrankError(
            f"{where}: no column is left for features; found {_listed(names)}. Fix: add columns of numbers, or declare "
            f"one of these columns to be a feature ({_declare('keep', 'NAME')})"
        )


def _check_weight(where: object, weight: str | None, names: Sequence[str]) -> None:
    """Raise GradrankError if a column of weights is declared and the table does not have it."""
    if weight is not None and weight not in names:
        raise GradrankError(
            f"{where}: no column {weight!r}, although it is declared as the weight column{_near(weight, names)}; found "
            f"{_listed(names)}. Fix: add the column to every file, or declare one of these columns"
        )


def _check_trained_features(
    where: object, features: Sequence[str], expected: Sequence[str], names: Sequence[str]
) -> None:
    """Raise GradrankError if the features of a table differ from those of the model.

    features: the features of the table. expected: the features of the model. names: all column names of the table.
    """
    if not expected:
        return
    if missing := [name for name in expected if name not in names]:
        raise GradrankError(
            f"{where}: no column {missing[0]!r}, a feature that the model was trained on{_near(missing[0], names)}; "
            f"expected {_listed(expected)}; found {_listed(names)}. Fix: add the column"
        )
    unknown = [name for name in features if name not in expected and not suspected_role(name)]
    unknown = [name for name in unknown if not any(normalised(name) in usual for usual in ROLE_NAMES.values())]
    if unknown:
        raise GradrankError(
            f"{where}: the model was not trained on column {unknown[0]!r}; expected {_listed(expected)}. "
            f"Fix: delete the column, or set it aside (`--ignore {unknown[0]}`)"
        )


def _declare(key: str, name: str) -> str:
    """Return how a user declares a column, for an error message."""
    shown = f"[{name}]" if key in ("ignore", "keep") else name
    return f"`{key}: {shown}` in params.yaml, `--{key} {name}` on the command line"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", .. ({len(names)} in all)" if len(names) > 12 else "")


def _header_hint(names: Sequence[str]) -> str:
    """Return what to do if the first row has values and no names; empty if no name is a number."""
    if not any(re.fullmatch(r"[+-]?\d*\.?\d+(e[+-]?\d+)?", name, re.IGNORECASE) for name in names):
        return ""
    return (
        "; if the first row has no names, declare `header: false` in params.yaml, `--no-header` on the command line, "
        "or add a row of names"
    )


def _near(name: str, names: Iterable[str]) -> str:
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""
