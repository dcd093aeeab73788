"""`python tests/system/forms.py [NUMBER] [--seed S]`: one data set in many file formats and layouts.

Random data are written as text, CSV, TSV and Parquet, compressed or not. Columns, documents and queries have random
orders, and column names, types of ids and spellings of values vary. Parsing, prediction and evaluation must give the
same results as for a plain CSV file. A file with a damaged structure must be refused or give the same results.
"""

import gzip
import lzma
import random
import shutil
import sys
import traceback
from dataclasses import dataclass, replace
from pathlib import Path

import gradrank

gradrank.pin()  # before numpy

# isort: split
import numpy as np
import polars as pl
from campaign import Campaign

from gradrank.base.errors import GradrankError
from gradrank.base.files import write_json
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.data.parse import parse
from gradrank.data.tables.roles import Columns
from gradrank.measures.judgements import read_judgements
from gradrank.models.single_feature import SingleFeature
from gradrank.ranker.predict import predict
from gradrank.training.trained_fold import TrainedFold

METRICS = ["ndcg@5", "map"]
NAMES = ["bm25", "f10", "f2", "f1", "page rank", "älter", "N", "x,y", "idf", "Z9"]
QUERY = ["qid", "QueryID", "topic", "who asked"]
LABEL = ["label", "Relevance", "rel", "clicks"]
DOCID = ["docid", "doc_id", "docno", "url"]
IDS = {"number": "{}", "padded": "0{}", "text": "Q-{}", "exponent": "{}e1", "long": "topic-" + "9" * 90 + "{}"}
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
EMPTY = ["", "NA", "NaN", "null"]


@dataclass(frozen=True)
class Data:
    """Rows as (query, grade, document id, values); None is a missing value."""

    names: list[str]
    rows: list[tuple[str, int, str, list[float | None]]]
    missing: str

    @property
    def queries(self) -> list[str]:
        return list(dict.fromkeys(row[0] for row in self.rows))


def random_data(draw: random.Random) -> Data:
    """Return random data of five to eight queries."""
    width, gaps = draw.randint(1, 5), draw.random() < 0.4
    kind = IDS[draw.choice(list(IDS))]
    queries = [kind.format(number) for number in draw.sample(range(1, 99), draw.randint(5, 8))]

    def value() -> float | None:
        if gaps and draw.random() < 0.2:
            return None
        return draw.choice((draw.random(), draw.randrange(-9, 10), draw.uniform(-1e30, 1e30), 0.0))

    rows = [
        (query, draw.randrange(5), f"d{number}", [value() for _ in range(width)])
        for query in queries
        for number in range(draw.randint(1, 5))
    ]
    missing = draw.choice(("least", "mean", "zero")) if gaps else "least"
    return Data(draw.sample(NAMES, width), rows, missing)


def shuffled(draw: random.Random, data: Data) -> Data:
    """Return the data with queries, documents and features in another order."""
    order = draw.sample(range(len(data.names)), len(data.names))
    queries = draw.sample(data.queries, len(data.queries))
    rows = []
    for query in queries:
        own = [row for row in data.rows if row[0] == query]
        rows += [(*row[:3], [row[3][k] for k in order]) for row in draw.sample(own, len(own))]
    return replace(data, names=[data.names[k] for k in order], rows=rows)


def spelling(draw: random.Random, value: float | None, text: bool) -> str:
    """Return a random spelling of a value, in LETOR text or in a table."""
    if value is None:
        return "NULL" if text else draw.choice(EMPTY)
    return draw.choice((repr(value), f"{value:.25e}", f"+{value!r}" if value >= 0 else repr(value)))


def letor(draw: random.Random, data: Data) -> bytes:
    end, mark = draw.choice((b"\n", b"\r\n")), draw.choice((b"", b"\xef\xbb\xbf"))
    lines = [
        f"{grade} qid:{query} "
        + " ".join(f"{k}:{spelling(draw, value, True)}" for k, value in enumerate(values, start=1))
        + f" #docid = {docid}"
        for query, grade, docid, values in data.rows
    ]
    return mark + end.join(line.encode() for line in lines) + end


