"""Traps for hostile.py: names, archives, text and tables that nobody sane would give."""

import io
import random
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradrank  # noqa: F401  before numpy: it sets the instruction set

# isort: split
import numpy as np
import polars as pl

from gradrank.data.catalogue import Archive, Entry
from gradrank.data.fetch import fetch
from gradrank.data.parse import parse
from gradrank.evaluation.export import export_trec
from gradrank.evaluation.judgements import read_judgements
from gradrank.predict import predict

NAMES = (
    "../up", "../../../../tmp/up", "/tmp/up", "a/../../up", "..\\up", "C:\\up", "~/up", "Tiny/Norm/Fold1/train.txt",
    "con", "a\nb", "a\0b", "\u202egnp", "-rf", "$(touch up)", "`touch up`", ";touch up", "%2e%2e/up", "a" * 300, ".",
    "..", "", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "__proto__", "{dataset}",
    "{{7*7}}", "é\u0301", " ",
)  # fmt: skip
FILES = [f"Fold{fold}/{split}.txt" for fold in range(1, 6) for split in ("train", "vali", "test")]


def content(draw: random.Random) -> bytes:
    return b"".join(b"%d qid:%d 1:%f\n" % (draw.randrange(3), query, draw.random()) for query in (1, 1, 2, 2))


