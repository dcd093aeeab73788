"""Checks of LightGBM's text format. LightGBM checks little of its text, and ends the process if the text is wrong.

The text consists of a header, the trees, and the parameters of the training. Only the header and the trees determine
the scores. All trees are checked together, because one call per tree would take as long as LightGBM's own reading.
"""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.training.model_files import damaged, read_bytes

VERSION = "v4"
HEADER = (
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("average_output", "feature_names", "monotone_constraints", "feature_infos", "tree_sizes"),
)
OPTIONAL = {"objective", "average_output", "monotone_constraints"}
SPLITS = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
INNER = ("internal_value", "internal_weight", "internal_count")
CATEGORIES = ("cat_boundaries", "cat_threshold")
NUMERICAL_TREE = ("num_leaves", "num_cat", *SPLITS, *LEAVES, *INNER, "is_linear", "shrinkage")
CATEGORICAL_TREE = (*NUMERICAL_TREE[:-2], *CATEGORIES, "is_linear", "shrinkage")
OBJECTIVE = re.compile(r"([a-z_]+)( [a-z_]+(:[-+.0-9e]+)?)*")
MULTICLASS = {"multiclass", "multiclassova"}
# The classes of characters in numbers, and the pairs of classes that numbers with a space between them consist of.
CLASSES = bytes(
    b"0 -.e+".find(b"0" if character in b"0123456789" else bytes([character])) & 7 for character in range(256)
)
PAIRS = bytes(
    8 * CLASSES[a] + CLASSES[b]
    for a, b in (b" 0", b" -", b"-0", b"00", b"0.", b".0", b"0e", b"e-", b"e+", b"+0", b"0 ")
)
REPEATED = (b"..", b"ee", b"e.")  # in a number without its digits and signs
EXPONENT = re.compile(rb"e\+(\d+)")
LARGEST_EXPONENT = 290
MOST_DIGITS = 9
FLOAT = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"
FEATURE_INFO = re.compile(rf"none|\[{FLOAT}:{FLOAT}\]|-?\d+(?::-?\d+)*")
# The text after the trees. LightGBM reads the parameters, and ends the process if a line has another form.
ENDING = re.compile(
    rb"end of trees\n\nfeature_importances:\n(?:[^\n=]+=[^\n]+\n)*\n"
    rb"parameters:\n(?:\[\w+: [^\n]*\]\n)*\nend of parameters\n\npandas_categorical:[^\n]*\n"
)
LARGEST_DECISION = 0b1011  # bit 0: categorical; bit 1: default left; bits 2 and 3: type of missing values, 0 to 2


class _Tree(dict[str, bytes]):
    """The lines of one tree, by key."""


