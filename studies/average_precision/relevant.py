"""The number of documents and of relevant documents of the test queries of a data set."""

from typing import NamedTuple

import numpy as np

from gradrank.bench.studies.study import Inputs
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements


class Sizes(NamedTuple):
    """Numbers of documents per test query, in the order of `Inputs.measure`.

    documents: (q,) documents. relevant: (q,) documents of grade 1 or more.
    """

    documents: np.ndarray
    relevant: np.ndarray


def query_sizes(inputs: Inputs, dataset: str) -> Sizes:
    """Return the sizes of the test queries of all folds."""
    stored = StoredCollection.open(inputs.data / dataset)
    parts = [read_judgements(stored, own["test"]) for own in stored.folds]
    documents = [np.diff(part.offsets) for part in parts]
    relevant = [np.add.reduceat(part.labels > 0, part.offsets[:-1], dtype=np.int64) for part in parts]
    return Sizes(np.concatenate(documents), np.concatenate(relevant))
