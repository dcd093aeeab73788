"""What `gradrank study NAME` writes: page.json for the report, page.md, a CSV a table, and numbers.json.

numbers.json and page.md hold no times: equal results give equal bytes, and they are in git.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gradrank.files import atomic, write_json
from gradrank.pipeline.studies import get_study
from gradrank.report.tables.table import Table, markdown, write_csv
from gradrank.results import StudyFolder
from gradrank.studies.kit.study import Figure, Inputs, Section

DIGITS = 6  # of the numbers in numbers.json


def study(name: str, inputs: Inputs) -> None:
    """Build the study `name` into `inputs.folder`; page.json, which the report looks for, is written last.

    Raises GradrankError for an unknown study or results that are missing.
    """
    found, folder = get_study(name), StudyFolder(inputs.folder)
    sections = get_study(name, "page").build(inputs)
    tables = list(_tables(sections))
    folder.tables_path.mkdir(
        parents=True, exist_ok=True
    )  # an output of the rule, of a study without tables too
