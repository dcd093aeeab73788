"""`python tests/campaigns/together.py [NUMBER] [--seed S] [--run FOLDER]`: runs at the same time, sharing things.

Two checkouts start at moments apart that are drawn: with one MLflow store, one compiled cache and one folder of data,
linked into both; or two calls in one checkout. Both must end in the bytes of a run by itself, or the second call be
told that another is alive and succeed afterwards; the store must hold the runs of both.
"""

import shutil
import subprocess
import sys
import time

from small import Campaign, Project, command, state, unlike

RUNS = "import mlflow; print(len(mlflow.search_runs(search_all_experiments=True)))"


def main() -> int:
    campaign = Campaign(__doc__, 4)
    finished = campaign.finished()
    expected = state(finished, left_out)
    kinds = campaign.draw.sample((two_checkouts, one_checkout), 2)
    for trial in range(campaign.number):
        kind = kinds[trial % 2]
        kind(campaign, finished, expected)
        campaign.counts[kind.__name__.replace("_", " ")] += 1
    return campaign.end()


def left_out(place: str) -> bool:
    """What says when it was made; the data, which are links here."""
    return place.startswith(("results/report", "results/tracked.json", "data/"))


def without_results(campaign: Campaign, finished: Project, name: str) -> Project:
    """The checkout with its data, and nothing trained."""
    root = campaign.folder / name
    shutil.rmtree(root, ignore_errors=True)
    left = shutil.ignore_patterns("results", "mlflow.db*", "mlartifacts", "logs")
    shutil.copytree(finished.root, root, ignore=left)
    return Project(root)


def start(project: Project) -> subprocess.Popen:
    return project.start("--cores", "1", stdout=subprocess.PIPE)


def two_checkouts(campaign: Campaign, finished: Project, expected: dict[str, bytes]) -> None:
    shared = campaign.folder / "shared"
    shutil.rmtree(shared, ignore_errors=True)
    shutil.copytree(finished.root / "data", shared / "data")
    store = f"sqlite:///{shared}/mlflow.db"
    pair = [without_results(campaign, finished, name) for name in ("one", "other")]
    for project in pair:
        shutil.rmtree(project.root / "data")
        (project.root / "data").symlink_to(shared / "data")
        project.environment |= {"MLFLOW_TRACKING_URI": store, "NUMBA_CACHE_DIR": str(shared / "code")}
    first = start(pair[0])
    time.sleep(campaign.draw.uniform(0, 10))
    runs = [first, start(pair[1])]
    for project, run in zip(pair, runs, strict=True):
        told, _ = run.communicate()
        if run.returncode != 0 or "Traceback" in told:
            campaign.fault(f"beside another: exit {run.returncode}: {told[-800:]!r}")
        elif different := unlike(
            {k: v for k, v in expected.items() if not left_out(k)}, state(project, left_out)
        ):
            campaign.fault(f"beside another: other bytes: {', '.join(different[:5])}")
    environment = pair[0].env()
    counted = subprocess.run([sys.executable, "-c", RUNS], env=environment, text=True, capture_output=True)
    campaign.counts["runs in the shared store"] += int(counted.stdout or 0)
    if not int(counted.stdout or 0):
        campaign.fault(f"the shared store: {counted.stderr[-300:]!r}")


def one_checkout(campaign: Campaign, finished: Project, expected: dict[str, bytes]) -> None:
    project = without_results(campaign, finished, "alone")
    first = start(project)
    time.sleep(campaign.draw.uniform(2, 12))
    code, told = command(project, "snakemake", "--cores", "1")
    if code != 0 and "Another run is alive" not in told:
        campaign.fault(f"second call: exit {code}: {told[-500:]!r}")
    first_told, _ = first.communicate()
    if first.returncode != 0:
        campaign.fault(f"first call beside a second: {first_told[-500:]!r}")
    code, told = command(project, "snakemake", "--cores", "1")
    if code != 0 or (different := unlike(expected, state(project, left_out))):
        campaign.fault(f"afterwards: exit {code}: {told[-300:] if code else different[:5]!r}")


if __name__ == "__main__":
    sys.exit(main())
