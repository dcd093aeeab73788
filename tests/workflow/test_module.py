"""The workflow as a module of another one, its rules under a prefix, as docs/changes.md shows it."""

import re

from project import ROOT, trained

PAGE = (ROOT / "docs/changes.md").read_text(encoding="utf-8")
OTHER = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_rules_run_under_other_names_in_another_workflow(project):
    (project.root / "Snakefile").write_text(OTHER)
    project.params(run={"datasets": ["synthetic_net"], "models": ["single_feature"]})
    project.snakemake("--cores", "2")
    assert "single_feature" in (project.root / "paper/table.md").read_text()
    assert project.plan() == {}
    plan = project.plan("ltr_synthetic_poly")
    assert {f"results/synthetic_poly/single_feature/fold{fold}/spec.json" for fold in range(1, 6)} <= plan.keys()
    assert {rule for rule in plan.values() if not rule.startswith("ltr_")} == set()
    assert not [path for path in plan if "synthetic_net" in path] and trained(plan) == set()
