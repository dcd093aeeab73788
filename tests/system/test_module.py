"""The workflow as a module of another one, as docs/changes.md shows it and as `snakedeploy` deploys it."""

import re
import shutil

import yaml

from project import ROOT, Project, trained

PAGE = (ROOT / "docs/changes.md").read_text(encoding="utf-8")
OTHER = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_rules_run_under_other_names_in_another_workflow(project):
    (project.root / "Snakefile").write_text(OTHER)
    project.params(run={"datasets": ["synthetic_net"], "models": ["single_feature"]})
    project.snakemake("--cores", "2")
    assert "single_feature" in (project.root / "paper/table.md").read_text()
    assert project.plan() == {}
    plan = project.plan("ltr_synthetic_poly")
    folder = "results/synthetic_poly/methods/single_feature"
    assert {f"{folder}/fold{fold}/spec.json" for fold in range(1, 6)} <= plan.keys()
    assert {rule for rule in plan.values() if not rule.startswith("ltr_")} == set()
    assert not [path for path in plan if "synthetic_net" in path] and trained(plan) == set()


def test_the_workflow_that_snakedeploy_deploys_plans_the_run(tmp_path):
    """Write the folder config/ and workflow/Snakefile as snakedeploy does, and follow config/README.md."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/Snakefile").write_text(
        'configfile: "config/config.yaml"\n\n'
        f"module gradrank:\n    snakefile: {str(ROOT / 'workflow/Snakefile')!r}\n    config: config\n\n"
        "use rule * from gradrank\n"
    )
    settings = yaml.safe_load((tmp_path / "config/config.yaml").read_text())
    plan = Project(tmp_path).plan()
    expected = {f"synthetic_net/{model}/fold{fold}" for model in settings["run"]["models"] for fold in range(1, 6)}
    assert trained(plan) == expected and "results/report.html" in plan


def test_the_catalogue_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    deployment = usage["software-stack-deployment"]
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert deployment["conda"] == ("conda:" in rules) and usage["report"] == ("report(" in rules)
    assert deployment["apptainer"] == ("container:" in (ROOT / "workflow/Snakefile").read_text())
    assert (ROOT / "config/README.md").is_file() and (ROOT / "workflow/Snakefile").is_file()
    assert (ROOT / "config/config.yaml").read_text() == (ROOT / "params.yaml").read_text()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
