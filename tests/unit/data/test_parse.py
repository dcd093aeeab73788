import json
import random
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import PlainFile
from gradrank.data.parse import parse
from gradrank.data.text import letor
from gradrank.data.text import text_file as source
from gradrank.data.text.letor import read_rows, scan_letor
from gradrank.data.text.tokens import fixed_width_form, is_usual, usual_values

LARGEST = np.finfo(np.float32).max
# Five queries, so that a single file can be divided; the line under test is added to them.
DENSE = "".join(f"{query % 3} qid:{query} 1:0.{query} 2:-1.5 3:7\n" for query in range(1, 6))
SPARSE = "".join(f"{query % 3} qid:{query} 2:0.{query} 5:-1.5\n" for query in range(1, 6))


def written(folder, text, features=None) -> pl.DataFrame:
    """The rows of a single file in file order: its queries here are numbered in file order."""
    path = folder / "data.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    parse(path, folder / "out", 0, "test", features)
    return rows_of(folder / "out").sort("qid", maintain_order=True)


def rows_of(stored) -> pl.DataFrame:
    """All parts, in their order, with the part's number in the last column."""
    parts = json.loads((stored / "collection.json").read_text())["parts"]
    return pl.concat(
        pl.read_parquet(stored / f"part{part}.parquet").with_columns(part=pl.lit(int(part))) for part in parts
    )


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def matrix(frame: pl.DataFrame) -> np.ndarray:
    return frame.select(pl.col(r"^f\d+$")).to_numpy()


def bits(values) -> np.ndarray:
    return np.asarray(values, np.float32).view(np.uint32)


def five_parts(folder, texts) -> None:
    for part, text in enumerate(texts, start=1):
        (folder / f"S{part}.txt").write_text(text)


ACCEPTED = {
    "tabs, double and trailing blanks": "1\tqid:6  1:1 \t2:2 3:3 \t ",
    "CRLF": "1 qid:6 1:1 2:2 3:3\r",
    "no space before the comment": "1 qid:6 1:1 2:2 3:3#docid = A",
    "signs, exponents, bare points": "1 qid:6 1:+1 2:.2e+1 3:30.E-1",
    "grade with a point": "1.0 qid:6 1:1 2:2 3:3",
    "leading zeros": "01 qid:006 01:1 02:2 3:0003",
    "many digits": "1 qid:6 1:1.00000000000000000000000000000 2:2 3:3.000000000000000000000000000000001",
}


@pytest.mark.parametrize("line", ACCEPTED.values(), ids=ACCEPTED)
@pytest.mark.parametrize("end", ["\n", ""], ids=["newline", "end of file"])
def test_accepted(tmp_path, line, end):
    frame = written(tmp_path, DENSE + line + end)
    assert frame.height == 6
    assert frame["qid"][-1] == 6 and frame["label"][-1] == 1
    assert matrix(frame)[-1].tolist() == [1, 2, 3]


def test_blank_lines_comment_lines_and_byte_order_mark_are_skipped(tmp_path):
    plain = written(tmp_path, DENSE)
    dressed = written(tmp_path, b"\xef\xbb\xbf# made by hand\n\n" + DENSE.replace("\n", "\n \r\n# x\n").encode())
    assert dressed.equals(plain)
    assert written(tmp_path, b"\xef\xbb\xbf" + DENSE.encode()).equals(plain)


COMMENTS = {
    "#docid = GX000-00-0000000 inc = 1 prob = 0.0246906": ("GX000-00-0000000", 1.0, 0.0246906),
    "# docid=a#b inc=0.60031883637259312345 prob=-1": ("a#b", 0.60031883637259312345, None),
    "#docid = UNRECOVERED-000001 inc = -1 prob = -1": ("UNRECOVERED-000001", None, None),
    "#docid = 244338": ("244338", None, None),
    "#docid = é inc = many": ("é", None, None),
    "#docid =": (None, None, None),
    "# seen twice # by hand": (None, None, None),
    "": (None, None, None),
}


def test_comments(tmp_path):
    text = "".join(f"0 qid:{i} 1:0 {comment}\n" for i, comment in enumerate(COMMENTS))
    assert written(tmp_path, text).select("docid", "inc", "prob").rows() == list(COMMENTS.values())


