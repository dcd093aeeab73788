"""`python tests/campaigns/failing_writes.py [NUMBER] [--seed S] [--run FOLDER]`: a file system that fails once.

Each trial runs one command on a copy of a finished run, with a library preloaded (failing.c, compiled here) that makes
its n-th write, rename, flush or new file in the project fail with ENOSPC or EIO: Polars, SQLite and LightGBM write by
themselves. Then every file must be the older one, the new one or absent, never a half one; the command must have said
what failed and where, without a traceback; and once more without a failure it must end as if there had been none.
"""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from small import DATASET, Campaign, Project, command, state, unlike

SOURCE = Path(__file__).with_name("failing.c")
CONTEST = {"datasets": [DATASET], "methods": ["regression"], "trials": 2, "tuners": 1, "seeds": 1}
DATA, PAIRS, RESULTS = f"data/parquet/{DATASET}", f"data/pairs/{DATASET}", f"results/{DATASET}"
MEASURES = ("--seed", "2005", "--conventions", "letor4,letor3,standard,lightgbm,ranklib")
REASON = re.compile(r"space|input/output|i/o", re.IGNORECASE)
NAMED = re.compile(r"gradrank: error: .*((data|results|mirror|.snakemake)/|mlflow.db)")
TIMED = ("results/tracked.json", "data/raw/mq2007/fetched.json", "results/tuned/seconds.parquet")
# What is removed first so that nobody takes for whole what is being replaced; the same command makes it again.
GOES_FIRST = ("spec.json", "collection.json", "pairs.json")


def commands(project: Project) -> dict[str, list[str]]:
    """Each command of the run, as the workflow calls it, and some that people call."""
    spec = json.loads((project.root / f"{RESULTS}/ranksvm/fold1/spec.json").read_text())
    given = ["--params", json.dumps(spec["params"])]
    fold = ["--data", DATA, "--fold", "1", "--seed", "2005"]
    record = json.loads((project.root / f"{RESULTS}/provenance.json").read_text())
    metrics = ["--metrics", ",".join(record["params"]["evaluation"]["metrics"])]
    reported = ["--per-query", "results/per_query.parquet", "--metrics", "results/metrics.json"]
    tracked = ["--models", "ranksvm,single_feature", "--studies", "{}", "--out", "results/tracked.json"]
    other = ["--queries", "10", "--documents", "5", "--seed", "1", "--out", "data/raw/other"]
    trees = ["--params", '{"rounds": 5}', *fold, "--out", "results/l/fold1"]
    ranked = ["--input", f"data/raw/{DATASET}/S1.txt", "--out", "results/s.txt"]
    main = f"{RESULTS}/ranksvm"
    scores = f"{main}/fold1/scores.parquet"
    return {
        "init": ["init", "results/made"],
        "generate": ["generate", "net", *other],
        "fetch": ["fetch", "mq2007", "--out", "data/raw/mq2007", "--mirror", "mirror"],
        "parse": ["parse", f"data/raw/{DATASET}", "--dataset", DATASET, "--seed", "2005", "--out", DATA],
        "parse anew": ["parse", f"data/raw/{DATASET}", "--seed", "1", "--out", "data/parquet/other"],
        "pairs": ["pairs", "--data", DATA, "--out", PAIRS],
        "train": ["train", "--model", "ranksvm", *given, *fold, "--pairs", PAIRS, "--out", f"{main}/fold1"],
        "train lambdamart": ["train", "--model", "lambdamart", *trees],
        "tune": ["tune", "--model", "regression", *fold, "--trials", "3", "--out", "results/tuned"],
        "evaluate-folds": ["evaluate-folds", main, "--model", "ranksvm", *given, "--data", DATA, *MEASURES, *metrics],
        "summary": ["summary", RESULTS, "--models", "ranksvm,single_feature", "--convention", "letor4", "--data", DATA],
        "provenance": ["provenance", DATASET, "--params", json.dumps(record["params"]), "--results", "results"],
        "snapshot": ["snapshot", f"{RESULTS}/provenance.json", "--means", "results/methods.csv"],
        "report": ["report", "--results", "results", "--out", "results/report.html", *reported],
        "track": ["track", "--results", "results", "--datasets", DATASET, *tracked],
        "import-scores": ["import-scores", f"{main}/fold{{fold}}/scores.parquet", *fold, "--out", "results/i/fold1"],
        "evaluate": ["evaluate", "--scores", scores, "--data", f"{DATA}/part1.parquet", "--out", "results/e.parquet"],
        "diff": ["diff", "results/snapshot", "results", "--html", "results/diff.html"],
        "restore": ["restore"],
        "predict": ["predict", "--model", f"{main}/fold1", *ranked],
        "export": ["export", main, "--data", DATA, "--out", "results/exported"],
    } | contest_commands(project)  # fmt: skip


