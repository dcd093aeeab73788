"""Models that learned no order: every registered model is noted, by `Ranker.fit` and by training jobs."""

from dataclasses import replace

import numpy as np
import pytest

import gradrank
from gradrank import DegenerateModelWarning, Ranker
from gradrank.base.errors import GradrankError
from gradrank.bench.diff.read_state import read_folder
from gradrank.bench.folds.evaluate import evaluate_folds
from gradrank.bench.folds.job import train
from gradrank.bench.report.tables.summary import summary
from gradrank.bench.report.tables.summary_tables import cautions, read_tables
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection
from gradrank.training.fit import degenerate_model_note, fit
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.registry import missing_packages, models
from made_rankings import linear_grades, silent

FAST = {"epochs": 1, "rounds": 2, "passes": 1, "landmarks": 10, "members": 1, "pairs_per_epoch": 50}
DATA = linear_grades(1, 12, 9)
CAUSES = {
    "no feature varies": replace(DATA, features=np.zeros_like(DATA.features)),
    "different grades": replace(DATA, labels=np.ones_like(DATA.labels)),
    "min_data_in_leaf": DATA,
}


def small(cls):
    return cls.Params(**{name: value for name, value in FAST.items() if name in cls.Params.model_fields})


def trained(cause, part):
    """Yield every model that can be trained on a part, with its note."""
    for cls in models().values():
        params = small(cls)
        has_leaves = "min_data_in_leaf" in cls.Params.model_fields
        if missing_packages(cls) or cls.members(params) or (cause == "min_data_in_leaf" and not has_leaves):
            continue
        if has_leaves:
            params = params.model_copy(update={"min_data_in_leaf": 200})
        try:
            model = fit(cls, part, part, params, 1, silent)
        except GradrankError:  # a clear error is right, too
            continue
        yield model, degenerate_model_note(model, params, part)


@pytest.mark.parametrize("cause", CAUSES)
def test_every_model_without_an_order_is_noted_with_the_cause(cause):
    notes = {model.name: note for model, note in trained(cause, CAUSES[cause])}
    assert len(notes) > 5
    assert {name: note for name, note in notes.items() if cause not in note} == {}


def test_no_model_with_an_order_is_noted():
    for name in ("regression", "ranksvm", "listnet", "single_feature", "mart"):
        params = small(models()[name])
        if name == "mart":
            params = params.model_copy(update={"min_data_in_leaf": 2})
        model = fit(models()[name], DATA, DATA, params, 1, silent)
        assert degenerate_model_note(model, params, DATA) == ""


def test_an_order_in_the_last_query_alone_counts():
    features = np.zeros_like(DATA.features)
    features[-9:] = DATA.features[-9:]
    part = replace(DATA, features=features)
    params = small(models()["regression"])
    assert degenerate_model_note(fit(models()["regression"], part, part, params, 1, silent), params, part) == ""


def test_a_fit_warns_and_a_job_logs(tmp_path, capfd):
    qid = DATA.query_of_row
    with pytest.warns(DegenerateModelWarning, match="min_data_in_leaf") as caught:
        Ranker("lambdamart", random_state=1).fit(DATA.features, DATA.labels, qid=qid)
    assert len(caught) == 1 and caught[0].filename == __file__
    data = stored(tmp_path)
    for model, count in (("lambdamart", 1), ("regression", 0)):
        train(model, data, 1, {}, 1, tmp_path / model)
        assert capfd.readouterr().err.count("same score") == count


def test_the_summary_and_the_report_warn_of_constant_scores(tmp_path):
    data, results = stored(tmp_path), tmp_path / "results/mine"
    for model in ("lambdamart", "regression"):
        for fold in range(1, len(StoredCollection.open(data).folds) + 1):
            train(model, data, fold, {}, 1, results / "methods" / model / f"fold{fold}")
        spec = FoldFolder(results / "methods" / model / "fold1").spec()
        settings = {"model": model, "dataset": "mine", "params": spec["params"], "seed": 1}
        evaluate_folds(results / "methods" / model, data, settings, ["standard", "standard_expected"], ["ndcg@10"])
    summary(results, ["lambdamart", "regression"], "standard", data)
    tables = read_tables(results / "tables")
    assert {row["model"] for row in tables["constant_scores"]} == {"lambdamart"}
    (caution, *_) = cautions(tables, "mine", "standard")  # of the report
    assert caution.is_serious and "`lambdamart`" in caution.text and "`regression`" not in caution.text
    page = (results / "summary.md").read_text()
    assert f"> **Warning.** {caution.text}" in page and "in expectation" in caution.text
    table = gradrank.table(results).to_markdown()
    assert "in expectation" in table and "Methods without an order" in table
    table = gradrank.table(results, methods=["regression"]).to_markdown()
    assert "in expectation" not in table and "Methods without an order" not in table
    (tmp_path / "params.yaml").write_text("evaluation: {convention: standard}\n")
    (notice,) = read_folder(results).notices  # of `gradrank diff`
    assert "`lambdamart`" in notice and "in expectation" in notice


def stored(folder):
    """Write DATA as a stored collection, with the rows of each query sorted by grade."""
    order = np.lexsort((-DATA.labels, DATA.query_of_row))
    rows = zip(DATA.labels[order], DATA.query_of_row[order], DATA.features[order], strict=True)
    lines = [f"{y} qid:{q + 1} " + " ".join(f"{i + 1}:{v}" for i, v in enumerate(x)) for y, q, x in rows]
    (folder / "data.txt").write_text("\n".join([*lines, ""]))
    parse(folder / "data.txt", folder / "parquet", seed=1, dataset="mine")
    return folder / "parquet"
