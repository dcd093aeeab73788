"""A model, loss, scorer, metric, convention, data set and study, each added to a copy of the project with one edit."""

import re
import shutil

import polars as pl
import yaml

from gradrank.base.files import read_json
from project import ROOT, trained

METRIC = '''

@metric("misses@{k}", label="Misses@{k}")
def misses_at(r: Ranking, k: int) -> np.ndarray:
    """Return the number of irrelevant documents among the first k."""
    return np.minimum(k, r.sizes) - r.at(r.hits, k)
'''
CONVENTION = """        Convention("added", "A query without relevant documents scores .5.", empty=0.5),
"""
DATA_SET = {
    "added": {
        "title": "An added collection",
        "about": "Artificial.",
        "citation": "None.",
        "licence": "CC0",
        "archives": [{"name": "added.zip"}],
    }
}
STUDY = re.search(r"<<'END'\n(.*?)END\n", (ROOT / "docs/datasets.md").read_text(encoding="utf-8"), re.DOTALL)[1]


LOSS = '''"""A loss that was added."""

from gradrank.training.loss import loss
from gradrank.training.losses.listwise import softmax


@loss
def added_loss(scores, labels, offsets):
    """Return the cost and the gradient of softmax."""
    return softmax(scores, labels, offsets)
'''


def test_one_file_or_definition_adds_each_kind_to_the_workflow_and_the_report(rerun, tmp_path):
    source = rerun.copy_package()
    shipped = (source / "models/single_feature.py").read_text()
    (source / "models/added.py").write_text(shipped.replace('"single_feature"', '"added"'))
    (source / "training/losses/added_loss.py").write_text(LOSS)
    shipped = (source / "training/scorers/linear.py").read_text()
    (source / "training/scorers/added_scorer.py").write_text(shipped.replace("def linear", "def added_scorer"))
    with (source / "measures/metrics.py").open("a") as stream:
        stream.write(METRIC)
    conventions = source / "measures/conventions.py"
    before, end, after = conventions.read_text().rpartition("    )\n}\n")
    conventions.write_text(before + CONVENTION + end + after)
    with (source / "data/sources/catalogue.yaml").open("a") as stream:
        stream.write(f"\n{yaml.safe_dump(DATA_SET)}")
    (rerun.root / "studies/squares.py").write_text(STUDY)
    (rerun.root / "studies/squares.yaml").write_text("numbers: [3, 5]\n")
    rerun.params(
        run={"models": ["added", "single_feature", "with_added_loss"]},
        models={"with_added_loss": {"model": "softmax", "loss": "added_loss", "scorer": "added_scorer", "epochs": 2}},
        evaluation={"metrics": ["ndcg@10", "map", "misses@3"], "conventions": ["letor4", "added"]},
    )
    shutil.copytree(rerun.root / "data/raw/synthetic_net", tmp_path / "mirror/added")
    rerun.environment["GRADRANK_MIRROR"] = str(tmp_path / "mirror")
    assert trained(rerun.plan("mine")) == {"mine/added/fold1", "mine/with_added_loss/fold1"}

    target = "results/added/methods/single_feature/fold1/spec.json"
    rerun.snakemake("--cores", "2", "mine", "results/studies/squares/report.html", target)
    values = pl.read_parquet(rerun.root / "results/mine/methods/with_added_loss/per_query.parquet")
    assert set(values["convention"]) == {"letor4", "added"} and values["misses@3"].max() > 0
    summary = read_json(rerun.root / "results/mine/summary.json")
    assert summary["added"] == summary["single_feature"]
    page = (rerun.root / "results/mine/report.html").read_text()
    assert ">added<" in page and "Misses@3" in page
    assert "Squares of numbers" in (rerun.root / "results/studies/squares/report.html").read_text()
    assert "[9, 25]" in (rerun.root / "results/studies/squares/page.md").read_text()

    rerun.study("squares", numbers=[3, 5, 7])
    jobs = [path for path, rule in rerun.plan("squares").items() if rule == "study_job"]
    assert jobs == ["results/studies/squares/jobs/of-7.json"]