def archive(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """Members of hostile names and kinds among those of a data set; cut or with changed bytes in one of four."""
    kind = draw.choice(("tar.xz", "tar.gz", "tgz", "zip"))
    members: list[tuple[str, bytes, Any]] = [
        (f"Tiny/Norm/{name}", content(draw), tarfile.REGTYPE) for name in FILES
    ]
    for _ in range(draw.randrange(3)):
        special = draw.choice(
            (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
        )
        name = draw.choice(
            (*NAMES, *(f"Tiny/Norm/{each}" for each in NAMES), *(f"../{each}" for each in FILES))
        )
        members.insert(draw.randrange(len(members) + 1), (name, draw.choice((b"x", bytes(1 << 22))), special))
    shutil.rmtree(folder / "mirror", ignore_errors=True)
    (folder / "mirror").mkdir()
    path = folder / f"mirror/Tiny.{kind}"
    pack(path, members)
    if draw.random() < 0.25:
        packed = bytearray(path.read_bytes())
        packed[draw.randrange(len(packed))] ^= 1 << draw.randrange(8)
        path.write_bytes(packed[: draw.choice((len(packed), draw.randrange(len(packed))))])
    described = dict.fromkeys(("title", "about", "citation", "licence", "obtain", "homepage"), "x")
    entry = Entry(name="tiny", archives=(Archive(name=path.name),), root="Tiny/Norm", **described)

    def act() -> str | None:
        out = folder / "raw/tiny"
        shutil.rmtree(out.parent, ignore_errors=True)
        fetch(entry, out, str(folder / "mirror"))
        found = {each.relative_to(out).as_posix() for each in out.rglob("*") if each.is_file()}
        return None if found <= {*FILES, "fetched.json"} else f"other files: {sorted(found)}"

    return act


def pack(path: Path, members: list[tuple[str, bytes, Any]]) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, inside, kind in members:
                info = zipfile.ZipInfo(name.replace("\0", "") or "x")
                info.external_attr = (0o120777 if kind == tarfile.SYMTYPE else 0o100644) << 16
                bundle.writestr(info, inside)
        return
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as tar:
        for name, inside, kind in members:
            info = tarfile.TarInfo(name.replace("\0", "") or "x")
            info.type, info.linkname = kind, "../../../../etc/passwd"
            info.size = len(inside) if kind == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(inside))


def text(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """Text with strange query and document ids, or bytes at random: parsed, ranked, and written as a TREC run."""
    lines = []
    for query in range(8):
        name = draw.choice((str(query), draw.choice(NAMES).replace("\n", "").strip() or "q"))
        for number in range(3):
            own = draw.choice((*NAMES, f"D{number}"))
            values = " ".join(f"{k}:{draw.random():.3f}" for k in range(1, 51))
            lines.append(
                f"{number % 2} qid:{name.replace(' ', '')} {values} #docid = {own} inc = 1 prob = 1\n"
            )
    raw = bytearray("".join(lines).encode(errors="replace"))
    if draw.random() < 0.3:
        raw[draw.randrange(len(raw))] = draw.randrange(256)
    path = folder / "own.txt"
    path.write_bytes(raw)

    def act() -> str | None:
        parse(path, folder / "data/parquet/own", seed=1, dataset="own")
        judgements = read_judgements(folder / "data/parquet/own", [1])
        export_trec(np.arange(len(judgements.labels)), judgements, folder / "run.txt", folder / "qrels.txt")
        predict(folder / "fold1", path, folder / "scores.txt", "trec")
        return six_fields(folder / "run.txt", folder / "scores.txt")

    return act


def six_fields(*paths: Path) -> str | None:
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").split("\n")[:-1])
    return next((f"a run's line {line!r}" for line in lines if len(line.split()) != 6), None)


def table(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """Parquet and CSV with columns of any type and name."""
    rows = 30
    columns: dict[str, Any] = {
        "qid": draw.choice(
            (list(range(10)) * 3, sorted(list(range(10)) * 3), [*NAMES, *"ab"][:30] * 1, [None] * rows)
        ),
        "label": draw.choice(
            ([0, 1, 2] * 10, [-1] * rows, [0.5] * rows, ["x"] * rows, [2**40] * rows, [None] * rows)
        ),
        "docid": draw.choice(([*NAMES, "a", "b"][:30], list(range(rows)), [b"\xff"] * rows)),
    }
    for k in range(draw.randrange(4)):
        value = draw.choice(
            (0.5, None, float("nan"), float("inf"), "x", b"x", [1, 2], {"a": 1}, 10**18, True, 1e300)
        )
        columns[draw.choice((f"f{k + 1}", draw.choice(NAMES), "f0", "f1"))] = [value] * rows
    columns = {name: values for name, values in columns.items() if len(values) == rows}
    frame = pl.DataFrame(columns, strict=False)
    path = folder / draw.choice(("own.parquet", "own.csv"))
    try:
        frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    except pl.exceptions.PolarsError:
        path.write_bytes(draw.randbytes(500))
    if draw.random() < 0.3:
        raw = bytearray(path.read_bytes())
        raw[draw.randrange(len(raw))] ^= 255
        path.write_bytes(raw)
    return lambda: (parse(path, folder / "data/parquet/own", seed=1, dataset="own"), None)[1]


def rows(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """Parquet as it is ranked and judged: ids of any kind, columns that are no numbers, changed bytes."""
    count = draw.choice((0, 1, 30, 30, 3000))
    wide = {f"f{k}": np.random.default_rng(draw.randrange(99)).random(count) for k in range(1, 51)}
    ids = draw.choice(
        (sorted(range(count)), [k // 10 for k in range(count)], [NAMES[k % 3] for k in range(count)])
    )
    docids = draw.choice((list(range(count)), [b"\xff%d" % k for k in range(count)], [f"D{k}" for k in range(count)],
                          [NAMES[k % len(NAMES)] for k in range(count)], [None] * count))  # fmt: skip
    columns = {"qid": ids, "docid": docids, "label": [k % 3 for k in range(count)]} | wide
    if draw.random() < 0.3:
        columns[draw.choice(list(columns))] = [
            draw.choice((None, "x", float("nan"), 1e39, [1], b"x", True))
        ] * count
    path = folder / "rows.parquet"
    kind = draw.choice(("zstd", "lz4", "snappy", "uncompressed"))
    pl.DataFrame(columns, strict=False).write_parquet(path, compression=kind)
    if draw.random() < 0.7:
        raw = bytearray(path.read_bytes())
        for _ in range(draw.choice((1, 1, 20))):
            raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
        path.write_bytes(raw[: draw.choice((len(raw), len(raw), draw.randrange(len(raw))))])

    def act() -> str | None:
        if draw.random() < 0.5:
            read_judgements(path)
            return None
        predict(folder / "fold1", path, folder / "scores.txt", "trec")
        return six_fields(folder / "scores.txt")

    return act
