"""`python tests/campaigns/callees.py [NUMBER] [--seed S]`: edit what compiled code calls in other files, one at a time.

Every compiled function that a compiled function of another file calls is made to raise, in a copy of the package that
has run once: its caller must then have another result, and with the source put back its first one. Whoever trains or
measures with it is known to depend on its file.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from small import ROOT, Campaign

sys.path[:0] = [str(ROOT / "tests/unit")]

from gradrank.compiled_cache import PACKAGE  # noqa: E402
from gradrank.pipeline.code_closure import sources  # noqa: E402
from test_compiled import calls_across_files  # noqa: E402

CACHED = "from gradrank.compiled_cache import use_cache_folder; use_cache_folder()\n"
LETOR = r"""
import gradrank, pathlib, tempfile
folder = pathlib.Path(tempfile.mkdtemp())
texts = {
    "dense": "2 qid:10 1:0.031310 2:NULL #docid = A-1 inc = 0.5 prob = .25\n"
             "0\tqid:10 1:-3 2:0.1234567890123456789e-7\r\n\n"
             "1 qid:11 1:1.00000005960464477539062501 2:1e3#docid = B\n# a comment\n"
             "0 qid:11 1:7 2:0.000001 # free words\n",
    "sparse": "1 qid:1 1:.5 7:2 \n0 qid:1 3:1\n0 qid:2 2:16777217.0000001 \n1 qid:2 1:3\n",
    "named": "1 qid:WT01 1:1 2:2\n0 qid:WT01 1:0 2:1\n0 qid:GX-b 1:0 2:1\n",
}
for name, text in texts.items():
    (folder / name).write_text(text, newline="")
    print(gradrank.scan_letor(folder / name).collect().write_csv(float_precision=30))
"""
GRADES = "import numpy as np\nscores, labels = np.array([3.0, 1.0, 2.0]), np.array([0, 2, 1], np.int32)\n"
PROGRAMS = {  # what runs the callers of a module
    "gradrank.data.scan": LETOR,
    "gradrank.data.usual_form": LETOR,
    "gradrank.learning.arsm_gradient": f"{GRADES}from gradrank.learning.arsm_gradient import arsm_gradient\n"
    "from gradrank.learning.level_measure import measure_of\n"
    "offsets, rng = np.array([0, 3]), np.random.default_rng(1)\n"
    "print(*arsm_gradient(rng.normal(size=(3, 4)), rng.exponential(size=(3, 4)), offsets, \n"
    "    measure_of('ndcg@10', labels, offsets)))",
    "gradrank.learning.fusing": f"{GRADES}from gradrank.learning.fusing import reciprocal_rank\n"
    "print(reciprocal_rank(scores, np.array([0, 3]), 0.0))",
    "gradrank.learning.losses.lambdarank": f"{GRADES}from gradrank.learning.losses.lambdarank import lambdarank\n"
    "print(lambdarank(scores, labels, np.array([0, 3])))",
    "gradrank.evaluation.agreement": f"{GRADES}from gradrank.evaluation.agreement import spearman_rho\n"
    "print(spearman_rho(scores, scores**2 - labels, np.array([0, 3])))",
    "gradrank.learning.gains": f"{GRADES}from gradrank.learning.gains import ideal_shares\n"
    "print(ideal_shares(labels, np.array([0, 3]), 10))",
    "gradrank.learning.nystroem": f"{GRADES}from gradrank.learning.nystroem import contracted\n"
    "print(contracted(np.ones((3, 2), np.float32), scores))",
    "gradrank.learning.ranksvm.objective": f"{GRADES}from gradrank.data.collection import Collection\n"
    "from gradrank.learning.ranksvm.objective import group_by_grade, sort_groups\n"
    "features = np.zeros((3, 1), np.float32)\n"
    "data = Collection(features, labels, np.array([0, 3]), np.array([1]))\n"
    "print(sort_groups(group_by_grade(data, 'pair'), scores))",
    "gradrank.learning.descent": f"{GRADES}from gradrank.learning.descent import Listed, descend\n"
    "output, one = np.zeros(2), np.ones(1)\n"
    "pairs = Listed(np.array([0, 1]), np.array([1]), np.array([0]), one, one)\n"
    "for by_ndcg, own in ((True, None), (False, None), (False, pairs)):\n"
    "    descend(np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]), labels, np.arange(3), np.array([0, 3]), \n"
    "        np.arange(1), np.zeros((2, 0)), np.zeros(0), output, 0.1, 1.0, False, by_ndcg, own)\n"
    "print(output)",
}
LOSSES = "gradrank.learning.losses."
LOSS = (
    f"{GRADES}from gradrank.learning.by_name import find_loss\n"
    "print(*find_loss({name!r})(scores, labels, np.array([0, 3]), rng=np.random.default_rng(1)))"
)


def main() -> int:
    campaign = Campaign(__doc__, 10**6)
    package = Path(
        shutil.copytree(PACKAGE, campaign.folder / "gradrank", ignore=shutil.ignore_patterns("__pycache__"))
    )
    calls = sorted({(caller, module, name) for (caller, _), (module, name) in calls_across_files()})
    for caller in sorted({caller for caller, _, _ in calls} - PROGRAMS.keys()):
        if not caller.startswith(LOSSES):
            campaign.fault(f"{caller}: no program here runs it")
    campaign.draw.shuffle(calls)
    for caller, module, name in calls[: campaign.number]:
        campaign.counts["callees"] += 1
        edited(campaign, package, caller, module, name)
    return campaign.end()


def edited(campaign: Campaign, package: Path, caller: str, module: str, name: str) -> None:
    cache, label = campaign.folder / "cache", f"{module}.{name}, called in {caller}"
    path = package.joinpath(*module.split(".")[1:]).with_suffix(".py")
    source = path.read_text()
    before = result(package, caller, cache)
    path.write_text(raising(source, name))
    try:
        after = result(package, caller, cache)
    finally:
        path.write_text(source)
    if before[0] != 0 or after == before:
        campaign.fault(f"{label}: {before} and, edited, {after}")
    if result(package, caller, cache) != before:
        campaign.fault(f"{label}: put back, its result is another")
    files = {Path(each).name for each in sources(caller)}
    if path.name not in files:
        campaign.fault(f"{label}: the digest of {caller} does not cover {path.name}")


def raising(source: str, name: str) -> str:
    """The source, with a function whose first statement raises."""
    tree = ast.parse(source)
    (function,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    first = next(node for node in function.body if not isinstance(node, ast.Expr))
    lines = source.splitlines(keepends=True)
    lines.insert(first.lineno - 1, " " * first.col_offset + 'raise ValueError("edited")\n')
    return "".join(lines)


def result(package: Path, caller: str, cache: Path) -> tuple[int, str]:
    changed = {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
    }
    program = PROGRAMS.get(caller) or LOSS.format(name=caller.removeprefix(LOSSES))
    command = [sys.executable, "-c", CACHED + program]
    done = subprocess.run(command, env=os.environ | changed, text=True, capture_output=True)
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