def columns_of(draw: random.Random, data: Data) -> tuple[list[tuple[str, list]], Columns]:
    """Return columns (name, values) in random order, some of which are to be ignored, and their settings."""
    query, label, docid = (draw.choice(names) for names in (QUERY, LABEL, DOCID))
    found = [(name, [row[place] for row in data.rows]) for place, name in enumerate((query, label, docid))]
    found += [(name, [row[3][k] for row in data.rows]) for k, name in enumerate(data.names)]
    ignore = ()
    if draw.random() < 0.3:
        found.append(("Unnamed: 0", [*range(len(data.rows))]))
    if draw.random() < 0.3:
        found.append(("weight", [1] * len(data.rows)))
        ignore = ("weight",)
    draw.shuffle(found)
    own = {"query": (query, QUERY), "label": (label, LABEL), "docid": (docid, DOCID)}
    return found, Columns(**{role: name for role, (name, usual) in own.items() if name == usual[-1]}, ignore=ignore)


def separated(draw: random.Random, columns: list[tuple[str, list]], separator: str) -> bytes:
    def field(value: object, is_id: bool) -> str:
        text = str(value) if is_id else spelling(draw, value, False)
        return f'"{text}"' if separator in text or draw.random() < 0.1 else text

    end = draw.choice(("\n", "\r\n"))
    ids = [isinstance(values[0], str | int) for _, values in columns]
    lines = [separator.join(field(name, True) for name, _ in columns)]
    for row in zip(*(values for _, values in columns), strict=True):
        lines.append(
            separator.join(field(value, value is not None and own) for value, own in zip(row, ids, strict=True))
        )
    return ("\ufeff" * draw.randrange(2) + end.join(lines) + end * draw.randrange(2)).encode()


def parquet(draw: random.Random, columns: list[tuple[str, list]], path: Path) -> None:
    table = pl.DataFrame([pl.Series(name, values, strict=False) for name, values in columns], strict=False)
    for name, kind in table.schema.items():
        if kind == pl.String and draw.random() < 0.3:
            table = table.with_columns(pl.col(name).cast(pl.Categorical))
        elif kind == pl.String and table[name].str.contains(r"^[1-9][0-9]{0,8}$").all():
            table = table.with_columns(pl.col(name).cast(draw.choice((pl.Int64, pl.Float64, pl.UInt32, pl.String))))
        elif kind == pl.Int64 and draw.random() < 0.5:
            table = table.with_columns(pl.col(name).cast(draw.choice((pl.Float64, pl.Int32))))
    table.write_parquet(path)


def written(draw: random.Random, data: Data, folder: Path, form: str) -> tuple[Path, Columns]:
    """Write the data in one form; return the path and the settings of its columns."""
    packed = draw.choice(list(PACK))
    path = folder / f"{form}-{draw.randrange(10**9)}.{form}"
    columns, declared = columns_of(draw, data)
    if form == "txt":
        path.write_bytes(letor(draw, data))
        declared = Columns()
    elif form == "parquet":
        parquet(draw, columns, path)
    else:
        path.write_bytes(separated(draw, columns, {"csv": ",", "tsv": "\t"}[form]))
    whole = path.with_name(path.name + packed)
    whole.write_bytes(PACK[packed](path.read_bytes()))
    return whole, declared


