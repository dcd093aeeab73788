"""`python tests/campaigns/hostile.py [NUMBER] [--seed S] [--run FOLDER]`: hostile input.

Archives with traps, text and tables with strange ids, score files, models as of MLflow's artifacts, names and titles.
Whatever is accepted or refused: the only exception is GradrankError, nothing is written outside the folder that the
command was told, no process is started, no pickle is loaded but Numba's own cache, memory stays small; names stay text
in HTML and TREC.
"""

import json
import os
import random
import resource
import shutil
import sys
import traceback
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import gradrank  # noqa: F401  before numpy: it sets the instruction set

# isort: split
import numpy as np
import polars as pl
import yaml
from small import DATASET, Campaign
from traps import NAMES, archive, rows, table, text

from gradrank.compiled_cache import use_cache_folder
from gradrank.data.parse import parse
from gradrank.data.synthetic import generate
from gradrank.errors import GradrankError
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.score_files import read_scores
from gradrank.files import sha256
from gradrank.learning.job import train
from gradrank.pipeline.params import load
from gradrank.predict import Ranker
from gradrank.report.document import report

NUMBA = str(Path(find_spec("numba").origin).parent)
MOST_MEMORY = 8 << 30  # bytes: no input of some kilobytes takes that
STARTS = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")


def of_numba(frame: FrameType | None) -> bool:
    """Return whether Numba reads what it compiled itself: machine code from its cache, or what machine code holds."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(NUMBA):
            return True
        frame = frame.f_back
    return False


class Watch:
    """Notes, while on, what this process writes outside `inside`, starts, or reads as a pickle."""

    def __init__(self, inside: Path) -> None:
        self.inside, self.on, self.seen = inside, False, []
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple) -> None:
        if not self.on:
            return
        if event in STARTS and arguments[0] != "git":  # the report names the commit
            self.seen.append(f"{event} {arguments!r}"[:200])
        elif event == "pickle.find_class" and not of_numba(sys._getframe(1)):
            self.seen.append(f"pickle {arguments!r} {''.join(traceback.format_stack())[-300:]}")
        elif event == "open" and isinstance(arguments[0], str | bytes) and self.writes(*arguments):
            self.seen.append(f"writes {arguments!r}")

    def writes(self, path: str | bytes, mode: str | None, flags: int) -> bool:
        changes = (mode and set(mode) & set("wax+")) or (mode is None and flags & (os.O_WRONLY | os.O_RDWR))
        if not changes:
            return False
        place = Path(os.path.realpath(os.fsdecode(path)))
        own = (
            self.inside,
            Path("/dev/null"),
            Path.home() / ".cache/gradrank",
            Path(os.environ.get("NUMBA_CACHE_DIR", "/-")),
        )
        return not any(place == each or each in place.parents for each in own)


def main() -> int:
    cache = use_cache_folder()
    campaign = Campaign(__doc__, 500)
    watch, folder = Watch(campaign.folder), campaign.folder
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    generate("net", 10, 5, 1, folder / "text")
    parse(folder / "text", folder / "data/parquet/mine", seed=1, dataset="mine")
    train("single_feature", folder / "data/parquet/mine", 1, {}, 1, folder / "fold1")
    train("ranknet_linear", folder / "data/parquet/mine", 1, {}, 1, folder / "fold2")
    os.chdir(folder)
    kinds = [archive, text, table, rows, scores, model, names]
    if campaign.run:
        with_title(campaign.finished().root, folder)
        kinds.append(title)
    for _ in range(campaign.number):
        kind = campaign.draw.choice(kinds)
        act = kind(campaign.draw, folder)
        campaign.counts[kind.__name__] += 1
        watch.seen.clear()
        watch.on = True
        try:
            wrong = act()
            campaign.counts["accepted"] += 1
        except GradrankError as error:
            wrong = None if str(error).strip() else "an error without words"
            campaign.counts["refused"] += 1
        except (Exception, pl.exceptions.PanicException):  # the latter is no Exception
            wrong = traceback.format_exc()[-700:]
        finally:
            watch.on = False
        for fault in [*([wrong] if wrong else []), *watch.seen]:
            campaign.fault(f"{kind.__name__}: {fault}")
        if outside := [
            path for path in (Path("/tmp/up"), folder.parent / "up", folder / "up") if path.exists()
        ]:
            campaign.fault(f"{kind.__name__}: written: {outside}")
    if (mode := cache.stat().st_mode & 0o777) != 0o700:
        campaign.fault(f"{cache}: mode {mode:o}")
    return campaign.end()


def scores(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """Score files: too few, too many, not finite, ids of others, other tables, bytes at random."""
    judgements = read_judgements(folder / "data/parquet/mine", [5])
    count = len(judgements.labels) + draw.choice((0, 0, 0, -1, 1))
    values = [
        draw.choice((draw.random(), draw.random(), "nan", "inf", "x", "", *NAMES[:3])) for _ in range(count)
    ]
    path = folder / draw.choice(("s.txt", "s.run", "s.parquet"))
    if path.suffix == ".txt":
        path.write_text("".join(f"{value}\n" for value in values), errors="replace")
    elif path.suffix == ".run":
        path.write_text(
            "".join(f"{k} Q0 {draw.choice(NAMES)} 1 {value} t\n" for k, value in enumerate(values))
        )
    else:
        other = draw.choice(
            (values, [draw.random()] * count, [None] * count, [[1.0]] * count, [True] * count)
        )
        pl.DataFrame({draw.choice(("score", "scores")): pl.Series(other, strict=False)}).write_parquet(path)
    if draw.random() < 0.3:
        raw = bytearray(path.read_bytes() or b"x")
        raw[draw.randrange(len(raw))] = draw.randrange(256)
        path.write_bytes(raw)

    def act() -> str | None:
        found = read_scores(path, judgements)
        return (
            None if found.shape == judgements.labels.shape and np.isfinite(found).all() else f"scores {found}"
        )

    return act


def model(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """A trained fold, as MLflow hands it on, with a changed specification or changed files."""
    fold = folder / "given"
    shutil.rmtree(fold, ignore_errors=True)
    shutil.copytree(folder / draw.choice(("fold1", "fold2")), fold)
    if draw.random() < 0.5:
        spec = json.loads((fold / "spec.json").read_text())
        key = draw.choice(("model", "features", "params", "missing"))
        spec[key] = draw.choice(
            (*NAMES, "os:system", -1, 10**12, None, [], {}, {"a": "b"}, "keep", "single_feature")
        )
        (fold / "spec.json").write_text(json.dumps(spec))
    else:
        path = draw.choice([each for each in (fold / "model").iterdir() if each.is_file()])
        raw = bytearray(path.read_bytes())
        raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
        pickled = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x08touch up\x85R."
        path.write_bytes(
            draw.choice((raw, raw[: len(raw) // 2], b"", pickled, draw.randbytes(50), b"{}", b"[1]"))
        )
        if draw.random() < 0.5:  # and says so
            spec = json.loads((fold / "spec.json").read_text())
            spec["files"][path.relative_to(fold).as_posix()] = sha256(path)
            (fold / "spec.json").write_text(json.dumps(spec))

    def act() -> str | None:
        given = Ranker.load(fold).score(np.ones((3, 50), np.float32), np.array([0, 3]))
        return None if given.shape == (3,) and np.isfinite(given).all() else f"scores {given}"

    return act


def names(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """params.yaml: names of data sets and models, titles; a title in the report is text."""
    name = draw.choice(NAMES)
    own = {draw.choice((name, "mine")): {"path": str(folder / "text"), "title": name}}
    raw = {
        "seed": 1,
        "run": {"datasets": list(own), "models": [draw.choice((name, "mart", "single_feature"))]},
        "datasets": own
        | {each: {"queries": 5, "documents": 5} for each in ("synthetic_net", "synthetic_poly")},
        "models": {draw.choice((name, "mart")): {"model": "mart"}} if draw.random() < 0.5 else {},
        "evaluation": {"metrics": ["map", "ndcg@10"]},
    }
    (folder / "params.yaml").write_text(json.dumps(raw))

    def act() -> str | None:
        params = load(folder / "params.yaml")
        folders = [
            each for each in (*params.datasets, *params.models) if Path(each).name != each or each[0] in ".-"
        ]
        return f"names {folders}" if folders else None

    return act


def title(draw: random.Random, folder: Path) -> Callable[[], str | None]:
    """A data set's title, in the report: text, and nothing else; needs the small run."""
    name = draw.choice([name for name in NAMES if "\0" not in name])
    values = yaml.safe_load((folder / "run/params.yaml").read_text())
    values["datasets"]["mine"] = {"path": str(folder / "text"), "title": name}
    (folder / "params.yaml").write_text(json.dumps(values))

    def act() -> str | None:
        report(
            folder / "run/results",
            folder / "report.html",
            params=folder / "params.yaml",
            data=folder / "run/data",
        )
        page = (folder / "report.html").read_text(encoding="utf-8")
        return next((f"HTML {each}" for each in ("<script>alert", "<img src=x") if each in page), None)

    return act


def with_title(run: Path, folder: Path) -> None:
    """The small run under the name of a data set that has a title."""
    shutil.copytree(run, folder / "run", ignore=shutil.ignore_patterns(".snakemake", "src", "mlartifacts"))
    for kind in ("results", "data/parquet", "data/pairs"):
        (folder / "run" / kind / DATASET).rename(folder / "run" / kind / "mine")


if __name__ == "__main__":
    sys.exit(main())
