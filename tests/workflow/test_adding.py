"""Adding a thing is one edit: each is added to a copy of the project, run, and found in the report."""

import shutil

import yaml

METRIC = '''

@metric("misses@{k}", label="Misses@{k}")
def misses_at(r: Ranking, k: int) -> np.ndarray:
    """The irrelevant documents among the first k."""
    return np.minimum(k, r.sizes) - r.at(r.hits, k)
'''
CONVENTION = """        Convention("mine", "A query without relevant documents scores .5.", empty=0.5),
"""
DATA_SET = {
    "mine": {
        "title": "A collection of mine",
        "about": "Artificial.",
        "citation": "None.",
        "licence": "CC0",
        "archives": [{"name": "mine.zip"}],
    }
}
STUDY = '''"""Squares of numbers."""

from gradrank.pipeline.studies import StudySettings

TITLE, PUBLICATION = "Squares of mine", "Nobody: Nothing."


class Settings(StudySettings):
    numbers: tuple[int, ...]


def jobs(settings):
    return {f"of-{each}": {"number": each} for each in settings.numbers}
'''
EXPERIMENTS = '''"""A job of its own."""


def run_job(told, data, seed):
    return {"square": told["number"] ** 2, "seed": seed}
'''
PAGE = '''"""The page."""

from gradrank.studies.kit.study import Section


def build(inputs):
    squares = [job["square"] for job in inputs.jobs()]
    return [Section("squares", "Squares", [f"Found {squares}."])]
'''


def retrained(jobs):
    return {model for rule, _, model in jobs if rule == "train"}


def shown(project):
    return (project.root / "results/report.html").read_text()


def test_a_model_is_one_file(rerun):
    models = rerun.root / "src/gradrank/models"
    (models / "mine.py").write_text(
        (models / "single_feature.py").read_text().replace('"single_feature"', '"mine"')
    )
    rerun.params(run={"models": ["lambdamart", "mine", "ranknet_linear", "single_feature"]})
    assert retrained(rerun.planned()) == {"mine"}
    rerun.snakemake("--cores", "2", "synthetic_net")
    assert ">mine<" in shown(rerun)


def test_a_metric_and_a_convention_are_a_definition_each(rerun):
    metrics = rerun.root / "src/gradrank/evaluation/metrics.py"
    metrics.write_text(metrics.read_text() + METRIC)
    conventions = rerun.root / "src/gradrank/evaluation/conventions.py"
    before, end, after = conventions.read_text().rpartition("    )\n}\n")
    conventions.write_text(before + CONVENTION + end + after)
    rerun.params(evaluation={"metrics": ["ndcg@10", "map", "misses@3"], "conventions": ["letor4", "mine"]})
    assert not retrained(rerun.planned())
    rerun.snakemake("--cores", "2", "synthetic_net")
    assert "Misses@3" in shown(rerun) and "A query without relevant documents scores .5." in shown(rerun)


def test_a_data_set_is_one_entry_of_the_catalogue(rerun, tmp_path, monkeypatch):
    catalogue = rerun.root / "src/gradrank/data/catalogue.yaml"
    catalogue.write_text(f"{catalogue.read_text()}\n{yaml.safe_dump(DATA_SET)}")
    shutil.copytree(rerun.root / "data/raw/synthetic_net", tmp_path / "mirror/mine")
    monkeypatch.setenv("GRADRANK_MIRROR", str(tmp_path / "mirror"))
    rerun.params(run={"models": ["single_feature"]})
    rerun.snakemake("--cores", "2", "mine")
    assert "A collection of mine" in shown(rerun)


def test_a_study_with_jobs_and_settings_of_its_own_is_one_folder(rerun):
    folder = rerun.root / "src/gradrank/studies/mine"
    folder.mkdir()
    for name, text in (("__init__", STUDY), ("experiments", EXPERIMENTS), ("page", PAGE)):
        (folder / f"{name}.py").write_text(text)
    rerun.params(studies={"mine": {"numbers": "x"}})
    assert "studies.mine.numbers: Input should be a valid" in rerun.snakemake("--dry-run", ok=False)
    rerun.params(studies={"mine": {"numbers": [3, 5]}})
    assert rerun.planned("mine")["study_job", None, None] == 2
    rerun.snakemake("--cores", "2", "mine")
    assert "Found [9, 25]." in (rerun.root / "results/studies/mine/page.md").read_text()
    assert 'id="study-mine"' in shown(rerun) and "Squares of mine" in shown(rerun)

    (folder / "page.py").write_text(PAGE + "EDITED = 1\n")
    rerun.params(studies={"mine": {"numbers": [3, 5, 7]}})
    jobs = rerun.planned("mine")
    assert jobs["study_job", None, None] == jobs["study", None, None] == 1
