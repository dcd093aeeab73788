"""Damage to every kind of file of the finished small run."""

import os
import shutil
import subprocess
from pathlib import Path

from gradrank.base.files import host_name
from project import MINE, NET, STUDY

DATA = "data/parquet/synthetic_net"
FOLD = f"{NET}/methods/lambdamart/fold2"
# Paths that verify must name: stamps, and files in the folders of other stamps.
DAMAGED = (
    f"{DATA}/collection.json",
    "data/pairs/synthetic_net/pairs.json",
    f"{NET}/methods/lambdamart/fold4/spec.json",
    f"{NET}/methods/ranknet_linear/evaluation.json",
    f"{NET}/provenance.json",
    f"{STUDY}/jobs/net-1.json",
    "data/raw/synthetic_net/S3.txt",
    "data/parquet/mine/part1.parquet",
    "data/pairs/mine/part1.parquet",
    f"{FOLD}/scores.parquet",
    f"{FOLD}/history.parquet",
    f"{FOLD}/model/trees0.txt",
    f"{NET}/methods/single_feature/per_query.parquet",
    f"{MINE}/summary.json",
    f"{MINE}/queries.parquet",
    f"{MINE}/tables/main.csv",
    f"{STUDY}/numbers.json",
    "results/methods.csv",
    "results/per_query.parquet",
)
# Replaced by another file with an older time, as by `cp -p`.
OLDER = {
    "data/parquet/mine/part3.parquet": "data/parquet/mine/part2.parquet",
    "data/pairs/mine/part3.parquet": "data/pairs/mine/part2.parquet",
    f"{MINE}/methods/single_feature/fold1/scores.parquet": f"{MINE}/methods/ranknet_linear/fold1/scores.parquet",
}
MISSING = f"{NET}/methods/ranknet_linear/fold3/model/net.safetensors"
# Every kind of output that Snakemake makes again after it was deleted.
DELETED = (
    "data/pairs/mine/pairs.json",
    f"{MINE}/methods/lambdamart/fold1/spec.json",
    f"{MINE}/methods/ranknet_linear/fold1/history.parquet",
    f"{MINE}/methods/single_feature/fold1/model",
    f"{MINE}/methods/lambdamart/per_query.parquet",
    f"{MINE}/methods/ranknet_linear/evaluation.json",
    f"{NET}/summary.json",
    f"{NET}/queries.parquet",
    f"{NET}/tables",
    f"{STUDY}/page.json",
    f"{STUDY}/provenance.json",
    "results/run.json",
    "results/report.html",
)


def damage(path: Path) -> None:
    """Flip one bit; cut JSON, in which a flipped bit may be another valid value, and values per query."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    cut = path.suffix == ".json" or path.name == "per_query.parquet"
    path.write_bytes(content[: len(content) // 2] if cut else content)


def damage_every_kind(root: Path) -> list[str]:
    """Damage files of a finished small run; return the paths that `gradrank verify` must name.

    A file of a killed job is added, too.
    """
    for place, other in OLDER.items():
        modified = (root / place).stat().st_mtime - 1000
        assert (root / place).read_bytes() != (root / other).read_bytes()
        shutil.copy(root / other, root / place)
        os.utime(root / place, (modified, modified))
    for place in DAMAGED:
        damage(root / place)
    (root / MISSING).unlink()
    ended = subprocess.Popen(["true"])
    ended.wait()
    (root / f"{NET}/.summary.json.{host_name()}.{ended.pid}-1.partial").touch()
    return [*DAMAGED, *OLDER, MISSING]
