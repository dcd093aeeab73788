"""Recognition of files in forms that are not read, from their first bytes. Importing this module is fast."""

import json
import re
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import PACKED, blocks, is_packed, plain_name

HEAD_BYTES = 1 << 16
SEPARATED = {".csv": ",", ".tsv": "\t"}
AS_PARQUET = "Fix: convert it to Parquet, for example `polars.{call}.write_parquet('data.parquet')`"
# key: first bytes. value: the form, and what to do.
MAGIC = {
    b"ARROW1": ("a Feather or Arrow file", AS_PARQUET.format(call="read_ipc(path)")),
    b"FEA1": ("a Feather file", "Fix: convert it to Parquet, for example with pandas.read_feather"),
    b"Obj\x01": ("an Avro file", AS_PARQUET.format(call="read_avro(path)")),
    b"ORC": ("an ORC file", "Fix: convert it to Parquet, for example with pandas.read_orc"),
    b"\x93NUMPY": ("a NumPy file", "Fix: give the array in Python, or write one number per line with numpy.savetxt"),
    b"\x89HDF": ("an HDF5 file", "Fix: convert it to Parquet, for example with pandas.read_hdf"),
    b"SQLite format 3": ("an SQLite database", "Fix: export the table as CSV or Parquet"),
    b"%PDF": ("a PDF file", "Fix: give text, CSV or Parquet"),
    b"PK\x03\x04": ("a zip archive or an Excel file", "Fix: extract it, or store the table as CSV or Parquet"),
    b"\x1f\x8b": ("compressed with gzip", "Fix: add the suffix .gz to its name, or decompress it"),
    b"\xfd7zXZ": ("compressed with xz", "Fix: add the suffix .xz to its name, or decompress it"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "Fix: add the suffix .zst to its name, or decompress it"),
    b"BZh": ("compressed with bzip2", f"Fix: decompress it, or compress it as {', '.join(PACKED)}"),
    b"\xff\xfe": ("text in UTF-16", "Fix: store it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
    b"\xfe\xff": ("text in UTF-16", "Fix: store it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
    b"<!DOCTYPE": ("an HTML page", "Fix: download the file itself"),
    b"<html": ("an HTML page", "Fix: download the file itself"),
}
PICKLE = re.compile(rb"\x80[\x02-\x05]")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def check_form(path: Path) -> None:
    """Raise GradrankError if the first bytes of a file show a form that is not read, and say what to do.

    A file in an unknown form passes. The functions that read it report its first malformed line.
    """
    head = next(blocks(path, HEAD_BYTES), b"")
    form = next((form for magic, form in MAGIC.items() if head.startswith(magic)), None)
    if PICKLE.match(head):
        form = "a Python pickle, which is never loaded", "Fix: store the data as Parquet or text"
    suffix = plain_name(path).suffix.lower()
    if form is None and suffix != ".parquet" and b"\0" not in head:
        form = _json_form(head) or _separated_form(path, suffix, head)
        if form is None and b"\r" in head and b"\n" not in head and suffix not in SEPARATED:
            form = "text whose lines end with a carriage return", r"Fix: convert the line ends with `tr '\r' '\n'`"
    if form is not None:
        raise GradrankError(f"{path}: this is {form[0]}. It cannot be read. {form[1]}")


def _json_form(head: bytes) -> tuple[str, str] | None:
    """Return the form of JSON or JSON lines, or None for another form."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] not in (b"{", b"["):
        return None
    first, _, rest = text.partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        is_lines = False
        if not re.match(rb'[{\[]\s*(["{\[\]}]|$)', text):
            return None
    else:
        is_lines = bool(rest.strip())
    if is_lines:
        return "JSON lines", AS_PARQUET.format(call="read_ndjson(path)")
    return "JSON", "Fix: write a table with one row per document, as Parquet or CSV"


def _separated_form(path: Path, suffix: str, head: bytes) -> tuple[str, str] | None:
    """Return the form of separated values whose separator does not belong to the suffix; None for another form."""
    rows = (row.strip() for row in head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines())
    line = next((row for row in rows if row and not row.startswith("#")), "")
    expected = SEPARATED.get(suffix)
    counts = {separator: line.count(separator) for separator in NAMES if separator != expected}
    separator = max(counts, key=lambda each: counts[each])
    if not counts[separator] or (expected and expected in line) or "qid:" in line:
        return None
    fields = line.split()
    if len(fields) in (4, 6) and (separator != "\t" or _is_number(fields[3]) or _is_number(fields[4 % len(fields)])):
        return None  # qrels or a TREC run
    if re.fullmatch(r"[+-]?\d+,\d+(e[+-]?\d+)?", line):
        return f"text with decimal commas ({line!r})", "Fix: write decimal points"
    if separator == "\t" and not expected and len(line.split("\t")) < 3:
        return None
    name = f"values separated by {NAMES[separator]}"
    if separator in SEPARATED.values():
        right = next(key for key, value in SEPARATED.items() if value == separator)
        end = f"{right}{path.suffix if is_packed(path) else ''}"
        return f"{name} in a file without the suffix {right}", f"Fix: give the file a name that ends with {end}"
    return name, (
        f"Fix: separate the values by commas, for example `polars.read_csv(path, separator={separator!r})"
        ".write_csv('data.csv')`"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
