"""`compare`: tests of SciPy, families of Holm's correction, equivalence, refused input and escaped names."""

import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import studentized_range, ttest_1samp, ttest_rel, tukey_hsd

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.comparison import compare
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.comparison.significance import best_methods, bootstrap_test, detectable_difference, randomisation_test
from gradrank.comparison.statistics import holm, mean_interval, wilcoxon
from gradrank.comparison.tukey import tukey_p_values

DRAW = np.random.default_rng(0)
QID = DRAW.integers(0, 40, 800)
Y = DRAW.choice(4, 800, p=[0.7, 0.1, 0.1, 0.1])
RANKINGS = {name: Y * weight + DRAW.normal(size=800) for name, weight in (("a", 0.3), ("b", 0.6), ("c", 0.65))}
VALUES = {
    name: evaluate(Y, scores, qid=QID, metrics="map").per_query["map"].to_numpy() for name, scores in RANKINGS.items()
}


def test_a_comparison_has_the_values_of_scipy():
    table = compare(RANKINGS, Y, qid=QID, metric="AP", margin=0.05).table
    assert table.select("a", "b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    for row in table.to_dicts():
        a, b = VALUES[row["a"]], VALUES[row["b"]]
        gaps = a - b
        assert row["queries"] == 40
        assert (row["mean_a"], row["mean_b"]) == pytest.approx((a.mean(), b.mean()))
        assert (row["difference"], row["low"], row["high"]) == pytest.approx(mean_interval(gaps), abs=1e-9)
        assert (row["wins"], row["losses"]) == (np.sum(gaps > 1e-9), np.sum(gaps < -1e-9))
        assert row["wins"] + row["ties"] + row["losses"] == 40
        assert row["p"] == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-6)
        assert row["effect_size"] == pytest.approx(gaps.mean() / gaps.std(ddof=1), rel=1e-6)
        sides = ttest_1samp(gaps, -0.05, alternative="greater"), ttest_1samp(gaps, 0.05, alternative="less")
        assert row["p_equivalence"] == pytest.approx(max(side.pvalue for side in sides), rel=1e-6)
        assert row["equivalent"] == (row["p_equivalence_corrected"] < 0.05)


@pytest.mark.parametrize(
    ("test", "function"), [("wilcoxon", wilcoxon), ("bootstrap", bootstrap_test), ("randomisation", randomisation_test)]
)
def test_the_chosen_test_gives_p(test, function):
    table = compare(RANKINGS, Y, qid=QID, metric="map", test=test).table
    for a, b, p in table.select("a", "b", "p").rows():
        assert p == function(VALUES[a], VALUES[b])


@pytest.mark.parametrize("baseline", [None, "b"])
def test_the_family_is_all_comparisons_of_the_call(baseline):
    result = compare(RANKINGS, Y, qid=QID, metric="map", baseline=baseline, margin=0.02)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")] if baseline is None else [("a", "b"), ("c", "b")]
    assert result.table.select("a", "b").rows() == pairs
    for key in ("p", "p_equivalence"):
        np.testing.assert_array_equal(result.table[f"{key}_corrected"], holm(result.table[key].to_list()))
    assert result.family.startswith(f"{len(pairs)} comparisons")
    assert result.family in " ".join(repr(result).split())


def test_without_a_correction_p_values_are_plain():
    result = compare(RANKINGS, Y, qid=QID, metric="map", correction=None, margin=0.1)
    assert not any("corrected" in name for name in result.table.columns)
    assert result.table["equivalent"].to_list() == [p < 0.05 for p in result.table["p_equivalence"]]
    assert "Holm" not in repr(result)


