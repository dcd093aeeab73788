"""Studies on the real DAG: their targets, the reduced form of plain `snakemake`, and what reruns."""

import json

from gradrank.pipeline.params import load


def test_studies_are_targets_that_train_their_models_and_end_in_the_report(project):
    params = load(project.root / "params.yaml")
    planned = {
        name: project.planned(name) for name in ("ranknet2005", "arsm", "term_report", "average_precision")
    }
    for name, jobs in planned.items():
        settings = params.study_settings(name)
        trained = {(dataset, model) for rule, dataset, model in jobs if rule == "train"}
        assert trained == {
            (dataset, model) for dataset in settings["datasets"] for model in settings["models"]
        }
        assert [jobs[rule, None, None] for rule in ("study", "study_provenance", "report")] == [1, 1, 1]
        assert jobs["summary", "mq2007", None] == 0, "its data sets' other models are not its business"
    settings, fewer = params.study_settings("ranknet2005"), params.studies["ranknet2005"].fewer
    trainings = len(settings["models"]) * (settings["seeds"] - 1)
    trainings += len(fewer.methods) * len(fewer.queries) * fewer.seeds
    jobs = planned["ranknet2005"]["study_job", None, None]
    assert jobs == 2 * settings["artificial"]["draws"] + trainings, (
        "each draw and each further training is a job"
    )
    assert planned["ranknet2005"]["parse", "mq2007", None] == 1, "their collection"
    assert planned["arsm"]["study_job", None, None] == 1
    target = "results/studies/arsm/jobs/ranksvm-ohsumed.json"
    assert params.study_jobs("arsm")["ranksvm-ohsumed"]["dataset"] == "ohsumed"
    assert {(rule, dataset) for rule, dataset, _ in project.planned(target)} >= {("parse", "ohsumed")}


def test_plain_call_runs_the_reduced_form_without_any_download(rerun):
    rerun.params(
        studies={"ranknet2005": {"reduced": {"artificial": {"draws": 1, "sizes": [50], "tie_sizes": [50]}}}}
    )
    jobs = rerun.planned()
    assert jobs["study_job", None, None] == 2 and jobs["study", None, None] == 1
    assert {rule for rule, _, _ in jobs} == {
        "study_job",
        "study",
        "study_provenance",
        "report",
        "snapshot",
        "track",
        "all",
    }
    rerun.snakemake("--cores", "2")
    folder = rerun.root / "results/studies/ranknet2005/reduced"
    numbers = json.loads((folder / "numbers.json").read_text())
    assert {(row["target"], row["size"]) for row in numbers["table1"]} == {("net", 50), ("poly", 50)}
    assert 'id="study-ranknet2005"' in (rerun.root / "results/report.html").read_text()
    assert "Nothing to be done" in rerun.snakemake("--cores", "2")

    record = folder / "provenance.json"  # names the code, which is edited
    assert "ok       ranknet2005/reduced: results: 2 files" in rerun.gradrank("verify")
    before = {path: path.read_bytes() for path in folder.rglob("*.json") if path != record}
    chart = rerun.root / "src/gradrank/report/plots/chart.py"
    chart.write_text(chart.read_text() + "EDITED = 1\n")
    jobs = rerun.planned()
    assert jobs["study", None, None] == 1 and not [job for job in jobs if job[0] in ("study_job", "train")]
    rerun.snakemake("--cores", "2", "--forcerun", "study_job")
    assert {path: path.read_bytes() for path in before} == before
    assert "DIFFERS  ranknet2005/reduced" not in rerun.gradrank("verify")