def contest_commands(project: Project) -> dict[str, list[str]]:
    """What a contest's workflow calls from `tune` on, and a study's."""
    folder = "results/studies/contest"
    tuned = f"{folder}/tuning/{DATASET}/regression"
    record = json.loads((project.root / folder / "provenance.json").read_text())
    (method,) = CONTEST["methods"]
    told, seeds, own = ["--convention", "letor4"], ["--seeds", "1"], ["--contest", folder]
    settings = ["--settings", json.dumps(record["params"]["settings"])]
    targets = [
        "--settings",
        '{"draws": 1, "sizes": [20]}',
        "--out",
        "results/studies/pair_targets/jobs/targets.json",
    ]
    return {
        "select": ["select", f"{tuned}/fold1"],
        "freeze": ["freeze", "results/frozen/fold1", *(f"{tuned}/fold{fold}" for fold in range(1, 6))],
        "choices": ["choices", "--datasets", DATASET, "--methods", method, *own],
        "refit": ["refit", f"{tuned}/fold1", "--data", DATA, "--fold", "1", *seeds, "--seed", "2005", *own],
        "evaluate-refits": ["evaluate-refits", method, "--data", DATA, *seeds, *told, *own],
        "score-trials": ["score-trials", method, "--data", DATA, *told, *own],
        "study": ["study", "contest", *settings, "--data", "data/parquet", "--out", folder],
        "study-job": ["study-job", "pair_targets", "targets", "--data", "data/parquet", "--seed", "1", *targets],
        "study-provenance": ["study-provenance", "contest", "--params", json.dumps(record["params"])],
    }  # fmt: skip


def main() -> int:
    campaign = Campaign(__doc__, 100)
    library = campaign.folder / "failing.so"
    if shutil.which("cc") is None:
        print("no C compiler (cc) here: nothing tried")
        return 0
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = str(library)  # of the process that all commands are forked off
    finished = with_contest(campaign)
    known = commands(finished)
    tried = campaign.draw.sample(sorted(known), min(len(known), campaign.number))
    clean = {name: undisturbed(campaign, finished, name, known[name]) for name in tried}
    trials = [
        (name, number, error)
        for name, (calls, _) in clean.items()
        for number in range(1, calls + 1)
        for error in (errno.ENOSPC, errno.EIO)
    ]
    campaign.counts["that could fail"] = len(trials)
    campaign.draw.shuffle(trials)
    for name, number, error in trials[: campaign.number]:
        calls, expected = clean[name]
        copy = prepared(campaign, finished, name)
        before = state(copy)
        code, told, what = failing(campaign, copy, known[name], number, error)
        campaign.counts[name] += 1
        label = f"{name}: {errno.errorcode[error]} at {what} {number} of {calls}"
        judge(campaign, label, before, state(copy), expected, code, told)
        code, told = command(copy, *known[name])
        if code != 0 or (different := unlike(expected, state(copy, left_out))):
            campaign.fault(f"{label}: once more: exit {code}, {different if code == 0 else told[-500:]!r}")
    return campaign.end()


