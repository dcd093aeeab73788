"""Files in forms that are not read are recognised by their content, wherever data or scores are expected."""

import bz2
import gzip
import lzma
import pickle

import numpy as np
import polars as pl
import pytest

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import check_form
from gradrank.data.layout import find_layout
from gradrank.measures.judgements import read_judgements
from gradrank.measures.score_files import read_scores

FRAME = pl.DataFrame({"qid": [1, 1], "docid": ["A", "B"], "score": [2.0, 1.0]})
CSV = FRAME.write_csv()
LETOR = b"1 qid:1 1:0.5 #docid = a,b;c\n0 qid:1 1:0.2 #docid = d\n"
REFUSED = {
    "n.txt": ("Arrow", lambda path: FRAME.write_ipc(path)),
    "b.parquet": ("Arrow", lambda path: FRAME.write_ipc(path)),
    "m.txt": ("JSON lines", lambda path: FRAME.write_ndjson(path)),
    "a.txt": ("JSON", lambda path: path.write_text('{"1": {"A": 2}}')),
    "b.json": ("JSON", lambda path: path.write_text('[\n  {"qid": 1}\n]\n')),
    "a.npy": ("NumPy", lambda path: np.save(path, np.ones(2))),
    "a.pkl": ("pickle", lambda path: path.write_bytes(pickle.dumps([1]))),
    "a.csv": ("semicolons", lambda path: path.write_text(CSV.replace(",", ";"))),
    "b.csv": ("tabs", lambda path: path.write_text(CSV.replace(",", "\t"))),
    "a.tsv": ("commas", lambda path: path.write_text(CSV)),
    "c.txt": ("commas", lambda path: path.write_text(CSV)),
    "d.txt": ("tabs", lambda path: path.write_text(CSV.replace(",", "\t"))),
    "e.txt": ("UTF-16", lambda path: path.write_bytes(LETOR.decode().encode("utf-16"))),
    "f.txt": ("carriage return", lambda path: path.write_bytes(LETOR.replace(b"\n", b"\r"))),
    "g.txt": ("gzip", lambda path: path.write_bytes(gzip.compress(LETOR))),
    "h.txt": ("xz", lambda path: path.write_bytes(lzma.compress(LETOR))),
    "i.txt.bz2": ("bzip2", lambda path: path.write_bytes(bz2.compress(LETOR))),
    "j.txt": ("decimal commas", lambda path: path.write_text("0,5\n1,5\n")),
    "k.txt": ("HTML", lambda path: path.write_text("<!DOCTYPE html>\n<p>404")),
    "l.txt.gz": ("JSON", lambda path: path.write_bytes(gzip.compress(b'{"a": 1}'))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_form_that_is_not_read_is_named(tmp_path, name):
    path, (form, write) = tmp_path / name, REFUSED[name]
    write(path)
    (tmp_path / "data").write_bytes(LETOR)
    judged = read_judgements(tmp_path / "data")
    readers = [find_layout, gradrank.scan_letor]
    if form not in ("Arrow", "JSON", "JSON lines"):  # forms of judgements and runs, but not of training data
        readers += [read_judgements, lambda path: read_scores(path, judged)]
    for read in readers:
        with pytest.raises(GradrankError, match=f"{name}.*{form}(?s:.)*Fix:"):
            read(path)


READ = {
    "letor": LETOR,
    "comment first": b"# a, b; c\n" + LETOR,
    "qrels": b"1\t0\ta,b;c\t1\n",
    "run": b"1 Q0 {a,b} 1 0.5 x\n",
    "scores": b"0.5\n1e-3\n",
    "byte order mark": b"\xef\xbb\xbf" + LETOR,
    "empty": b"",
}


@pytest.mark.parametrize("form", READ)
def test_the_forms_that_are_read_pass(tmp_path, form):
    (tmp_path / "a.txt").write_bytes(READ[form])
    check_form(tmp_path / "a.txt")


def test_a_table_without_a_header_gets_a_hint(tmp_path):
    for text in ("2,1,0.5\n0,1,0.2\n", "1,1,1\n0,1,0.2\n"):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(GradrankError, match="header: false"):
            read_judgements(tmp_path / "a.csv")
