"""Shapley values of the features: exact for linear forms, quadratic forms and trees, and estimated for all models.

The scores of two documents of a query are compared with those after some features were replaced by the features of a
background document.

Shapley values of the features of a pair of documents, estimated from random permutations (Castro et al. 2009).

The game: a coalition of features has the value s(a) - s(b) after all features outside the coalition are replaced, in
both documents, by those of a random background document. The value of all features is the difference of the scores.
The value of no feature is 0, because the two documents are then equal.

Along one permutation, the features join the coalition one after another. The contribution of a feature is the change of
the value when it joins. These changes sum to the difference of the scores exactly. Each permutation is used together
with its reverse and the same background document, which reduces the variance (Mitchell et al. 2022).

Exact interventional Shapley values of sums of regression trees (Lundberg et al. 2020, section 2.4.2).

A document x and a background document z are compared at each leaf. A mixture of x and z reaches the leaf if each
feature on the path to the leaf has a value that passes all splits of the path on this feature. The features on the path
are of four kinds: both documents pass, only x passes, only z passes, or none passes. If there is a feature of the last
kind, no mixture reaches the leaf. Otherwise exactly those mixtures reach it that take the features of the second kind
from x and the features of the third kind from z. With u and v features of these kinds, the Shapley value of a feature
of the second kind is value * (u-1)! v! / (u+v)!, and that of the third kind is -value * u! (v-1)! / (u+v)!.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.scoring_form import Combined, LinearForm, QuadraticForm, ScoringForm, Tree, TreesForm
from gradrank.training.trained_fold import TrainedFold, member_features

BATCH_VALUES = 1 << 20  # feature values that are scored at once, unless one query has more: 4 MiB
# (m, d) booleans and (m,) rows -> (m, n) scores of the n documents of the query, for m replacements.
Scorer = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Pair:
    """Two documents of a query, and the background documents.

    fold: the trained model. features: (n, d) float32 features of the documents of the query, before normalisation.
    first, second: row numbers of the two documents.
    """

    fold: TrainedFold
    features: np.ndarray
    first: int
    second: int

    @property
    def rows(self) -> np.ndarray:
        """The (2,) row numbers of the two documents."""
        return np.array([self.first, self.second])

    @property
    def background(self) -> np.ndarray:
        """The row numbers of the other documents of the query, or of the two documents if there are no others."""
        others = np.setdiff1d(np.arange(len(self.features)), self.rows)
        return others if len(others) else self.rows

    @property
    def varying(self) -> np.ndarray:
        """The column numbers of the features that are not equal in all documents of the query."""
        first = self.features[0]
        is_equal = (self.features == first) | (np.isnan(self.features) & np.isnan(first))
        return np.flatnonzero(~is_equal.all(axis=0))

    def scorer(self) -> Scorer:
        """Return a function that scores the query after replacements.

        The function takes (m, d) booleans and (m,) row numbers of background documents. In replacement i, the two
        documents keep the features whose boolean is True, and have the other features of background document i. All
        other documents are unchanged, and so is the normalisation of the query.
        """
        scorer = _scorer(self.fold, self)
        step = max(1, BATCH_VALUES // (self.scored_rows() * self.features.shape[1]))

        def in_batches(kept: np.ndarray, others: np.ndarray) -> np.ndarray:
            starts = range(0, len(kept), step)
            return np.concatenate([scorer(kept[i : i + step], others[i : i + step]) for i in starts])

        return in_batches

    def scored_rows(self) -> int:
        """Return the number of documents that the models score per replacement."""
        return _scored_rows(self.fold, len(self.features))


def normalised(fold: TrainedFold, features: np.ndarray) -> np.ndarray:
    """Return the (n, d) features of the documents of a query in the form in which the model of the fold takes them."""
    return fold.schema.preparation(features, np.array([0, len(features)]))


def _scorer(fold: TrainedFold, pair: Pair) -> Scorer:
    """Return the function that `Pair.scorer` describes, for the fold of the pair or one of its members."""
    count = len(pair.features)
    if fold.members:
        members = [_scorer(member, pair) for member in fold.members]

        def of_members(kept: np.ndarray, others: np.ndarray) -> np.ndarray:
            columns = member_features([scores(kept, others).ravel() for scores in members])
            return fold.model.score(columns, _offsets(len(kept), count)).reshape(len(kept), count)

        return of_members

    documents = normalised(fold, pair.features)
    unchanged, sources = fold.model.score(documents, np.array([0, count])), fold.schema.sources

    def of_model(kept: np.ndarray, others: np.ndarray) -> np.ndarray:
        exchanged = np.where(kept[:, None, sources], documents[pair.rows], documents[others][:, None])
        if fold.model.scores_whole_queries:
            queries = np.tile(documents, (len(kept), 1, 1))
            queries[:, pair.rows] = exchanged
            flat = queries.reshape(-1, documents.shape[1])
            return fold.model.score(flat, _offsets(len(kept), count)).reshape(len(kept), count)
        scores = np.tile(unchanged, (len(kept), 1))
        flat = exchanged.reshape(-1, documents.shape[1])
        scores[:, pair.rows] = fold.model.score(flat, _offsets(len(kept), 2)).reshape(len(kept), 2)
        return scores

    return of_model


def _scored_rows(fold: TrainedFold, count: int) -> int:
    if fold.members:
        return sum(_scored_rows(member, count) for member in fold.members)
    return count if fold.model.scores_whole_queries else 2


def _offsets(queries: int, size: int) -> np.ndarray:
    """Return the offsets of queries with `size` documents each."""
    return np.arange(queries + 1) * size


SCORED_ROWS = 60_000  # documents that are scored per explanation, if the bounds of the number of pairs allow it
LEAST_PAIRS, MOST_PAIRS = 8, 256  # bounds of the number of pairs of permutations
BATCH_COALITIONS = 1 << 13  # coalitions that are held in memory at once, unless one pair has more


def sampled_shapley(pair: Pair, difference: float, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the (d,) contributions, their (d,) standard errors, and the number of permutations.

    difference: s(a) - s(b). seed: seed of the permutations. A feature that is equal in all documents of the query has
    the contribution 0. Every background document is used equally often. If there are more background documents than
    pairs of permutations, a random sample of them is used. The standard errors are those within the background
    documents if each is used at least twice, and otherwise those of independent draws, which are too large.
    """
    width, varying = pair.features.shape[1], pair.varying
    contributions, errors = np.zeros(width), np.zeros(width)
    count = len(varying)
    if count < 2:
        contributions[varying] = difference
        return contributions, errors, 0
    per_pair = pair.scored_rows() * 2 * (count - 1)
    pairs = int(np.clip(SCORED_ROWS // per_pair, LEAST_PAIRS, MOST_PAIRS))
    random, scorer, background = np.random.default_rng(seed), pair.scorer(), pair.background
    uses = pairs // len(background)  # per background document
    pairs = uses * len(background) if uses else pairs
    others = np.tile(background, uses) if uses else random.permutation(background)[:pairs]
    changes = np.empty((pairs, count))
    step = max(1, BATCH_COALITIONS // (2 * (count - 1)))
    for start in range(0, pairs, step):
        rows = others[start : start + step]
        forward = np.stack([random.permutation(count) for _ in rows])
        orders = np.stack([forward, forward[:, ::-1]], axis=1).reshape(-1, count)
        scores = scorer(_coalitions(orders, varying, width), np.repeat(rows, 2 * (count - 1)))
        values = np.zeros((len(orders), count + 1))
        values[:, 1:-1] = (scores[:, pair.first] - scores[:, pair.second]).reshape(len(orders), -1)
        values[:, -1] = difference
        joined = np.empty((len(orders), count))
        np.put_along_axis(joined, orders, np.diff(values, axis=1), axis=1)
        changes[start : start + step] = joined.reshape(-1, 2, count).mean(axis=1)
    contributions[varying] = changes.mean(axis=0)
    errors[varying] = _errors(changes.reshape(uses, -1, count) if uses > 1 else changes[:, None])
    return contributions, errors, 2 * pairs


def _coalitions(orders: np.ndarray, varying: np.ndarray, width: int) -> np.ndarray:
    """Return (k * (p-1), d) booleans: the coalitions of the first 1, 2, ... p-1 features of each permutation.

    orders: (k, p) permutations of the p numbers in `varying`.
    """
    permutations, count = orders.shape
    kept = np.zeros((permutations, count - 1, width), dtype=bool)
    for size in range(1, count):
        kept[np.arange(permutations)[:, None], size - 1, varying[orders[:, :size]]] = True
    return kept.reshape(-1, width)


def _errors(changes: np.ndarray) -> np.ndarray:
    """Return the (p,) standard errors of the means. changes: (n, s, p) values; n values in each of s strata."""
    count, strata, _ = changes.shape
    return np.sqrt(changes.var(axis=0, ddof=1).sum(axis=0) / count) / strata


def tree_shapley(trees: tuple[Tree, ...], documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Return the (k, d) float64 contributions of the features to the sum of the trees.

    documents: (k, d) float32 features of k documents. background: (m, d) float32 features. The contributions to a
    document sum to the sum of the trees for this document, minus its mean over the background documents.
    """
    out = np.zeros(documents.shape, np.float64)
    if trees:
        sizes = [len(tree.feature) for tree in trees]
        before = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)  # number of nodes of the trees before a node's tree
        _add_trees(
            np.concatenate([tree.feature for tree in trees]).astype(np.int64),
            np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
            np.concatenate([tree.left for tree in trees]) + before,
            np.concatenate([tree.right for tree in trees]) + before,
            np.concatenate([tree.missing_left for tree in trees]).astype(np.bool_),
            np.concatenate([tree.value for tree in trees]).astype(np.float64),
            documents,
            background,
            out,
        )
    return out / len(background)


@compiled("i8[:], f8[:], i8[:], i8[:], b1[:], f8[:], f4[:,:], f4[:,:], f8[:,:] out")
def _add_trees(feature, threshold, left, right, missing_left, value, documents, background, out):
    """Add the contributions of all trees to `out`, as sums over the background documents.

    The nodes of the trees follow one another. `left` and `right` are numbers in this sequence.
    """
    nodes = len(feature)
    parent = np.full(nodes, -1, np.int64)
    for node in range(nodes):
        if feature[node] >= 0:
            parent[left[node]] = node
            parent[right[node]] = node
    # The conditions of one leaf: one interval per feature on its path, and whether a missing value passes.
    features = np.empty(nodes, np.int64)
    low, high = np.empty(nodes), np.empty(nodes)
    takes_missing = np.empty(nodes, np.bool_)
    of_x, of_z = np.empty(nodes, np.bool_), np.empty(nodes, np.bool_)
    for leaf in range(nodes):
        if feature[leaf] >= 0 or value[leaf] == 0.0:
            continue
        count, node = 0, leaf
        while parent[node] >= 0:
            above = parent[node]
            place = 0
            while place < count and features[place] != feature[above]:
                place += 1
            if place == count:
                features[count], low[count], high[count], takes_missing[count] = feature[above], -np.inf, np.inf, True
                count += 1
            is_left = left[above] == node
            if is_left:
                high[place] = min(high[place], threshold[above])
            else:
                low[place] = max(low[place], threshold[above])
            takes_missing[place] &= is_left == missing_left[above]
            node = above
        for i in range(len(documents)):
            for place in range(count):
                x = documents[i, features[place]]
                of_x[place] = takes_missing[place] if np.isnan(x) else low[place] < x <= high[place]
            for j in range(len(background)):
                _add_leaf(value[leaf], features, low, high, takes_missing, count, of_x, of_z, background[j], out[i])


@compiled()
def _add_leaf(value, features, low, high, takes_missing, count, of_x, of_z, z, out):
    """Add the contributions of one leaf to one document, with the background document z, to `out`.

    of_x: whether the document passes each condition. of_z: scratch space.
    """
    u, v = 0, 0
    for place in range(count):
        other = z[features[place]]
        of_z[place] = takes_missing[place] if np.isnan(other) else low[place] < other <= high[place]
        if of_x[place]:
            u += not of_z[place]
        elif of_z[place]:
            v += 1
        else:
            return
    if u + v == 0:
        return
    choices = 1.0  # the binomial coefficient (u+v)! / (u! v!)
    for k in range(1, min(u, v) + 1):
        choices *= (u + v + 1.0 - k) / k
    for place in range(count):
        if of_x[place] and not of_z[place]:
            out[features[place]] += value / (u * choices)
        elif of_z[place] and not of_x[place]:
            out[features[place]] -= value / (v * choices)


def exact_shapley(form: ScoringForm, documents: np.ndarray, background: np.ndarray) -> tuple[np.ndarray, str] | None:
    """Return the (d,) contributions to the difference of the scores of two documents, and the kind of the form.

    form: the scoring form of the model. documents: (2, d) float32 features. background: (m, d) float32 features. The
    kind is `linear`, `quadratic` or `tree`; a sum of different kinds has both names, joined by "+". Returns None if the
    values are not known in closed form.
    """
    parts = _parts(form)
    if parts is None:
        return None
    total, kinds = np.zeros(documents.shape[1]), []
    for weight, part in parts:
        kind, contributions = EXACT[type(part)]
        total += weight * contributions(part, documents, background)
        kinds.append(kind)
    return total, "+".join(dict.fromkeys(kinds))


def _parts(form: ScoringForm) -> list[tuple[float, ScoringForm]] | None:
    """Return a weighted sum of simple forms that equals the form, or None if no such sum is known."""
    if type(form) in EXACT:
        return [(1.0, form)]
    if not isinstance(form, Combined) or form.rule != "sum" or len(form.forms) != len(form.weights):
        return None
    parts = []
    for weight, member in zip(form.weights, form.forms, strict=True):
        own = _parts(member)
        if own is None:
            return None
        parts += [(float(weight) * factor, part) for factor, part in own]
    return parts


def _linear(form: LinearForm, documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    first, second = documents.astype(np.float64)
    return form.weights * (first - second)


def _quadratic(form: QuadraticForm, documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Return the contributions to z' W z. Half of each product of two features belongs to each of the two.

    With the baseline r, the contribution of feature i to document x is (x_i - r_i) (l_i + sum_j M_ij (x_j + r_j)). l
    are the linear weights, and M is the symmetric matrix of the products.
    """
    documents, background = (form.unit * rows.astype(np.float64) for rows in (documents, background))
    weights = form.weights
    if len(weights) == 1:
        return weights[0, 1:] * (documents[0] - documents[1])
    linear, products = weights[0, 1:] + weights[1:, 0], (weights[1:, 1:] + weights[1:, 1:].T) / 2.0
    of_first, of_second = (
        ((row - background) * (linear + (row + background) @ products)).mean(axis=0) for row in documents
    )
    return of_first - of_second


def _trees(form: TreesForm, documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    of_first, of_second = tree_shapley(form.trees, documents, background)
    return of_first - of_second


# key: a form; values: the kind of the form, and the function that returns the (d,) contributions.
EXACT: dict[type, tuple[str, Callable[..., np.ndarray]]] = {
    LinearForm: ("linear", _linear),
    QuadraticForm: ("quadratic", _quadratic),
    TreesForm: ("tree", _trees),
}
