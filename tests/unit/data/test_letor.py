"""`scan_letor`: LETOR text as a lazy Polars frame."""

import gzip
import lzma
import subprocess
import sys

import polars as pl
import pytest

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.data.sources.synthetic import generate
from gradrank.data.text import letor

pa = pytest.importorskip("pyarrow")

TEXT = """2 qid:10 1:0.5 2:-1 3:7 #docid = A inc = 1 prob = 0.25
0 qid:10 1:1.5 2:0 3:8 #docid = B inc = -1 prob = 0.5
1 qid:11 1:2.5 2:1 3:9
"""
MORE = "0 qid:12 1:3.5 2:2 3:10 #docid = C\n"


def zstandard(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


PACKED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "train.txt").write_text(TEXT)
    return tmp_path / "train.txt"


@pytest.mark.parametrize("suffix", [".txt", ".svm", ".TXT"])
@pytest.mark.parametrize("packed", PACKED)
def test_every_form_of_a_file_gives_the_same_frame(tmp_path, path, suffix, packed):
    other = tmp_path / f"other{suffix}{packed}"
    other.write_bytes(PACKED[packed](TEXT.encode()))
    frame = gradrank.scan_letor(other)
    assert isinstance(frame, pl.LazyFrame)
    found = frame.collect()
    assert found.equals(gradrank.scan_letor(str(path)).collect())
    assert found.schema == frame.collect_schema()
    assert found.rows() == [
        (10, "A", 1.0, 0.25, 2, 0.5, -1.0, 7.0),
        (10, "B", None, 0.5, 0, 1.5, 0.0, 8.0),
        (11, None, None, None, 1, 2.5, 1.0, 9.0),
    ]


def test_several_files_are_one_frame_in_their_order(tmp_path, path):
    (tmp_path / "vali.txt.gz").write_bytes(gzip.compress(MORE.encode()))
    found = gradrank.scan_letor([tmp_path / "vali.txt.gz", path]).collect()
    assert found["qid"].to_list() == [12, 10, 10, 11] and found["f3"].to_list() == [10, 7, 8, 9]


def test_columns_rows_and_predicates_are_pushed_down_and_agree_with_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "CHUNK_BYTES", 2000)  # many batches
    generate("net", 40, 8, 3, tmp_path)
    files = [tmp_path / f"S{part}.txt" for part in range(1, 6)]
    lazy = gradrank.scan_letor(files)
    whole = lazy.collect()
    assert len(whole) == 320
    assert lazy.select("f2", "qid").collect().equals(whole.select("f2", "qid"))
    for rows in (0, 1, 9, 100, 319, 320, 999):
        assert lazy.head(rows).collect().equals(whole.head(rows))
    relevant = pl.col("label") > 1
    assert lazy.filter(relevant).select("docid").collect().equals(whole.filter(relevant).select("docid"))
    assert lazy.filter(relevant).head(3).collect().equals(whole.filter(relevant).head(3))
    assert lazy.head(50).filter(relevant).collect().equals(whole.head(50).filter(relevant))
    lazy.sink_parquet(tmp_path / "all.parquet")
    assert pl.read_parquet(tmp_path / "all.parquet").equals(whole)


def test_a_row_limit_reads_no_further(tmp_path, path):
    path.write_text(TEXT + "1 qid:13 1:0 2:bad 3:0\n" * 3)
    assert gradrank.scan_letor(path).head(2).collect()["docid"].to_list() == ["A", "B"]
    absent = [path, tmp_path / "later.txt"]
    absent[1].write_text("nothing of the kind\n")
    assert len(gradrank.scan_letor(absent).head(2).collect()) == 2


def test_every_row_is_checked_whatever_is_asked_for(path):
    path.write_text(TEXT + "1 qid:13 1:0 2:bad 3:0\n")
    with pytest.raises(GradrankError, match=r"train\.txt: line 4: expected a finite decimal .* found 'bad'"):
        gradrank.scan_letor(path).select("qid").collect()


def test_files_that_are_not_there_or_not_what_they_are_called(tmp_path, path):
    with pytest.raises(GradrankError, match=r"gone\.txt: no such file"):
        gradrank.scan_letor([path, tmp_path / "gone.txt"])
    with pytest.raises(GradrankError, match="source"):
        gradrank.scan_letor([])
    for suffix in (".gz", ".xz", ".zst"):
        (tmp_path / f"a.txt{suffix}").write_bytes(TEXT.encode())
        with pytest.raises(GradrankError, match=rf"truncated, damaged or not a {suffix} file"):
            gradrank.scan_letor(tmp_path / f"a.txt{suffix}").collect()


def test_sparse_rows_and_their_width(tmp_path, path):
    path.write_text("1 qid:1 2:5\n0 qid:2 1:1 4:2\n")
    assert gradrank.scan_letor(path).select("^f.*$").collect().rows() == [(0, 5, 0, 0), (1, 0, 0, 2)]
    assert gradrank.scan_letor(path, features=6).collect_schema().names()[-1] == "f6"
    with pytest.raises(GradrankError, match="line 2: expected"):
        gradrank.scan_letor(path, features=3).collect()
    path.write_text("1 qid:1 2:5\n0 qid:2 1:0.968840599999999:9.68\n")  # the blank before feature 5 is lost
    with pytest.raises(GradrankError, match="of 968,840,599,999,999 features take"):
        gradrank.scan_letor(path)


def test_query_ids_that_are_text_are_numbered_and_kept(tmp_path, path):
    path.write_text("1 qid:US-7 1:0\n0 qid:b 1:1\n")
    (tmp_path / "more.txt").write_text("0 qid:b 1:2\n1 qid:9 1:3\n")
    found = gradrank.scan_letor([path, tmp_path / "more.txt"]).collect()
    assert found["query"].to_list() == ["US-7", "b", "b", "9"] and found["qid"].to_list() == [1, 2, 2, 3]
    (tmp_path / "late.txt").write_text("1 qid:1 1:0\n0 qid:b 1:1\n")
    with pytest.raises(GradrankError, match=r"late\.txt: line 2: .*text_ids=True"):
        gradrank.scan_letor(tmp_path / "late.txt").collect()
    found = gradrank.scan_letor(tmp_path / "late.txt", text_ids=True).collect()
    assert found["query"].to_list() == ["1", "b"]


def test_importing_the_package_is_light():
    check = "import gradrank, sys; print({'numpy', 'polars', 'numba', 'pyarrow', 'scipy', 'torch'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", check], text=True).strip() == "set()"