def test_resampling_is_seeded():
    one, same, other = (
        compare(RANKINGS, Y, qid=QID, test="bootstrap", seed=seed).table["p"].to_list() for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_queries_without_a_value_are_left_out():
    y, qid = [1, 0, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3]
    rankings = {"a": [2, 1, 1, 2, 2, 1], "b": [1, 2, 1, 2, 1, 2]}
    row = compare(rankings, y, qid=qid, metric="pairwise_accuracy").table.to_dicts()[0]
    assert (row["queries"], row["difference"], row["wins"]) == (2, 1.0, 2)
    empty = compare(rankings, [0] * 6, qid=qid, metric="pairwise_accuracy", margin=0.1).table.to_dicts()[0]
    assert (empty["queries"], empty["p"], empty["p_corrected"], empty["equivalent"]) == (0, None, None, False)
    assert "–" in repr(compare(rankings, [0] * 6, qid=qid, metric="pairwise_accuracy"))


def test_equal_rankings():
    row = compare({"a": RANKINGS["a"], "b": RANKINGS["a"]}, Y, qid=QID, margin=0.01).table.to_dicts()[0]
    assert (row["difference"], row["p"], row["ties"], row["equivalent"]) == (0.0, 1.0, 40, True)
    assert row["effect_size"] is None


def test_run_files_and_arrays_give_the_same_table(tmp_path):
    docid = [f"d{i}" for i in range(800)]
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {y}\n" for q, d, y in zip(QID, docid, Y, strict=True)))
    paths = {}
    for name, scores in RANKINGS.items():
        paths[name] = tmp_path / f"{name}.run"
        lines = (f"{q} Q0 {d} 0 {float(s)!r} x\n" for q, d, s in zip(QID, docid, scores, strict=True))
        paths[name].write_text("".join(lines))
    options = {"metric": "map", "convention": "trec"}
    arrays = compare(RANKINGS, Y, qid=QID, docid=docid, **options)
    assert compare(paths, tmp_path / "qrels", **options).table.equals(arrays.table)


def test_several_metrics_are_one_family():
    result = compare(RANKINGS, Y, qid=QID, metric=["map", "P@5"], baseline="a")
    assert result.table.select("metric", "a", "b").rows() == [
        *(("map", "b", "a"), ("map", "c", "a"), ("p@5", "b", "a"), ("p@5", "c", "a"))
    ]
    np.testing.assert_array_equal(result.table["p_corrected"], holm(result.table["p"].to_list()))
    single = compare(RANKINGS, Y, qid=QID, metric="p@5", baseline="a")
    same = ["a", "b", "difference", "low", "high", "p"]
    assert result.table.filter(metric="p@5").select(same).equals(single.table.select(same))
    systems = result.to_frame()
    assert systems.select("metric", "ranking").rows() == [(m, r) for m in ("map", "p@5") for r in "abc"]
    for row, compared in zip(systems.filter(pl.col("ranking") != "a").to_dicts(), result.table.to_dicts(), strict=True):
        assert row["difference"] == compared["difference"] and row["p"] == compared["p_corrected"]
        expected = None if row["p"] >= 0.05 else "better" if row["difference"] > 0 else "worse"
        assert row["mark"] == expected
        gaps = np.std(VALUES[row["ranking"]] - VALUES["a"], ddof=1) / np.sqrt(40)
        if row["metric"] == "map":
            assert row["detectable"] == pytest.approx(detectable_difference(gaps, 40, 4), rel=1e-9)
            chosen = best_methods(VALUES, np.zeros(40))[row["ranking"]].p >= 0.05
            assert row["in_confidence_set"] == chosen
    assert result.per_query.filter(metric="map")["b"].to_list() == VALUES["b"].tolist()
    assert "4 comparisons (every other ranking with `a` under 2 metrics)" in " ".join(repr(result).split())
    assert "▲" in result.to_markdown() and r"\uparrow" in result.to_latex()


def test_a_list_of_runs_is_the_mean_over_the_runs():
    runs = [RANKINGS["b"], RANKINGS["c"]]
    found = compare({"a": RANKINGS["a"], "runs": runs}, Y, qid=QID, metric="map").per_query["runs"]
    np.testing.assert_allclose(found, (VALUES["b"] + VALUES["c"]) / 2, rtol=1e-12)


def test_runs_of_folds_count_for_the_queries_that_they_rank():
    qrels = {f"q{q}": {f"d{d}": int(d == q) for d in range(4)} for q in range(5)}
    run = {q: {f"d{d}": float(d) for d in range(4)} for q in qrels}
    folds = [{q: run[q] for q in ("q0", "q1")}, {q: run[q] for q in ("q2", "q3")}]
    result = compare({"whole": run, "folds": folds}, qrels, metric="mrr", convention="trec").per_query
    assert result["folds"].to_list() == [*result["whole"].to_list()[:4], 0.0]


def test_tukey_of_two_rankings_is_the_t_test():
    two = {name: RANKINGS[name] for name in ("a", "b")}
    p = compare(two, Y, qid=QID, metric="map", test="tukey").table["p"][0]
    assert p == pytest.approx(ttest_rel(VALUES["a"], VALUES["b"]).pvalue, rel=1e-6)


def test_tukey_agrees_with_the_randomised_range():
    """Carterette 2012: the largest difference of means after permutations of the values of each query."""
    rng = np.random.default_rng(0)
    values = np.column_stack([VALUES[name] for name in "abc"])
    ranges = [np.ptp(rng.permuted(values, axis=1).mean(axis=0)) for _ in range(4000)]
    table = compare(RANKINGS, Y, qid=QID, metric="map", test="tukey").table
    assert "p_corrected" not in table.columns
    for a, b, difference, p in table.select("a", "b", "difference", "p").rows():
        assert p == pytest.approx(np.mean(np.array(ranges) >= abs(difference)), abs=0.02), (a, b)


def test_tukey_has_the_scale_of_scipy_without_effects_of_queries():
    """SciPy's test is not paired. Its p values are those of more degrees of freedom and the same sum of squares."""
    centred = {name: values - np.mean([*VALUES.values()], axis=0) for name, values in VALUES.items()}
    theirs = tukey_hsd(*centred.values())
    ours = tukey_p_values(VALUES)
    statistic = studentized_range.isf(ours["a", "b"], 3, 2 * 39) * np.sqrt((3 * 39) / (2 * 39))
    assert studentized_range.sf(statistic, 3, 3 * 39) == pytest.approx(theirs.pvalue[0, 1], rel=1e-4)


def test_the_plot_has_an_interval_per_comparison():
    page = compare({"<a>": RANKINGS["a"], "b": RANKINGS["b"]}, Y, qid=QID, metric=["map", "mrr"]).to_html()
    assert page.count("<circle") == 2
    assert "MRR: &lt;a&gt; - b" in page and "<a>" not in page


def refused(argument, rankings=RANKINGS, **options):
    """Check that the call is refused with a sentence that names the argument."""
    with pytest.raises(GradrankError) as caught:
        compare(rankings, Y, qid=QID, **options)
    assert str(caught.value).startswith(argument)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("rankings", {}), ("rankings", {"a": RANKINGS["a"]}), ("rankings", [RANKINGS["a"]]), ("baseline", "d")),
        *(("rankings", {"": RANKINGS["a"], "b": RANKINGS["b"]}), ("rankings", {1: RANKINGS["a"], 2: RANKINGS["b"]})),
        *(("rankings['b']", {"a": RANKINGS["a"], "b": RANKINGS["b"][:-1]}), ("test", "anova"), ("test", None)),
        *(("rankings['b']", {"a": RANKINGS["a"], "b": RANKINGS["b"] * np.nan}), ("correction", "bonferroni")),
        *(("margin", 0), ("margin", -0.1), ("margin", np.inf), ("margin", "small"), ("seed", -1), ("seed", "x")),
        ("metric", None),
    ],
)
def test_malformed_arguments_are_named(argument, value):
    refused(argument, **{argument.split("[")[0]: value})


def test_names_are_escaped_in_html_and_latex():
    name = "<script>alert('50%')</script> & a_b\n|"
    result = compare({name: RANKINGS["a"], "b": RANKINGS["b"]}, Y, qid=QID, baseline=name)
    assert "<script>" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()
    body = result.to_latex().split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert r"50\%" in body
    assert r"a\_b" in body
    assert not re.search(r"(?<!\\)[%_<>](?![$])", body.replace("$<$", "").replace("$>$", ""))
    assert len(result.to_markdown().split("\n\n")[0].split("\n")) == 3
    assert repr(result).split("\n")[-1].startswith("b  <script>")


def test_the_table_has_polars_types():
    table = compare(RANKINGS, Y, qid=QID, margin=0.1).table
    assert table.schema["equivalent"] == pl.Boolean
    assert table.schema["p_corrected"] == pl.Float64
    assert table.schema["queries"] == pl.Int64
