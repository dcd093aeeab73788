"""Explanations of the best methods, which params.yaml switches on: nothing is trained again for them."""

import shutil
import subprocess

from gradrank.base.stamps import read_sealed
from project import MINE, NET, ROOT, SMALL_RUN, differing

REPORT = "results/report.html"
FILES = sorted(f"{folder}/explanations.json" for folder in (NET, MINE))


def test_explanations_are_added_to_finished_results_and_shown_in_the_report(finished, rerun):
    assert not any((rerun.root / name).exists() for name in FILES)
    rerun.params(run={"explanations": True})
    plan = rerun.plan(REPORT)
    assert {path for path, rule in plan.items() if rule == "explanations"} == {*FILES}
    assert {*plan.values()} == {"explanations", "report"}
    rerun.snakemake("--cores", "2", REPORT)
    assert differing(finished.files(), rerun.files()) == FILES, "no result and no record changed"
    assert rerun.plan(REPORT) == {}
    rerun.gradrank("verify")
    html = (rerun.root / REPORT).read_text()
    for folder in (NET, MINE):
        found = read_sealed(rerun.root / folder / "explanations.json")
        assert {method["model"] for method in found["methods"]} <= {*SMALL_RUN["run"]["models"]}
        assert len(found["opponents"]) == 2
        assert f'id="explanations-{found["dataset"]}"' in html

    first = {name: (rerun.root / name).read_bytes() for name in FILES}
    for name in FILES:
        (rerun.root / name).unlink()
    rerun.snakemake("--cores", "1", *FILES, REPORT)
    assert {name: (rerun.root / name).read_bytes() for name in FILES} == first

    rerun.params(run={"explanations": False})
    assert "explanations" not in rerun.plan(REPORT).values()
    shutil.copy(ROOT / ".gitignore", rerun.root)
    subprocess.run(["git", "init", "--quiet"], cwd=rerun.root, check=True)
    ignored = subprocess.run(["git", "check-ignore", *FILES], cwd=rerun.root, capture_output=True, text=True)
    assert sorted(ignored.stdout.split()) == FILES