@pytest.mark.parametrize("last", ["0 qid:1 1:0.5 2:0.75", "0 qid:1 1:0.5 2:0.75 #docid = b"])
def test_a_last_row_without_newline_and_full_comment_is_accepted_with_a_newline(tmp_path, last):
    path = tmp_path / "data.txt"
    path.write_text("1 qid:1 1:0.5 2:0.25 #docid = a inc = 1\n" + last)
    with pytest.raises(GradrankError, match=r"may be cut off.*Fix.*newline"):
        scan_letor(path).collect()
    path.write_text(path.read_text() + "\n")
    assert scan_letor(path).collect()["f2"].to_list() == [0.25, 0.75]


REFUSED = {
    "short row": ("0 qid:6 1:1 2:2", "feature 3", "end of the line"),
    "short row with comment": ("0 qid:6 1:1 2:2 #docid = 4", "feature 3", "#docid"),
    "long row": ("0 qid:6 1:1 2:2 3:3 4:4", "end of the row after feature 3", "4:4"),
    "out of order": ("0 qid:6 1:1 3:3 2:2", "feature 2", "3:3"),
    "twice": ("0 qid:6 1:1 1:1 2:2 3:3", "feature 2", "1:1"),
    "out of order at the start": ("0 qid:6 2:2 1:1 3:3", "sort the features", "2:2"),
    "twice at the end": ("0 qid:6 1:1 2:2 2:3", "delete repeated", "2:3"),
    "0-based": ("0 qid:6 0:1 1:1 2:2", "feature 1", "0:1"),
    "no colon": ("0 qid:6 1:1 2 3:3", "feature 2", "'2'"),
    "no feature number": ("0 qid:6 :1 2:2 3:3", "feature 1", ":1"),
    "non-number": ("0 qid:6 1:1 2:two 3:3", "decimal number", "two"),
    "two points": ("0 qid:6 1:1 2:1.2.3 3:3", "decimal number", "1.2.3"),
    "hexadecimal": ("0 qid:6 1:1 2:0x10 3:3", "decimal number", "0x10"),
    "no digits": ("0 qid:6 1:1 2:-. 3:3", "decimal number", "-."),
    "no exponent": ("0 qid:6 1:1 2:1e 3:3", "decimal number", "1e"),
    "empty value": ("0 qid:6 1:1 2: 3:3", "decimal number", "3:3"),
    "nan": ("0 qid:6 1:1 2:nan 3:3", "decimal number", "nan"),
    "infinity": ("0 qid:6 1:1 2:-inf 3:3", "decimal number", "-inf"),
    "nearly NULL": ("0 qid:6 1:1 2:NULLS 3:3", "decimal number", "NULLS"),
    "negative grade": ("-1 qid:6 1:1 2:2 3:3", "grade", "-1"),
    "fractional grade": ("1.5 qid:6 1:1 2:2 3:3", "grade", "1.5"),
    "high grade": ("32 qid:6 1:1 2:2 3:3", "from 0 to 31", "32"),
    "word for a grade": ("good qid:6 1:1 2:2 3:3", "grade", "good"),
    "no qid": ("0 1:1 2:2 3:3", "qid:", "1:1"),
    "no grade": ("qid:6 1:1 2:2 3:3", "qid:", "1:1"),
    "empty qid": ("0 qid: 1:1 2:2 3:3", "qid:", "'qid:'"),
    "grade alone": ("0", "qid:", "end of the line"),
    "comma separated": ("0,6,1,2,3", "qid:", "end of the line"),
    "binary": ("\x00\x01\x02 \x7fELF\x80", "qid:", "ELF"),
    "interleaved": ("0 qid:2 1:1 2:2 3:3", "query 2 comes back", ""),
}


@pytest.mark.parametrize(("line", "expected", "found"), REFUSED.values(), ids=REFUSED)
def test_refused_with_file_line_and_reason(tmp_path, line, expected, found):
    with pytest.raises(GradrankError) as error:
        written(tmp_path, DENSE + line + "\n")
    message = str(error.value)
    assert message.startswith(f"{tmp_path / 'data.txt'}: line 6: ")
    assert expected in message and found in message
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]


