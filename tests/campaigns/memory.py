"""`python tests/campaigns/memory.py [NUMBER] [--seed S]`: commands under a limit of memory, on data of growing size.

A collection of drawn width and length is stored, of constant values, so that it takes no room on the disk. `train`,
`pairs` and `parse` run under `ulimit -v` of 2 to 4 GB: they must end well, or with a message that says how
much is needed and how much there is; never killed, aborted or with a traceback.
"""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
from small import Campaign

from gradrank.files import sha256, write_json

GB = 10**9


def main() -> int:
    campaign = Campaign(__doc__, 20)
    for _ in range(campaign.number):
        rows = campaign.draw.choice((1_000, 10_000, 100_000, 1_000_000))
        width = campaign.draw.choice((10, 100, 1_000))
        while rows * width > 2 * 10**9:
            rows //= 10
        limit = campaign.draw.choice((2, 3, 4))
        data = stored(campaign.folder / f"data/{rows}x{width}", rows, width)
        out, parsed = campaign.folder / "out", ["--seed", "1", "--out"]
        name, arguments = campaign.draw.choice(
            (
                (
                    "train",
                    ["--model", "single_feature", "--data", data, "--seed", "1", "--out", out / "fold1"],
                ),
                (
                    "train",
                    ["--model", "ranknet_linear", "--data", data, "--seed", "1", "--out", out / "fold1"],
                ),
                ("pairs", ["--data", data, "--out", out / "pairs"]),
                (
                    "parse",
                    [text(campaign.folder / "text", min(rows, 20_000), width), *parsed, out / "parsed"],
                ),
            )
        )
        campaign.counts[name] += 1
        judge(
            campaign,
            f"{name} of {rows} rows, {width} features, {limit} GB",
            limit,
            [name, *map(str, arguments)],
        )
    return campaign.end()


def stored(folder: Path, rows: int, width: int) -> Path:
    """A collection of three parts of one content, of queries of 100 documents."""
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    frame = (
        pl.select(row=pl.int_range(rows))
        .lazy()
        .select(
            (pl.col("row") // 100).cast(pl.Int64).alias("qid"),
            (pl.col("row") % 3).cast(pl.Int16).alias("label"),
            *(((pl.col("row") % (k + 2)) / 7.0).cast(pl.Float32).alias(f"f{k}") for k in range(1, width + 1)),
        )
    )
    first = folder / "part1.parquet"
    frame.sink_parquet(first, compression="zstd")
    for part in (2, 3):
        shutil.copyfile(first, folder / f"part{part}.parquet")
    found = {"rows": rows, "queries": -(-rows // 100), "sha256": sha256(first)}
    parts = dict.fromkeys(("1", "2", "3"), found)
    meta = {"dataset": "large", "rows": 3 * rows, "features": width, "source_sha256": "0", "megabytes": 1}
    write_json(
        folder / "collection.json",
        meta | {"parts": parts, "folds": [{"train": [1], "vali": [2], "test": [3]}]},
    )
    return folder


def text(path: Path, rows: int, width: int) -> Path:
    line = " ".join(f"{k}:0.125" for k in range(1, width + 1))
    with path.open("w") as stream:
        for number in range(rows):
            stream.write(f"{number % 3} qid:{number // 100} {line}\n")
    return path


def judge(campaign: Campaign, label: str, limit: int, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gradrank", *arguments],
        text=True,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * GB, limit * GB)),
    )
    told = done.stdout + done.stderr
    campaign.counts["done" if done.returncode == 0 else "refused"] += 1
    if done.returncode != 0 and ("Traceback" in told or "gradrank: error: " not in told or " GB" not in told):
        campaign.fault(f"{label}: exit {done.returncode}: {told[-500:]!r}")


if __name__ == "__main__":
    sys.exit(main())
