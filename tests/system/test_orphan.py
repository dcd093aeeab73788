"""A job of a killed run that ends after the next run has finished changes no file."""

import time
from collections.abc import Callable

import psutil

from project import ROOT, Project, differing

TARGET = "results/synthetic_net/provenance.json"
SLOW = """

def _wait_for_release() -> None:
    if Path("hold").exists():
        Path(f"started-{os.getpid()}").touch()
        while not Path("release").exists():
            time.sleep(0.05)
"""


def add_slow_model(project: Project) -> None:
    """Write models/slow.py: `single_feature`, whose training waits for the file `release` if there is a file `hold`."""
    text = (ROOT / "src/gradrank/models/single_feature.py").read_text()
    text = text.replace("from pathlib", "import os\nimport time\nfrom pathlib", 1)
    text = text.replace('@register("single_feature")', '@register("slow")')
    text = text.replace("        models = (cls(", "        _wait_for_release()\n        models = (cls(", 1)
    (project.root / "models").mkdir()
    (project.root / "models/slow.py").write_text(text + SLOW)
    project.params(run={"datasets": ["synthetic_net"], "models": ["slow"]})


def wait_for(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def test_a_job_that_outlives_the_next_run_changes_nothing(project):
    add_slow_model(project)
    root = project.root
    (root / "hold").touch()
    killed = project.start("--cores", "2", TARGET)
    try:
        wait_for(lambda: list(root.glob("started-*")))
        killed.kill()  # Snakemake alone
        killed.wait()
        (root / "hold").unlink()
        project.snakemake("--unlock")
        project.snakemake("--cores", "2", TARGET)
        before = project.files()
        orphans = [psutil.Process(int(path.name.partition("-")[2])) for path in root.glob("started-*")]
        assert orphans and all(orphan.is_running() for orphan in orphans)
    finally:
        (root / "release").touch()
    _, alive = psutil.wait_procs(orphans, timeout=120)
    assert not alive
    assert differing(before, project.files()) == []
    assert list((root / "results").rglob("*.partial")) == []
    project.gradrank("verify")
