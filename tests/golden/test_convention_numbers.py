"""The NDCG@10 of one MQ2007 ranking under three conventions equals the numbers in docs/conventions.md."""

from pathlib import Path

import polars as pl

from gradrank.comparison.rankings.evaluation import evaluate

PAGE = Path(__file__).parents[2] / "docs/conventions.md"


def test_the_page_s_numbers_of_mq2007(mq2007, tmp_path):
    parts = [pl.read_parquet(mq2007 / f"part{part}.parquet", columns=["f25"]) for part in range(1, 6)]
    scores = tmp_path / "bm25.parquet"
    pl.concat(parts).select(score="f25").write_parquet(scores)
    means = (
        evaluate(mq2007, scores, metrics="ndcg@10", convention=convention).per_query["ndcg@10"].mean()
        for convention in ("letor4", "ranklib", "lightgbm")
    )
    values = (f"{value:.3f}".lstrip("0") for value in means)
    cells = f"| NDCG@10 | {' | '.join(values)} |"
    assert cells in PAGE.read_text(encoding="utf-8")
