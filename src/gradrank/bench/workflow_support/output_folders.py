"""Files of the user in folders that are outputs of rules. Snakemake removes such a folder before it runs the job."""

from collections.abc import Iterator
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import TABLES
from gradrank.bench.provenance.audit import FETCHED, raw_names
from gradrank.bench.results import PLOTS
from gradrank.data.part_files import COLLECTION, PAIRS, PART_NAME

FOLDERS = (TABLES, "report", PLOTS)
ENDINGS = {".csv", ".json", ".md", ".svg", ".tex"}  # of the files that gradrank writes into FOLDERS


def check_output_folders(results: Path, data: Path = Path("data")) -> None:
    """Raise GradrankError if a folder that is an output contains files that gradrank does not write.

    These are the folders of tables, of a report and of plots, of text, of rows and of pairs. results: the results root.
    data: the folder with raw/, parquet/ and pairs/. Hidden files are ignored, because file managers write them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gradrank.bench.workflow_support.output_folders import check_output_folders
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tables = Path(folder, "mq2007/tables")
    ...     tables.mkdir(parents=True)
    ...     _ = (tables / "main.csv").write_text("")
    ...     check_output_folders(Path(folder))
    """
    patterns = [f"{above}{name}" for name in FOLDERS for above in ("", "*/", "studies/*/", "studies/*/*/")]
    files = [path for pattern in patterns for folder in results.glob(pattern) for path in sorted(folder.rglob("*"))]
    foreign = [*filter(_is_foreign, files), *_foreign_data(data)]
    if foreign:
        raise GradrankError(
            f"{', '.join(map(str, foreign[:3]))}{f' and {len(foreign) - 3} more' * (len(foreign) > 3)}: not written by "
            "gradrank, in a folder that the next run removes. Fix: move these files out of the folder. For archives of "
            "data sets, set GRADRANK_MIRROR to the new folder"
        )


def _foreign_data(data: Path) -> Iterator[Path]:
    """Yield the files of the stored data sets, and of their text, that gradrank does not write."""
    raw = {FETCHED, *raw_names()}
    for kind in ("raw", "parquet", "pairs"):
        for folder in sorted(data.glob(f"{kind}/*/")):
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder).as_posix()
                ours = name in raw if kind == "raw" else name in (COLLECTION, PAIRS) or PART_NAME.fullmatch(name)
                if not (ours or path.is_dir() or any(part.startswith(".") for part in path.relative_to(data).parts)):
                    yield path


def _is_foreign(path: Path) -> bool:
    return not path.is_dir() and not path.name.startswith(".") and path.suffix not in ENDINGS
