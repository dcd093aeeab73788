"""The console output of a run: one line per job, then the best methods; failures last."""

import re
import zipfile
from pathlib import Path


def test_each_job_has_one_line_and_results_or_failures_come_last(project):
    project.params(run={"datasets": ["synthetic_net"], "models": ["single_feature"]}, track=False)
    output = project.snakemake("--cores", "2", "synthetic_net")
    jobs = re.findall(r"^\[(\d+)/(\d+)\] (\w+)", output, re.MULTILINE)
    assert [int(number) for number, _, _ in jobs] == list(range(1, len(jobs) + 1))
    assert {total for _, total, _ in jobs} == {str(len(jobs))}
    assert [rule for _, _, rule in jobs].count("train") == 5
    assert all(f"train: dataset=synthetic_net, model=single_feature, fold={fold} (" in output for fold in range(1, 6))
    end = output[output.rindex(f"[{len(jobs)}/") :]
    assert re.search(r"single_feature +0\.\d{4} ± 0\.\d{4}\n", end)
    assert f"{project.root}/results/synthetic_net/report.html" in end
    assert "track" not in [rule for _, _, rule in jobs] and not list(project.root.glob("ml*"))
    (log,) = (project.root / ".snakemake/log").glob("*.log")
    assert (
        str(log) in end and "rule train:" in log.read_text() and "results/synthetic_net/report.html" in log.read_text()
    )

    model = project.copy_package() / "models/single_feature.py"
    broken = r"\1        raise ValueError(f'broken {seed}')\n"
    text, replaced = re.subn(r"(def fit\(.*?:\n)", broken, model.read_text(), flags=re.DOTALL)
    assert replaced == 1
    model.write_text(text)
    output = project.snakemake("--cores", "2", "synthetic_net", ok=False)
    first_log = output.index("logs/train/synthetic_net/single_feature/fold")
    assert output.count("FAILED train: dataset=synthetic_net, model=single_feature, fold=", 0, first_log) == 5
    assert "ValueError" not in output[:first_log] and "report.html" not in output
    assert len(set(re.findall(r"ValueError: broken \d+", output[first_log:]))) == 1  # one message per method
    for fold in range(1, 6):
        assert f"logs/train/synthetic_net/single_feature/fold{fold}.log" in output[first_log:]


def test_snakemakes_own_report_has_the_tables_and_the_figures(rerun, tmp_path):
    rerun.snakemake("--report", str(tmp_path / "report.zip"))
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        names = {Path(name).name for name in archive.namelist()}
    assert {"report.html", "summary.md", "main.csv", "intervals.svg", "learning-lambdamart.svg"} <= names