def read_lightgbm_text(path: Path) -> str:
    """Return the text of a model file that LightGBM can read and compute scores from.

    Raises GradrankError, with the reason, for any other file.
    """
    try:
        text = read_bytes(path).decode()
        check_lightgbm_text(text)
    except (InvalidText, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from None
    return text


def check_lightgbm_text(text: str) -> None:
    """Check that LightGBM can read a text and compute scores from it. Raises InvalidText with the reason.

    The header must have the known version, and as many trees, classes and features as it states. Each tree must have
    all arrays in full length, and its nodes must form one binary tree. Features, categories and types of decisions must
    exist, and leaf values must be finite.
    """
    content = text.encode()
    head, separator, _ = content.partition(b"\n\n")
    header = _header(head.decode().split("\n"))
    sizes = _integers(header["tree_sizes"], "tree_sizes")
    per_round = _count(header, "num_tree_per_iteration")
    _check_outputs(header, per_round, len(sizes))
    features = _count(header, "max_feature_idx", least=0) + 1
    for key in ("feature_names", "feature_infos"):
        if (found := header[key].count(" ") + 1) != features or "  " in header[key]:
            _refuse(f"{key} has {found} entries, but max_feature_idx is {features - 1}")
    if fault := next((info for info in header["feature_infos"].split(" ") if not FEATURE_INFO.fullmatch(info)), None):
        _refuse(f"feature_infos has {fault!r}")
    start = len(head) + len(separator)
    bounds = [start, *accumulate(sizes, initial=start)][1:]
    if min(sizes) < 1 or not ENDING.fullmatch(content, bounds[-1]):
        _refuse("tree_sizes do not lead to the lines `end of trees`, `parameters:` and `end of parameters`")
    trees = [_lines(content[a:b], number) for number, (a, b) in enumerate(pairwise(bounds))]
    _check_trees(trees, features)


class InvalidText(GradrankError):
    """A text that is not a complete model of LightGBM. The message is a clause with the reason."""


def _refuse(reason: str) -> NoReturn:
    raise InvalidText(reason)


def _header(lines: Sequence[str]) -> dict[str, str]:
    """Return a dict from key to value of the first lines."""
    if lines[0] != "tree":
        _refuse("the first line is not `tree`")
    pairs = [(key, value) for key, _, value in (line.partition("=") for line in lines[1:])]
    header: dict[str, str] = dict(pairs)
    expected = [key for key in HEADER if key in header or key not in OPTIONAL]
    if [key for key, _ in pairs] != expected:
        _refuse(f"the header has the keys {', '.join(key for key, _ in pairs)}; expected {', '.join(expected)}")
    if header["version"] != VERSION:
        _refuse(f"version={header['version']}, but gradrank reads {VERSION}")
    return header


def _check_outputs(header: dict[str, str], per_round: int, trees: int) -> None:
    """Check that the number of trees and the objective agree with the number of classes."""
    classes, objective = _count(header, "num_class"), header.get("objective", "")
    if per_round != classes or trees % per_round:
        _refuse(f"{trees} trees, {per_round} per round, do not agree with num_class={classes}")
    if objective and not OBJECTIVE.fullmatch(objective):
        _refuse(f"objective={objective}")
    stated = re.findall(r" num_class:(\d+)", objective)
    is_multiclass = objective.split(" ")[0] in MULTICLASS
    if stated != ([str(classes)] if is_multiclass else []) or (objective and is_multiclass != (classes > 1)):
        _refuse(f"objective={objective} does not agree with num_class={classes}")


def _count(header: dict[str, str], key: str, least: int = 1) -> int:
    if not re.fullmatch(r"\d{1,9}", header[key]) or int(header[key]) < least:
        _refuse(f"{key}={header[key]}")
    return int(header[key])


def _integers(text: str, key: str) -> list[int]:
    if not re.fullmatch(r"\d{1,15}( \d{1,15})*", text):
        _refuse(f"{key} is not a list of integers")
    return [int(number) for number in text.split(" ")]


def _lines(block: bytes, number: int) -> _Tree:
    """Return the lines of a tree by key. Raises GradrankError if they are not those of a tree of this format."""
    first, *lines = block.split(b"\n")
    if first != b"Tree=%d" % number or lines[-3:] != [b"", b"", b""]:
        _refuse(f"tree {number} does not begin and end where tree_sizes says")
    pairs = [line.partition(b"=") for line in lines[:-3]]
    tree = _Tree((key.decode("ascii", "replace"), value) for key, _, value in pairs)
    if tuple(tree) not in (NUMERICAL_TREE, CATEGORICAL_TREE) or len(tree) != len(pairs):
        _refuse(f"tree {number} has missing, unknown or repeated keys")
    return tree


def _check_trees(trees: list[_Tree], features: int) -> None:
    numbers = np.arange(len(trees))
    one_each = np.ones_like(numbers)
    leaves, categories, linear = (_integers_of(trees, key, one_each) for key in ("num_leaves", "num_cat", "is_linear"))
    _check(numbers, leaves >= 1, "no leaves")
    _check(numbers, linear == 0, "linear leaves, which gradrank does not read")
    inner = leaves - 1
    for key in (*SPLITS, *LEAVES, *INNER):
        found = np.array([tree[key].count(b" ") + bool(tree[key]) for tree in trees])
        _check(numbers, found == (leaves if key in LEAVES else inner), f"{key} of another length than num_leaves has")
    for key in (*SPLITS, *LEAVES, *INNER, "shrinkage"):
        if not _are_numbers(key, trees):
            _check(
                numbers, np.array([_are_numbers(key, [tree]) for tree in trees]), f"a {key} that is not a finite number"
            )
    feature, decision = (_integers_of(trees, key, inner) for key in ("split_feature", "decision_type"))
    tree_of = np.repeat(numbers, inner)
    _check(tree_of, (feature >= 0) & (feature < features), f"a split_feature outside of the {features} features")
    _check(tree_of, (decision >= 0) & (decision <= LARGEST_DECISION), "an unknown decision_type")
    _check_nodes(tree_of, leaves, *(_integers_of(trees, side, inner) for side in ("left_child", "right_child")))
    is_category = decision % 2 == 1
    _check(tree_of, ~is_category | (categories[tree_of] > 0), "a split by categories, but no categories")
    starts = np.cumsum(inner) - inner
    for number in np.flatnonzero(categories):
        rows = slice(starts[number], starts[number] + inner[number])
        _check_categories(trees[number], int(number), int(categories[number]), is_category[rows])


def _are_numbers(key: str, trees: list[_Tree]) -> bool:
    """Return whether the entries of a key are finite numbers, as LightGBM writes them.

    LightGBM ends the process if one is not a number, even if no score depends on it. All pairs of characters are
    checked together, because Python takes more time to read the numbers than LightGBM.
    """
    text = b" ".join(filter(None, (tree[key] for tree in trees)))
    if not text:
        return True
    if key in ("split_gain", "threshold"):  # may be infinite: such a threshold divides missing from all other values
        text = text.replace(b"inf", b"0")
    classes = np.frombuffer((b" %b " % text).translate(CLASSES), np.uint8)
    pairs, marks = (classes[:-1] * 8 + classes[1:]).tobytes(), text.translate(None, b"0123456789+-")
    if pairs.translate(None, PAIRS) or any(repeated in marks for repeated in REPEATED):
        return False
    return all(int(exponent) <= LARGEST_EXPONENT for exponent in EXPONENT.findall(text))


def _integers_of(trees: list[_Tree], key: str, lengths: np.ndarray) -> np.ndarray:
    """Return the integers of all trees under one key. lengths: their number in each tree.

    The digits of all integers are read together, because NumPy and Python take a tenth of a microsecond per integer.
    """
    text = np.frombuffer(b" ".join(filter(None, (tree[key] for tree in trees))) + b" ", np.uint8)
    ends = np.flatnonzero(text == ord(" "))
    starts = np.r_[0, ends[:-1] + 1]
    is_negative = text[starts] == ord("-")
    digits = ends - starts - is_negative
    total = int(lengths.sum())
    if not total:
        return np.empty(0, np.int64)
    is_other = (text - np.uint8(ord("0")) > 9) & (
        text != ord(" ")
    )  # the difference of unsigned numbers is not negative
    is_valid = len(ends) == total and digits.min() >= 1 and digits.max() <= MOST_DIGITS
    if not is_valid or is_other.sum() != is_negative.sum():
        _refuse(f"{key} has an entry that is not an integer, or another length than num_leaves has")
    values = np.zeros(total, np.int64)
    for place in range(digits.max()):
        digit = text[ends - 1 - place].astype(np.int64) - ord("0")
        values += np.where(place < digits, digit, 0) * 10**place
    return np.where(is_negative, -values, values)


def _check(tree_of: np.ndarray, is_valid: np.ndarray, fault: str) -> None:
    """Raise GradrankError with the number of the first tree with the fault. tree_of: the tree of each entry."""
    if not is_valid.all():
        _refuse(f"tree {tree_of[is_valid.argmin()]} has {fault}")


def _check_nodes(tree_of: np.ndarray, leaves: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Check that the nodes of each tree form one binary tree, whose root is node 0.

    left, right: the children of the inner nodes of all trees. A negative child c is the leaf -c - 1. Any other child is
    an inner node, which has a larger number than its parent. So each node but the root must be a child once.
    """
    first = np.cumsum(leaves - 1) - (leaves - 1)  # the first inner node of each tree
    node, inner = np.arange(len(tree_of)) - first[tree_of], leaves[tree_of] - 1
    for child in (left, right):
        _check(tree_of, ((child > node) & (child < inner)) | ((child < 0) & (child >= ~inner)), "an invalid child")
    first_of_all = np.cumsum(2 * leaves - 1) - (2 * leaves - 1)
    numbers = [first_of_all[tree_of] + np.where(child < 0, inner + ~child, child) for child in (left, right)]
    parents = np.bincount(np.concatenate(numbers), minlength=int((2 * leaves - 1).sum()))
    parents[first_of_all] += 1
    _check(np.repeat(np.arange(len(leaves)), 2 * leaves - 1), parents == 1, "a node with no parent or several parents")


def _check_categories(tree: _Tree, number: int, lists: int, is_category: np.ndarray) -> None:
    """Check that the lists of categories of a tree divide its `cat_threshold`, and that its splits use these lists."""
    if any(key not in tree for key in CATEGORIES):
        _refuse(f"tree {number} has num_cat={lists}, but no categories")
    boundaries, words = (_integers(tree[key].decode("ascii", "replace"), key) for key in CATEGORIES)
    steps = np.diff(boundaries)
    if len(steps) != lists or boundaries[0] != 0 or (steps < 1).any() or boundaries[-1] != len(words):
        _refuse(f"tree {number} has cat_boundaries that do not divide cat_threshold")
    used = {float(text) for text, is_ours in zip(tree["threshold"].split(), is_category, strict=True) if is_ours}
    if max(words) >= 2**32 or not used <= set(range(lists)):
        _refuse(f"tree {number} has a list of categories that does not exist")
