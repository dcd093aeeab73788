"""Table 1 of the paper: the collections. The sizes of the corpora and those of the files that are trained on."""

from collections.abc import Sequence

import numpy as np

from gradrank.bench.report.tables.table import Column, Row, Table
from gradrank.bench.studies.study import Inputs, PageSection
from gradrank.data.stored import StoredCollection
from gradrank.measures.judgements import read_judgements

# Name of the corpus, its documents and the number of queries, as the makers of LETOR give them (arXiv:1306.2597; Qin et
# al. 2010). "about" marks rounded numbers.
CORPORA = {"mq2007": ("Gov2", "about 25,000,000", "about 1,700"), "ohsumed": ("OHSUMED", "348,566", "106")}


def corpora(inputs: Inputs) -> PageSection:
    """Return the section on the collections: each corpus, and the counted sizes of its LETOR files."""
    rows = [_row(inputs, dataset) for dataset in inputs.datasets]
    shares = ", ".join(f"{row['documents'] / row['queries']:.0f} documents on {row['dataset']}" for row in rows)
    empty = ", ".join(f"{row['empty']:,} of {row['queries']:,} queries on {row['dataset']}" for row in rows)
    return PageSection(
        "collections",
        "Table 1: the collections",
        [
            "The paper's Table 1 describes the collections. Its numbers were not available here, so the table below "
            "has the sizes that the makers of LETOR give. The size of a corpus and the size of the files that are "
            "trained on differ: a corpus is searched for each query, and only the documents that were judged for a "
            f"query are in the files of LETOR. On average, these are {shares} per query. A document that was judged "
            "for two queries counts twice.",
            f"{empty} have no relevant document. They are evaluated, and the training of ARSM leaves them out.",
        ],
        [
            Table(
                "collections",
                "The corpora, and the files that are trained on",
                [
                    Column("dataset", "data set"),
                    Column("corpus"),
                    Column("corpus_documents", "documents of the corpus"),
                    Column("corpus_queries", "its queries"),
                    Column("queries", "queries, counted", ",d"),
                    Column("documents", "judged documents, counted", ",d"),
                    Column("features", "features", "d"),
                    Column("grades", "documents by grade"),
                    Column("empty", "queries without a relevant document", ",d"),
                ],
                rows,
                "The sizes of the corpora are those that the makers of LETOR give. All other numbers are counted in "
                "the stored collections, which include the training, validation and test parts.",
            )
        ],
    )


def _row(inputs: Inputs, dataset: str) -> Row:
    stored = StoredCollection.open(inputs.data / dataset)
    judged = read_judgements(stored, sorted({part for fold in stored.folds for part in fold["test"]}))
    corpus, documents, queries = CORPORA.get(dataset, ("", "", ""))
    counts: Sequence[int] = np.bincount(judged.labels).tolist()
    return {
        "dataset": dataset,
        "corpus": corpus,
        "corpus_documents": documents,
        "corpus_queries": queries,
        "queries": len(judged.qids),
        "documents": len(judged.labels),
        "features": stored.features,
        "grades": " / ".join(f"{count:,}" for count in counts),
        "empty": int(np.count_nonzero(np.maximum.reduceat(judged.labels, judged.offsets[:-1]) == 0)),
    }
