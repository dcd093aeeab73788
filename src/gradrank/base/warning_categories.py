"""The warnings of the library about values that are valid but that mislead a reader who does not know their cause."""


class GradrankWarning(UserWarning):
    """The base class of the warnings of gradrank, and the category of warnings about features.

    Examples
    --------
    >>> import warnings
    >>> import gradrank
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gradrank.GradrankWarning)
    ...     result = gradrank.evaluate([1, 0, 0], [0.5, 0.5, 0.5], qid=[1, 1, 1], metrics="mrr")
    """


class TiedScoresWarning(GradrankWarning):
    """A value depends noticeably on the order in which documents with equal scores are ranked.

    Examples
    --------
    >>> import warnings
    >>> import gradrank
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gradrank.TiedScoresWarning)
    ...     result = gradrank.evaluate([1, 0, 0], [0.5, 0.5, 0.5], qid=[1, 1, 1], metrics="mrr")
    >>> result.tied["mrr"]
    TiedMean(mean=1.0, expected=0.6111111111111112, queries=1)
    """


class DegenerateModelWarning(GradrankWarning):
    """A model learned no order: its scores are constant in each training query, or no query has different grades.

    Examples
    --------
    >>> import warnings
    >>> import gradrank
    >>> X, y, qid = [[1.0], [1.0]] * 5, [1, 0] * 5, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     ranker = gradrank.Ranker("regression", random_state=1).fit(X, y, qid=qid)
    >>> [each.category.__name__ for each in caught]
    ['DegenerateModelWarning']
    """
