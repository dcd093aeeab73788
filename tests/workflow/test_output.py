"""What a run prints: a line a job, failures last and whole, then the results; everything else is in the log file."""

import re
from pathlib import Path


def test_a_line_a_job_then_the_results_and_failures_last(project):
    project.params(run={"datasets": ["synthetic_net"], "models": ["single_feature"]})
    output = project.snakemake("--cores", "2")
    jobs = int(re.search(r"^(\d+) jobs: .*\b5 train\b", output, re.MULTILINE)[1])
    lines = re.findall(rf"^\[(\d+)/{jobs}\] ", output, re.MULTILINE)
    assert list(map(int, lines)) == list(range(1, jobs + 1))
    assert len(output.splitlines()) < jobs + 20
    closing = output[output.rindex(f"[{jobs}/{jobs}]") :]
    assert re.search(
        r"synthetic_net: NDCG@10 under letor4.*\n  single_feature  0\.\d{4} ± 0\.\d{4}\n", closing
    )
    assert f"The report: {project.root}/results/report.html" in closing
    log = re.search(r"^Everything else: (.*)$", closing, re.MULTILINE)[1]
    whole = Path(log).read_text()
    assert "rule train:" in whole and "reason: " in whole and "The report: " in whole

    model = project.root / "src/gradrank/models/single_feature.py"
    broken = r"\1        raise ValueError(f'broken {seed}')\n"
    text, found = re.subn(r"(def fit\(.*?:\n)", broken, model.read_text(), flags=re.DOTALL)
    assert found == 1
    model.write_text(text)
    output = project.snakemake("--cores", "2", ok=False)
    before, after = output.split("\n5 failed:\n")
    assert before.count("FAILED train: dataset=synthetic_net, model=single_feature, fold=") == 5
    assert "ValueError" not in before and "CalledProcessError" not in before
    for fold in range(1, 6):
        assert f"Logfile logs/train/synthetic_net/single_feature/fold{fold}.log:" in after
    assert len(set(re.findall(r"ValueError: broken \d+", after))) == 5
    assert "0 of" in after and "the same command goes on" in after and "The report: " not in after