def test_refused_lines_of_sparse_data(tmp_path):
    for line in ("0 qid:6 5:1 2:1", "0 qid:6 2:1 2:1", "0 qid:6 0:1 2:1", "0 qid:6 2:"):
        with pytest.raises(GradrankError, match="line 6: expected"):
            written(tmp_path, SPARSE + line + "\n")
    with pytest.raises(GradrankError, match="line 3: expected <feature>:<value>, the feature from 3 to 4"):
        written(tmp_path, "0 qid:1 4:4\n0 qid:2\n0 qid:3 2:1 5:1\n0 qid:4\n0 qid:5\n", features=4)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *[(text, "no rows") for text in ("", "\n\n", "# only a comment\n")],
        (SPARSE + "0 qid:6 999999999:1\n", r"999,999,999 features take .* GB, .*ulimit -v"),
        (DENSE[: DENSE.rindex("2 qid:5")], "4 queries.* at least 5"),
    ],
)
def test_a_file_is_refused_as_a_whole(tmp_path, text, reason):
    with pytest.raises(GradrankError, match=rf"data\.txt: .*{reason}"):
        written(tmp_path, text)


def test_failure_leaves_the_older_files_alone(tmp_path):
    written(tmp_path, DENSE)
    before = contents(tmp_path / "out")
    with pytest.raises(GradrankError):
        written(tmp_path, DENSE + "0 qid:6 1:1\n")
    assert contents(tmp_path / "out") == before and sorted(before)[-1] == "part5.parquet"


def test_cut_off_file_fails_or_gives_the_rows_before_the_cut(tmp_path):
    rows = [f"1 qid:{q} 1:0.125 2:12.5 #docid = G{q} inc = 1 prob = 0.5\n" for q in range(1, 8)]
    text, whole = "".join(rows), written(tmp_path, "".join(rows))
    outcomes = set()
    for cut in range(text.index(rows[5]), len(text)):
        lines = text[:cut].count("\n")
        try:
            frame = written(tmp_path, text[:cut])
        except GradrankError as error:
            assert f"line {lines + 1}: " in str(error)
            outcomes.add("failed")
        else:
            # Only a cut in or after the comment's last word goes unseen; the newline alone does not matter.
            kept = ["qid", "docid", "inc", "label", "f1", "f2"]
            assert frame.select(kept).equals(whole.head(frame.height).select(kept))
            assert lines == frame.height or "prob = " in text[:cut].split("\n")[-1]
            outcomes.add("parsed")
    assert outcomes == {"failed", "parsed"}


BEYOND = "0 qid:6 1:1.8e308 2:-1e400 3:3.4028236e38\n0 qid:7 1:1e-400 2:-1e-46 3:1e999999999999\n"
LEAST = "0 qid:6 1:NULL 2:NULL 3:1\n1 qid:6 1:-5 2:NULL 3:2\n0 qid:6 1:-4.5 2:NULL 3:3\n"  # of the feature in the query
ABSENT = "0 qid:6 # nothing\n0 qid:7 7:1\n1 qid:7 1:2 2:3\n"


@pytest.mark.parametrize(
    ("text", "features", "expected"),
    [
        (DENSE + LEAST, None, [[-5, 0, 1], [-5, 0, 2], [-4.5, 0, 3]]),
        (DENSE + BEYOND, None, [[LARGEST, -LARGEST, LARGEST], [0.0, -0.0, LARGEST]]),
        (SPARSE + ABSENT, None, [[0] * 7, [0] * 6 + [1], [2, 3] + [0] * 5]),
        (DENSE + "0 qid:6 2:1\n", 4, [[0, 1, 0, 0]]),
    ],
    ids=["NULL", "beyond float32", "sparse", "more features"],
)
def test_values_that_are_not_written_or_not_of_float32(tmp_path, text, features, expected):
    found = matrix(written(tmp_path, text, features))[-len(expected) :]
    assert bits(found.ravel()).tolist() == bits(np.ravel(expected)).tolist()


