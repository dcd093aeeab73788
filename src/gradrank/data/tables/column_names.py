"""The table of column names and their roles, which all readers use: training, prediction, judgements, runs and pairs.

Names are compared as `normalised` returns them: letter case, blanks and the characters `_`, `-` and `.` are ignored.
"""

import re
from collections.abc import Collection, Sequence

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
