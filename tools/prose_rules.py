"""The patterns of `tools/prose.py`, each with the plain form that replaces what it finds."""

import re
from dataclasses import dataclass

UNITS = (
    "batch|call|candidate|cell|collection|column|configuration|core|data ?set|document|entry|epoch|feature|file|fold|"
    "folder|grade|group|item|job|key|layer|leaf|level|line|machine|method|metric|model|module|node|package|page|pair|"
    "parameter|part|plot|point|process|processor|program|publication|query|record|release|round|row|rule|run|score|"
    "second|seed|shard|split|stage|step|study|submission|table|task|test|thread|tree|trial|tuner|user|value|variant|"
    "worker"
)
COUNTED = (
    "bytes?|cells?|columns?|documents?|entry|entries|features?|files?|floats?|folders?|folds?|integers?|jobs?|keys?|"
    "leaf|leaves|lines?|models?|names?|numbers?|pages?|pairs?|plots?|points?|processe?s?|quer(?:y|ies)|records?|"
    "rounds?|rows?|runs?|scores?|seconds?|seeds?|steps?|tables?|times?|trees?|units?|values?|workers?|[KMG]i?B|ms"
)
NUMBER = r"(?:[Aa]n?|[Oo]ne|two|three|four|five|six|seven|eight|nine|ten|\d[\d,.]*)"
STORED = "archives?|caches?|checkout|copy|copies|director(?:y|ies)|files?|folders?|records?|results?|stamps?"
PLACES = "archive|cache|checkout|copy|directory|disk|file|folder|package|path|place|project|repository"
PLURALS = "jobs?|files?|lines?|values?|rows?|bytes?|folders?|processes|seconds?|models?|tables?|columns?"
COMPARED = "longer|more|less|fewer|better|worse|greater|larger|smaller|faster|slower|higher|lower|shorter|other|such"

# Word or phrase (a pattern, without regard to case) and what to write.
PHRASES = {
    r"anew": "again",
    r"mend(?:s|ed|ing)?": "fix or repair",
    r"of one's own": "of your own, custom or a possessive",
    r"for (?:the )?want of": "because ... is missing",
    r"(?:may|can|could|would|must|not) pass for": "count as, go unnoticed",
    r"(?<!are )(?<!is )(?<!be )(?<!values )pass(?:es|ed) for": "counts as, went unnoticed",
    r"ask(?:s|ed|ing)? (?:after|of)": "checks, requires",
    r"nobody's": "no ... has",
    r"for ?ever": "indefinitely",
    r"went well": "succeeded",
    r"(?<!if there )(?:is|are|was|were) (?-i:none)": "no ..., not one of, invalid",
    r"(?:is|are|was|were) another(?:'s)?(?= *[.,;:)]| than| one\b|$)": "differs, has changed",
    r"whose [^.;]* (?:is|are|was|were) another": "differs, has changed",
    r"stands? (?:in it|there|beside|alone in)": "is in, occurs",
    r"(?:tells?|told) of": "receives, is informed about",
    r"(?:is|are|was|were|be|been) told": "receives, is given",
    r"(?:says?|said) of": "reports about",
    r"and said so": "and the log says so",
    r"in silence": "silently",
    r"no matter": "regardless of, for every",
    r"minds? (?:no|not|nothing)": "ignores",
    r"likewise": "also",
    r"by itself": "automatically, alone",
    r"elsewhere": "name the place",
    r"at its end": "finally, when it ends",
    r"(?:of|none of|any of) ours": "our ...",
    r"of theirs": "their ...",
    r"at hand": "available",
    r"such a one": "repeat the noun",
    r"(?-i:none) but": "only",
    r"brings? what": "name the object",
    r"(?:whence|whither|hitherto|heretofore|forthwith|lest|thereof|therein|wherein)": "a plain word",
    r"(?:naught|nought|aught|whatsoever|howsoever|whomsoever|aforesaid|albeit)": "a plain word",
}
# Parts of a name that are metaphors.
METAPHORS = {"anew", "closing", "elsewhere", "gaps", "kit", "mend", "mending", "tower"}


@dataclass(frozen=True)
class Rule:
    """A pattern that breaks the writing style.

    In the searched text, `f` stands for inline code that is a path, and `c` for other inline code.
    starts: only the first sentence of a docstring or of an option's help is searched, instead of every sentence.
    """

    name: str
    pattern: re.Pattern[str]
    plain: str
    starts: bool = False


def _phrase(pattern: str, plain: str) -> Rule:
    return Rule("archaic or metaphor", re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE), plain)


RULES = [
    Rule(
        "starts with a fragment",
        re.compile(
            r"^(?:Of|Those|These|The same|As|What|Nor|Nothing|None of|Who|Whose|Where)\b(?! if\b)"
            r"|^Whether (?:is|are|was|were|has|have|does|do|can|in|of|under|by|with|for|at)\b"
        ),
        "begin with a verb or a full noun phrase",
        starts=True,
    ),
    Rule(
        "distributive 'a'",
        re.compile(
            rf"\b{NUMBER} an? (?:{UNITS})\b"
            rf"|\b{NUMBER} (?:[\w-]+ )?(?:{COUNTED}) an? (?:{UNITS})\b"
            rf"|\b(?:{PLURALS}) an? (?:{UNITS})\b(?! (?!as\b|is\b|plus\b)[a-z]+s\b)"  # not "the files a job writes"
            rf"|\b(?:once|twice|times) an? (?:{UNITS})\b(?= *[.,;:)]|$)"
        ),
        "write 'per'",
    ),
    Rule(
        "clause as subject",
        re.compile(
            r"(?:^|[.;:] )(?:What|Whatever|Who|Whoever|Whichever)\b(?!'s new)[^?]*$|(?:^|[;:] )who (?:\w+ ){3,}[^?]*$"
        ),
        "begin with a noun",
    ),
    Rule(
        "'is no' and a noun",
        re.compile(
            rf"(?<!there )(?<!There )(?<!efault )(?<!currently )\b(?:is|are|was|were) no (?!(?:{COMPARED})\b)[a-z]\w+"
        ),
        "write 'is not a'",
    ),
    Rule(
        "'lies' of a file",
        re.compile(
            rf"\b(?:{STORED}) (?:(?:that|which|may|must|can|to|already|still|also) )*(?:lies?|lay|lying)\b"
            r"(?! (?:above|between|inside|on|outside|up|within)\b)"
            r"|\b(?:lies?|lay|lying) (?:there|beside|(?:in|under|below|at) (?:`f`|(?:results|data|git)\b"
            rf"|(?:an?|the|this|that|its|their|your|another|one|each|every) (?:\w+ )?(?:{PLACES})\b))",
            re.IGNORECASE,
        ),
        "write 'is'",
    ),
    Rule("begins with 'Nor'", re.compile(r"^Nor\b"), "write a sentence with 'not'"),
    *(_phrase(pattern, plain) for pattern, plain in PHRASES.items()),
]
