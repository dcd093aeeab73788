"""The workflow as a module of another one, its rules under a prefix, as docs/changes.md has it."""

import re

from conftest import ROOT

OTHER = re.search(r"```python\n(.*?)```", (ROOT / "docs/changes.md").read_text(encoding="utf-8"), re.DOTALL)[
    1
]


def test_rules_have_other_names_in_another_workflow(project):
    (project.root / "Snakefile").write_text(OTHER)
    project.params(run={"datasets": ["synthetic_net"], "models": ["single_feature"]})
    output = project.snakemake("--cores", "2")
    for rule, count in {"ltr_parse": 1, "ltr_train": 5, "paper": 1}.items():
        assert re.search(rf"^{rule} +{count}$", output, re.MULTILINE)
    assert f"{project.root}/results/report.html" in output
    assert "single_feature" in (project.root / "paper/table.md").read_text()
    assert "Nothing to be done" in project.snakemake("--cores", "2")

    jobs = project.planned("ltr_synthetic_poly")
    assert jobs["ltr_train", "synthetic_poly", "single_feature"] == 5
    assert not any(dataset == "synthetic_net" for _, dataset, _ in jobs)
    assert "ltr_mq2006" in project.snakemake("--dry-run", "ltr_mq2006", ok=False)


def test_a_prefix_of_paths_is_refused(project):
    for line in ('prefix: "ltr"', 'replace_prefix: {"results/": "ltr/"}'):
        (project.root / "Snakefile").write_text(OTHER.replace("    config:\n", f"    {line}\n    config:\n"))
        assert "prefix" in project.snakemake("--dry-run", ok=False)
