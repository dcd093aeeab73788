"""Time and peak memory of every stage on a generated collection of MSLR-WEB30K's size: 3.77 million rows.

    python benchmarks/scale.py [--shares 16] [--rounds 20]

`--shares 16 4 1` measures 1/16, 1/4 and all of it. The text has the official five-fold layout, with every row in three
training files, one validation and one test file: 20 GB at full size, and 40 GB while fetch copies it. All files are in
a temporary folder (in TMPDIR), which is printed at the start and removed at the end. Each stage is a command of the
workflow in its own process; its peak memory is the one that the operating system reports. Wall-clock seconds go to
standard error, CPU seconds to the table: almost every stage uses one thread, and CPU seconds depend less on the load of
the machine. Training is shortened to the rounds or epochs in the table, because its memory does not depend on them.

Exits with status 1 if a stage took more than 8 GB.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LIMIT = 8e9  # bytes per stage
QUERIES, FEATURES = 31_531, 136  # MSLR-WEB30K: 3,771,125 rows
FOLDS = range(1, 6)


class Cost(NamedTuple):
    """Wall-clock and CPU seconds of a stage, and its peak resident memory in bytes."""

    seconds: float
    processor: float
    peak: int


def run(*command: object) -> Cost:
    """Run a command in its own process and return its cost. Exits this program if the command fails."""
    started = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"exit status {process.returncode}: {process.args}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def stages(folder: Path, share: int, rounds: int) -> Iterator[tuple[str, Cost]]:
    """Yield the name and cost of each stage on 1/share of the collection. Text is removed once it is parsed."""
    mirror, raw, data = folder / "mirror", folder / "raw", folder / "scale"
    results = folder / "results" / "scale"
    gradrank = Path(sys.executable).with_name("gradrank")
    yield "generate", run(sys.executable, __file__, "--generate", mirror / "mslr_web30k", "--shares", share)
    yield "fetch, from a folder", run(gradrank, "fetch", "mslr_web30k", "--mirror", mirror, "--out", raw)
    shutil.rmtree(mirror)
    yield "parse", run(gradrank, "parse", raw, "--dataset", "scale", "--seed", 1, "--out", data)
    shutil.rmtree(raw)
    yield "pairs", run(gradrank, "pairs", "--data", data, "--out", folder / "pairs")

    def train(model: str, fold: int, **params) -> Cost:
        settings = ["--fold", fold, "--seed", 1, "--params", json.dumps(params)]
        out = results / "methods" / model / f"fold{fold}"
        return run(gradrank, "train", "--model", model, "--data", data, *settings, "--out", out)

    folds = [train("single_feature", fold) for fold in FOLDS]
    yield "train single_feature, the most expensive of five folds", Cost(*map(max, zip(*folds, strict=True)))
    yield "train ranknet_linear, one l2", train("ranknet_linear", 1, l2=[0.1])
    yield "train ranknet_two_layer, one epoch", train("ranknet_two_layer", 1, epochs=1)
    yield f"train lambdamart, {rounds} rounds", train("lambdamart", 1, rounds=rounds)
    settings = ["--model", "single_feature", "--seed", 1, "--params", json.dumps({"select_by": "map"})]
    settings += ["--metrics", "ndcg@10,mean_ndcg,map,p@10", "--conventions", "letor4,standard"]
    model = results / "methods/single_feature"
    yield ("evaluate five folds, two conventions", run(gradrank, "evaluate-folds", model, "--data", data, *settings))
    values = json.dumps(summary_settings(json.loads((model / "fold1/spec.json").read_text(encoding="utf-8"))))
    yield "summary", run(gradrank, "summary", results, "--data", data, "--settings", values)


def summary_settings(spec: dict) -> dict:
    """Return the settings for `gradrank summary` of one model. spec: the stamp of one of its folds."""
    from gradrank.bench.provenance.records import short_digest

    variant = {"model": spec["model"], "params": {}, "digest": short_digest(spec["params"])}
    evaluation = {"convention": "letor4", "baseline": "ranksvm"}
    return {"seed": spec["seed"], "models": {spec["model"]: variant}, "evaluation": evaluation}


def generate(folder: Path, queries: int) -> None:
    """Write Fold1 to Fold5 of a collection with the grades and the kinds of values of MSLR-WEB30K."""
    import numpy as np

    query_text = compiled()
    rng = np.random.default_rng(30)
    sizes = np.clip(rng.lognormal(4.54, 0.7, queries), 1, 1251).astype(np.int64)  # 120 documents on average
    buffer = np.empty(sizes.max() * FEATURES * 20, np.uint8)
    for part, members in enumerate(np.array_split(np.arange(queries), 5), start=1):
        test = folder / f"Fold{part % 5 + 1}" / "test.txt"
        test.parent.mkdir(parents=True)
        with test.open("wb") as stream:
            for query in members.tolist():
                stream.write(buffer[: query_text(buffer, query, sizes[query], FEATURES)])
    parts = {part: folder / f"Fold{part % 5 + 1}" / "test.txt" for part in FOLDS}
    for fold in FOLDS:
        train, vali = folder / f"Fold{fold}" / "train.txt", folder / f"Fold{fold}" / "vali.txt"
        for path, numbers in ((train, range(fold, fold + 3)), (vali, [fold + 3])):
            with path.open("wb") as stream:
                for number in numbers:
                    with parts[(number - 1) % 5 + 1].open("rb") as text:
                        shutil.copyfileobj(text, stream, 16 << 20)


def compiled():
    """Return a compiled function that writes the rows of a query as text and returns their number of bytes."""
    import numba
    import numpy as np

    @numba.njit
    def digits(buffer, at, value, least):
        """Write an integer >= 0 with at least `least` digits at position `at`; return the position after it."""
        count, rest = 1, value // 10
        while rest > 0 or count < least:
            count, rest = count + 1, rest // 10
        for place in range(count):
            buffer[at + count - 1 - place] = 48 + value % 10
            value //= 10
        return at + count

    @numba.njit
    def query_text(buffer, query, documents, features):
        np.random.seed(query)
        at = 0
        for _ in range(documents):
            relevance = np.random.normal()
            grade = 0
            for threshold in (0.037, 0.99, 1.94, 2.41):  # 51.5%, 32.5%, 13.4%, 1.8% and .8%, as in MSLR-WEB30K
                grade += relevance > threshold
            at = digits(buffer, at, grade, 1)
            for letter in b" qid:":
                buffer[at] = letter
                at += 1
            at = digits(buffer, at, query + 1, 1)
            for feature in range(features):
                buffer[at] = 32
                at = digits(buffer, at + 1, feature + 1, 1)
                buffer[at] = 58
                at += 1
                # Feature 1 is independent of relevance, the last one most correlated. Kinds: counts, flags, decimals.
                value = relevance * feature / features / 8 + np.random.normal()
                kind = feature % 5
                if kind < 2:
                    at = digits(buffer, at, int(np.exp((kind + 1) * value)), 1)
                elif kind == 2:
                    at = digits(buffer, at, int(value > 0), 1)
                else:
                    if value < 0:
                        buffer[at] = 45
                        at += 1
                    at = digits(buffer, at, int(abs(value)), 1)
                    buffer[at] = 46
                    at = digits(buffer, at + 1, int(abs(value) % 1.0 * 1e6), 6)
            buffer[at] = 10
            at += 1
        return at

    return query_text


def table(columns: dict[int, dict[str, Cost]]) -> str:
    """Return a Markdown table with a row per stage, and the CPU time and peak memory of each share."""
    shares = [f"1/{share}" if share > 1 else "full" for share in columns]
    titles = [f"{share}: {what}" for share in shares for what in ("CPU seconds", "peak GB")]
    lines = [f"| stage | {' | '.join(titles)} |", f"| :-- |{' --: |' * len(titles)}"]
    for name in next(iter(columns.values())):
        costs = [column[name] for column in columns.values()]
        cells = [f"{cost.processor:.0f} | {cost.peak / 1e9:.2f}" for cost in costs]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--shares", type=int, nargs="+", default=[16])
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--generate", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.generate:
        generate(options.generate, QUERIES // options.shares[0])
        return
    columns: dict[int, dict[str, Cost]] = {}
    for share in options.shares:
        columns[share] = {}
        with tempfile.TemporaryDirectory(prefix="gradrank-scale-") as name:
            print(f"1/{share} in {name}", file=sys.stderr)
            for stage, cost in stages(Path(name), share, options.rounds):
                columns[share][stage] = cost
                print(
                    f"{stage}: {cost.seconds:.1f} s, {cost.processor:.1f} CPU s, {cost.peak / 1e9:.2f} GB",
                    file=sys.stderr,
                    flush=True,
                )
    print(table(columns))
    if any(cost.peak > LIMIT for column in columns.values() for cost in column.values()):
        sys.exit(f"a stage took more than {LIMIT / 1e9:.0f} GB")


if __name__ == "__main__":
    main()
