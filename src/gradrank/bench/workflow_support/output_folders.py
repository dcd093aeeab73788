"""Files of the user in folders that are outputs of rules. Snakemake removes such a folder before it runs the job."""

from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import TABLES

FOLDERS = (TABLES, "report")
ENDINGS = {".csv", ".json", ".md", ".svg", ".tex"}  # of the files that gradrank writes into FOLDERS


def check_output_folders(results: Path) -> None:
    """Raise GradrankError if a folder of tables or of a report contains files that gradrank does not write.

    results: the results root. Hidden files are ignored, because file managers write them.

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
    foreign = [path for path in files if _is_foreign(path)]
    if foreign:
        raise GradrankError(
            f"{', '.join(map(str, foreign[:3]))}{f' and {len(foreign) - 3} more' * (len(foreign) > 3)}: not written by "
            "gradrank, in a folder that the next run removes. Fix: move these files out of the folder"
        )


def _is_foreign(path: Path) -> bool:
    return not path.is_dir() and not path.name.startswith(".") and path.suffix not in ENDINGS