def with_contest(campaign: Campaign) -> Project:
    """The finished run and a small contest, in a checkout of their own: the run is not to be changed."""
    root = campaign.folder / "finished with a contest"
    shutil.copytree(campaign.finished().root, root, symlinks=True)
    project = Project(root)
    project.params(studies={"contest": CONTEST})
    project.snakemake("--cores", "2", "contest")
    return project


def prepared(campaign: Campaign, finished: Project, name: str) -> Project:
    """A copy of the run, with something to fetch, or to restore."""
    copy = campaign.copy(finished)
    if name == "restore":
        shutil.rmtree(copy.root / f"{RESULTS}/ranksvm")
    for number, fold in ((f, f"Fold{f}") for f in range(1, 6)):
        for split in ("train", "vali", "test"):
            path = copy.root / f"mirror/mq2007/{fold}/{split}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"1 qid:{number} 1:0.5\n0 qid:{number} 1:0.25\n")
    return copy


def left_out(place: str) -> bool:
    """What holds the numbers of MLflow's runs, or times; and trials that the next call goes on from."""
    return place in TIMED or ".unfinished." in place


def undisturbed(
    campaign: Campaign, finished: Project, name: str, arguments: list[str]
) -> tuple[int, dict[str, bytes]]:
    """How many calls the command makes that could fail, and what it leaves."""
    copy = prepared(campaign, finished, name)
    code, told, _ = failing(campaign, copy, arguments, 10**9, errno.EIO)
    assert code == 0, told
    return (campaign.folder / "count").stat().st_size, state(copy, left_out)


def failing(
    campaign: Campaign, copy: Project, arguments: list[str], number: int, error: int
) -> tuple[int, str, str]:
    """Run a command whose call of that number fails; what kind of call it was."""
    count, what = campaign.folder / "count", campaign.folder / "count.what"
    count.write_bytes(b"")
    what.unlink(missing_ok=True)
    settings = {"IN": copy.root, "COUNT": count, "AT": number, "WITH": error}
    named = {f"GRADRANK_FAIL_{key}": str(value) for key, value in settings.items()}
    code, told = command(copy, *arguments, PYTHONDONTWRITEBYTECODE="1", **named)
    return code, told, what.read_text() if what.exists() else "nothing"


def judge(
    campaign: Campaign,
    label: str,
    before: dict[str, bytes],
    after: dict[str, bytes],
    expected: dict[str, bytes],
    code: int,
    told: str,
) -> None:
    for path, content in after.items():
        if path.rpartition("/")[2].startswith(".") and path not in expected:
            campaign.fault(f"{label}: left over: {path}")
        elif not left_out(path) and content not in (before.get(path), expected.get(path)):
            campaign.fault(f"{label}: half a file: {path}")
    described = any(path in before and path not in after and path.endswith(GOES_FIRST) for path in before)
    if lost := [
        path for path in before if path not in after and not path.endswith(GOES_FIRST) and not described
    ]:
        campaign.fault(f"{label}: lost: {', '.join(lost[:5])}")
    if "Traceback" in told or code >= 128:
        campaign.fault(f"{label}: exit {code}: {told[-900:]!r}")
    elif code == 0 and (missing := [path for path in expected if after.get(path) != expected[path]]):
        campaign.fault(f"{label}: exit 0 without {', '.join(missing[:5])}")
    elif code != 0 and "gradrank: error: " not in told:
        campaign.fault(f"{label}: no message: {told[-300:]!r}")
    elif code != 0 and not REASON.search(told):
        campaign.fault(f"{label}: not what failed: {told[-300:]!r}")
    elif code != 0 and not NAMED.search(told):
        campaign.fault(f"{label}: no file is named: {told[-300:]!r}")
    campaign.counts["succeeded" if code == 0 else "a message"] += 1


if __name__ == "__main__":
    sys.exit(main())
