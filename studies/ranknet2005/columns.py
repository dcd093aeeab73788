"""The columns of the tables of the page."""

from gradrank.bench.report.tables.table import Column, P
from gradrank.bench.studies.tables import difference_columns, verdict_columns
from studies.ranknet2005.artificial import LEAVES

SIZE = Column("size", "training vectors", ",d")
WHERE = (Column("target"), Column("net"), SIZE)
OVER_DRAWS = (
    *verdict_columns(".2f"),
    Column("spread", "spread", ".2f"),
    Column("least", "least", ".2f"),
    Column("most", "most", ".2f"),
    Column("draws", "draws", "d"),
)
TABLE1 = (*WHERE, *OVER_DRAWS)
TABLE1_FIGURE = (*WHERE, *verdict_columns(".2f"))
SWEPT = (Column("share", "linear share", ".3f"), SIZE, *OVER_DRAWS)
SHARES = (
    SIZE,
    Column("published", "published", ".2f"),
    Column("share", "linear share", ".3f"),
    Column("low", "95% interval from", ".3f"),
    Column("high", "to", ".3f"),
    Column("draws", "draws", "d"),
)
TABLE2 = (
    SIZE,
    Column("ties"),
    *OVER_DRAWS,
    Column("published_pairs", "their pairs", ",d"),
    Column("pairs", "our pairs", ",d"),
)
TIES = (
    SIZE,
    Column("difference", "all ties minus none", "+.3f"),
    Column("low", "95% interval from", "+.3f"),
    Column("high", "to", "+.3f"),
)
ZERO_ERROR = (Column("what", ""), *OVER_DRAWS)
STEPS = (
    *WHERE,
    Column("pair", "steps per pair", ".2f"),
    Column("file", "steps per file", ".2f"),
    Column("difference", "pair minus file", "+.2f"),
    Column("low", "95% interval from", "+.2f"),
    Column("high", "to", "+.2f"),
    Column("better", "draws with pair better"),
)
CHECKS = (
    Column("steps", "steps per"),
    Column("reached", "draws without a training error", "d"),
    Column("draws", "of", "d"),
    Column("epochs", "epochs, median", ".0f"),
    Column("least", "least", "d"),
    Column("most", "most", "d"),
    Column("errors", "training pairs in error at the end, mean %", ".4f"),
    Column("test", "test error, %", ".2f"),
)
DESCENT = (
    *WHERE,
    Column("steps", "steps per"),
    Column("epochs", "epochs, all draws", ",d"),
    Column("cost_rises", "cost rises, %", ".2f"),
    Column("largest_cost_rise", "largest rise, %", ".2f"),
    Column("error_rises", "errors rise, %", ".2f"),
    Column("largest_error_rise", "largest rise, points", ".2f"),
)
BOOSTED = (
    Column("target"),
    SIZE,
    Column("rankboost_stumps", "RankBoost, stumps", ".2f"),
    Column("ranknet_stumps", "RankNet's cost, stumps", ".2f"),
    Column("difference", "RankNet's cost minus RankBoost", "+.2f"),
    Column("low", "95% interval from", "+.2f"),
    Column("high", "to", "+.2f"),
    Column("better", "draws with RankNet's cost better"),
    Column("ranknet_trees", f"RankNet's cost, trees of {LEAVES} leaves", ".2f"),
    Column("linear", "linear net", ".2f", drop_if_empty=True),
)
CHAINS = (Column("case"), Column("p_ij", "P_ij", ".12g"), Column("p_jk", "P_jk", ".12g"), Column("p_ik", "P_ik", ".6f"))

NAMED = (Column("model", "variant"), Column("method", "published as"))
DATA = (
    Column("split", "part"),
    Column("what", ""),
    Column("published", "published", ",.0f"),
    Column("ours", "ours, mean over folds", ",.0f"),
)
MEASURED = (
    *NAMED,
    Column("split", "part"),
    *difference_columns(),
    Column("half_width", "half 95% interval", ".4f"),
    Column("spread", "spread", ".4f"),
    Column("seeds", "seeds", "d"),
)
EPOCHS = (
    *NAMED,
    Column("published", "published", ".0f"),
    Column("ours", "ours, median", ".0f"),
    Column("least", "least", "d"),
    Column("most", "most", "d"),
    Column("epochs", "epochs trained, at least", "d"),
    Column("perceptrons", "perceptrons chosen (folds and seeds)"),
)
PUBLISHED_TIMES = (*NAMED, Column("theirs", "theirs, h:mm"), Column("their_ratio", "linear PRank = 1", ".1f"))
TIMES = (
    *NAMED,
    Column("theirs", "theirs, seconds", ",.0f"),
    Column("ours", "ours, seconds per fold", ",.2f"),
    Column("their_ratio", "theirs, linear PRank = 1", ".1f"),
    Column("our_ratio", "ours, linear PRank = 1", ".1f"),
)

GAP = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% interval from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("seeds", "seeds above"),
)
SIDES = (Column("better", "better, as published"), Column("worse", "worse, as published"))
ORDER = (
    *SIDES,
    Column("published", "published", "+.3f"),
    *GAP,
    Column("wilcoxon", "p (Wilcoxon)", P),
    Column("wilcoxon_holm", "p (Holm)", P),
    Column("verdict", "order"),
)
WILCOXON = (Column("what", ""), Column("p", "p (Wilcoxon), two-sided", P))
NETS = (
    Column("model", "two-layer net"),
    Column("change", "changed"),
    Column("against", "one-layer net"),
    Column("epoch", "epoch kept", ".0f"),
    Column("two", "test, two layers", ".4f"),
    Column("one", "test, one layer", ".4f"),
    Column("train_gap", "two minus one, training", "+.4f"),
    Column("vali_gap", "validation", "+.4f"),
    *GAP,
    Column("wilcoxon_holm", "p (Holm)", P),
    Column("verdict", "order"),
)
UNITS = (
    Column("model", "two-layer net"),
    Column("change", "changed"),
    Column("units", "units", "d"),
    Column("used", "in use", ".2f"),
    Column("linear", "linear share of the score", ".3f"),
)
FEWER = (
    *SIDES,
    Column("queries", "training queries"),
    Column("documents", "documents", ",.0f"),
    Column("weights", "weights per document", ".3f"),
    Column("first", "test, better", ".4f"),
    Column("second", "test, worse", ".4f"),
    *GAP,
)