@pytest.mark.parametrize("place", range(len("0.123456")))
def test_any_character_in_a_six_decimal_value_is_read_as_python_reads_it(tmp_path, place):
    """Such values are read eight bytes at a time, so a neighbour of the digits in ASCII must not count as one."""
    for character in "*+,-./:;e09 ":
        text = "0.123456"[:place] + character + "0.123456"[place + 1 :]
        try:
            expected = float(text) if " " not in text else None
        except ValueError:
            expected = None
        line = f"1 qid:6 1:{text} 2:2 3:3\n"
        if expected is None and text != "0.12345 ":
            with pytest.raises(GradrankError):
                written(tmp_path, DENSE + line)
        elif expected is not None and expected < float(LARGEST):
            assert matrix(written(tmp_path, DENSE + line))[-1, 0] == np.float32(expected)


@pytest.mark.parametrize("width", [1, 9, 10, 99, 101])
def test_a_row_in_the_usual_form_is_read_as_any_other(width):
    draw = random.Random(width)
    values = [f"{draw.randrange(10)}.{draw.randrange(10**6):06d}" for _ in range(width)]
    text = "".join(f" {number}:{value}" for number, value in enumerate(values, start=1))
    least, spread, places = fixed_width_form(width)
    buffer = np.frombuffer(("2 qid:1" + text + "\n" + "9" * 40).encode(), np.uint8)[:-40]
    columns = np.empty((width, 2), np.float32)
    assert is_usual(buffer, 7, least, spread)
    usual_values(buffer, 7, places, columns, 1)
    assert bits(columns[:, 1]).tolist() == bits([float(value) for value in values]).tolist()
    for other in (text[1:] + " ", text + "0", text + "." + " ", text[:-1] + " ", text[:-1], text + " 1:0.000000"):
        buffer = np.frombuffer((other + "\n").encode(), np.uint8)
        assert is_usual(buffer, 0, least, spread) == other.startswith(text + " ")
    for place in range(len(text)):  # neighbours in ASCII of the character and of the digits
        for character in {chr(ord(text[place]) + 1), chr(ord(text[place]) - 1), "/", ":", "\x80", "\xff"} - {
            text[place]
        }:
            buffer = np.frombuffer((text[:place] + character + text[place + 1 :] + "\n").encode("latin-1"), np.uint8)
            digit = spread[place] == 9 and character in "0123456789"
            assert is_usual(buffer, 0, least, spread) == digit


decimals = st.from_regex(r"\A[+-]?([0-9]{1,25}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?\Z")
halfway = st.builds(
    # A number that two float32s are equally far from, exactly, or a hair off on either side.
    lambda value, nudge: str((Decimal(value) + Decimal(float(np.nextafter(np.float32(value), np.inf)))) / 2) + nudge,
    st.floats(np.float32(1.5), np.float32(2.0), width=32, exclude_max=True),
    st.sampled_from(["", "0000000000000000000000000001"]),
)
numbers = st.one_of(
    decimals,
    halfway,
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda value: f"{value:.17g}"),
    st.integers(0, 2**62).map(str),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(numbers, min_size=50, max_size=200))
def test_every_value_is_pythons_to_the_last_bit(tmp_path, texts):
    frame = written(tmp_path, "".join(f"0 qid:{i} 1:{text} 2:{text}\n" for i, text in enumerate(texts)))
    with np.errstate(over="ignore"):
        expected = np.clip(np.array([float(text) for text in texts]), -LARGEST, LARGEST).astype(np.float32)
    for column in ("f1", "f2"):
        different = np.flatnonzero(bits(frame[column]) != bits(expected))
        assert [texts[i] for i in different] == []