def results_of(data: Data, path: Path, columns: Columns, folder: Path) -> dict:
    """Return the results of parsing, prediction and evaluation by query and document, features by name."""
    stored, fold = folder / "stored", folder / "fold1"
    for former in (stored, fold):
        shutil.rmtree(former, ignore_errors=True)
    is_text = ".txt" in path.suffixes
    meta = parse(path, stored, 1, "mine", columns=columns, missing=data.missing)
    rows = pl.concat(pl.read_parquet(stored / f"part{part}.parquet") for part in meta["parts"])
    ids = rows["query"] if "query" in rows.columns else rows["qid"].cast(pl.String)
    names = data.names if is_text else meta["names"]
    keys = list(zip(ids, rows["docid"], strict=True))
    # NaN is not equal to NaN, and `missing: mean` keeps it in the stored data.
    kept = rows.with_columns(pl.col(f"f{k}").fill_nan(None) for k in range(1, len(names) + 1))
    features = {name: dict(zip(keys, kept[f"f{k}"].to_list(), strict=True)) for k, name in enumerate(names, start=1)}
    (fold / "model").mkdir(parents=True)
    SingleFeature(names.index(min(names)), 1).save(fold / "model")
    spec = {"model": "single_feature", "features": len(names), "missing": data.missing}
    layout = {key: meta[key] for key in ("names", "columns", "sparse") if key in meta}
    write_json(fold / "spec.json", spec | layout)
    predict(fold, path, folder / "run.txt", "trec")
    predict(fold, path, folder / "scores.txt")
    run = [line.split(" ") for line in (folder / "run.txt").read_text().splitlines()]
    judgements = read_judgements(path, columns=columns)
    values = evaluate(judgements, folder / "run.txt", metrics=METRICS, convention="trec").per_query
    same = evaluate(judgements, folder / "scores.txt", metrics=METRICS, convention="trec").per_query
    assert values.equals(same), "a TREC run and scores by line give different values"
    results = {
        "labels": dict(zip(keys, rows["label"].to_list(), strict=True)),
        "features": features,
        "scores": {(fields[0], fields[2]): float(fields[4]) for fields in run},
        "values": {str(row[0]): row[1:] for row in values.iter_rows()},
    }
    if not is_text:
        table = pl.read_parquet(path) if path.suffix == ".parquet" else None
        if table is not None:
            scores = TrainedFold.load(fold).predict(table.to_pandas())
            assert np.array_equal(scores, [float(line) for line in (folder / "scores.txt").read_text().split()])
    return results


def damaged(draw: random.Random, content: bytes, separator: bytes) -> tuple[str, bytes]:
    """Return the kind of damage and text with a damaged structure, in which no other values could be meant."""
    lines = content.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    body = lines[at].rstrip(b"\r\n")
    fields = body.split(separator)
    end = lines[at][len(body) :]
    place = draw.randrange(len(fields))
    kind = draw.choice(("field lost", "field added", "zero byte", "quote", "cut", "line repeated", "Latin-1"))
    if kind == "cut":
        return kind, b"".join([*lines[:at], separator.join(fields[:place] or [b"x"])])
    field = fields[place]
    changed = {"field lost": [], "field added": [b"1", field], "zero byte": [b"\0" + field]}
    changed |= {"quote": [field + b'"'], "Latin-1": [field + b"\xe9"], "line repeated": [field]}
    other = separator.join([*fields[:place], *changed[kind], *fields[place + 1 :]]) + end
    if kind == "line repeated":
        other += body + (end or b"\n")
    return kind, b"".join([*lines[:at], other, *lines[at + 1 :]])


def main() -> int:
    campaign = Campaign(__doc__, 1000)
    draw, folder = campaign.draw, campaign.folder
    for number in range(campaign.number):
        data = random_data(draw)
        plain = written(random.Random(number), data, folder, "csv")
        expected = results_of(data, *plain, folder)
        for form in draw.sample(("txt", "csv", "tsv", "parquet"), 2):
            other = shuffled(draw, data) if draw.random() < 0.8 else data
            path, columns = written(draw, other, folder, form)
            campaign.counts[form] += 1
            try:
                found = results_of(other, path, columns, folder)
                if unlike := [key for key in expected if expected[key] != found[key]]:
                    campaign.fault(
                        f"trial {number}: {path.name} {columns}: different {unlike}\n{path.read_bytes()[:900]}"
                    )
            except Exception:
                campaign.fault(f"trial {number}: {path.name} {columns}: {traceback.format_exc()[-900:]}")
        path, columns = written(draw, data, folder, draw.choice(("csv", "tsv")))
        content = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(path.suffix, bytes)(path.read_bytes())
        kind, content = damaged(draw, content, b"\t" if ".tsv" in path.suffixes else b",")
        path = path.with_name(path.name.removesuffix(".gz").removesuffix(".xz"))
        path.write_bytes(content)
        try:
            found = results_of(data, path, columns, folder)
            campaign.counts["damage without effect"] += 1
            if found != expected and kind != "line repeated":
                campaign.fault(f"trial {number}: {kind} in {path.name}: different values\n{content[:900]}")
        except GradrankError as error:
            campaign.counts["damage refused"] += 1
            if not str(error).strip():
                campaign.fault(f"trial {number}: {kind}: an error without a message")
        except Exception:
            campaign.fault(f"trial {number}: {kind} in {path.name}: {traceback.format_exc()[-900:]}")
        for left in folder.glob("*.*"):
            left.unlink()
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
