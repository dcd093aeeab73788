"""A ranking from elsewhere stands beside the trained methods, and a changed file reruns it alone."""

import json


def test_a_system_from_elsewhere_is_measured_tabled_and_compared(rerun):
    rerun.gradrank("export", "results/synthetic_net/lambdamart", "--data", "data/parquet/synthetic_net",
                   "--out", "theirs/synthetic_net")  # fmt: skip
    rerun.gradrank("export", "results/synthetic_poly/lambdamart", "--data", "data/parquet/synthetic_poly",
                   "--out", "theirs/synthetic_poly")  # fmt: skip
    rerun.params(
        models={"theirs": {"scores": "theirs/{dataset}/fold{fold}.run.txt"}},
        run={"models": ["lambdamart", "ranknet_linear", "single_feature", "theirs"]},
    )
    jobs = rerun.planned()
    assert jobs["import_scores", "synthetic_net", "theirs"] == 5
    assert not [job for job in jobs if job[0] == "train"]
    rerun.snakemake("--cores", "2")
    summary = json.loads((rerun.root / "results/synthetic_net/summary.json").read_text())
    assert summary["theirs"] == summary["lambdamart"]
    assert "theirs" in (rerun.root / "results/report.html").read_text()
    assert "synthetic_net/theirs" in json.loads((rerun.root / "results/tracked.json").read_text())
    assert "DIFFERS" not in rerun.gradrank("verify")

    file = rerun.root / "theirs/synthetic_net/fold2.run.txt"
    file.write_text("\n".join(file.read_text().splitlines()[1:]))
    jobs = rerun.planned()
    assert not [job for job in jobs if job[1] == "synthetic_poly"]
    made = {(rule, model): count for (rule, _, model), count in jobs.items() if model}
    assert made == {("import_scores", "theirs"): 1, ("evaluate_folds", "theirs"): 1}
    rerun.snakemake("--cores", "2")
    assert "ranks 19 of 20" in (rerun.root / "logs/import_scores/synthetic_net/theirs/fold2.log").read_text()
    assert "DIFFERS" not in rerun.gradrank("verify")


def test_a_missing_file_is_named_before_any_job(rerun):
    rerun.params(models={"theirs": {"scores": "theirs/{fold}.txt"}}, run={"models": ["theirs"]})
    assert "theirs/1.txt" in rerun.snakemake("--cores", "1", ok=False)