@st.composite
def collections(draw):
    """SVMlight text of at least five queries; sparse, or dense with the same features in each row."""
    width, dense = draw(st.integers(1, 6)), draw(st.booleans())
    value = st.floats(-1e30, 1e30).map(repr) | st.integers(-9, 9).map(str)
    qids = draw(st.lists(st.integers(0, 10**9), min_size=5, max_size=8, unique=True))
    lines = []
    for qid in qids:
        for _ in range(draw(st.integers(1, 4))):
            every = range(1, width + 1)
            kept = every if dense else sorted(draw(st.sets(st.sampled_from(list(every)))))
            row = " ".join(f"{number}:{draw(value)}" for number in kept)
            comment = draw(st.sampled_from(["", " # a # b", " #docid = x", "\t"]))
            lines.append(f"{draw(st.integers(0, 31))} qid:{qid} {row}{comment}\n")
        lines += draw(st.lists(st.sampled_from(["\n", "# comment\n"]), max_size=1))
    return "".join(lines), None if dense else width


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(generated=collections())
def test_generated_collections_against_scikit_learn(tmp_path, generated):
    text, width = generated
    path = tmp_path / "data.txt"
    path.write_text(text)
    x, y, qids = load_svmlight_file(path, n_features=width, query_id=True, zero_based=False)
    parse(path, tmp_path / "out", 3, "test", features=width)
    frame = rows_of(tmp_path / "out")
    order = {qid: place for place, qid in enumerate(dict.fromkeys(qids.tolist()))}
    frame = frame.sort(pl.col("qid").replace_strict(order), maintain_order=True)
    assert frame["qid"].to_list() == qids.tolist()
    assert frame["label"].to_list() == y.tolist()
    assert np.array_equal(matrix(frame), x.toarray().astype(np.float32))  # toarray turns -0 to 0: not the bits


def test_how_the_text_is_cut_into_chunks_does_not_show(tmp_path, monkeypatch):
    dice = random.Random(0)
    lines = [
        f"{q % 3} qid:{q} 1:{dice.random()} 2:{dice.random():.3f} #docid = d{q} inc = {dice.random()}\n"
        for q in range(40)
        for _ in range(dice.randrange(1, 9))
    ]
    whole, meta = (written(tmp_path, "".join(lines)), json.loads((tmp_path / "out/collection.json").read_text()))
    monkeypatch.setattr(letor, "CHUNK_BYTES", 300)
    monkeypatch.setattr(source, "BLOCK_BYTES", 200)
    assert written(tmp_path, "".join(lines)).equals(whole)
    assert json.loads((tmp_path / "out/collection.json").read_text())["source_sha256"] == meta["source_sha256"]
    with pytest.raises(GradrankError, match=rf"line {len(lines) + 1}: expected feature 2 "):
        written(tmp_path, "".join(lines) + "0 qid:99 1:1\n")


def test_more_late_numbers_than_room_at_first(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("".join(f"0 qid:{q} " + " ".join(f"{j}:1e-40" for j in range(1, 60)) + "\n" for q in range(9)))
    read = source.find_queries(PlainFile(path), numbers=False)
    rows = read_rows(read, np.arange(9), 59, sparse=False)
    assert (rows.features == np.float32(1e-40)).all()


def test_mq2007(mq2007):
    meta = json.loads((mq2007 / "collection.json").read_text())
    assert (meta["rows"], meta["queries"], meta["features"]) == (69623, 1692, 46)
    assert [part["rows"] for part in meta["parts"].values()] == [14013, 14290, 13855, 13813, 13652]
    assert [part["queries"] for part in meta["parts"].values()] == [339, 339, 339, 339, 336]
    frame = rows_of(mq2007)
    assert dict(frame["label"].value_counts().rows()) == {0: 51632, 1: 14128, 2: 3863}
    assert frame["docid"].str.starts_with("GX").all() and frame.select("qid", "docid").is_duplicated().sum() == 0
    part = frame.filter(pl.col("part") == 5)
    x, y, qids = load_svmlight_file(mq2007.parents[1] / "raw/mq2007/Fold1/test.txt", query_id=True)
    assert (bits(matrix(part)) == bits(x.toarray().astype(np.float32))).all()
    assert part["label"].to_list() == y.tolist() and part["qid"].to_list() == qids.tolist()


def test_ohsumed(ohsumed):
    meta = json.loads((ohsumed / "collection.json").read_text())
    assert (meta["rows"], meta["queries"], meta["features"]) == (16140, 106, 45)
    assert [part["queries"] for part in meta["parts"].values()] == [21, 21, 21, 21, 22]
