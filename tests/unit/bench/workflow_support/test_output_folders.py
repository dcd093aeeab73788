"""Files of the user in folders that Snakemake removes are found before a run."""

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.workflow_support.output_folders import check_output_folders


@pytest.mark.parametrize(
    "folder",
    ["report", "report/mq2007", "mq2007/tables", "mq2007/report", "studies/arsm/tables", "studies/arsm/reduced/tables"],
)
def test_a_file_that_gradrank_does_not_write_stops_the_run(tmp_path, folder):
    place = tmp_path / folder
    place.mkdir(parents=True)
    for name in ("main.csv", "main-letor4.tex", "spread.svg", "files.json", ".DS_Store"):
        (place / name).touch()
    check_output_folders(tmp_path)
    (place / "notes.txt").touch()
    with pytest.raises(GradrankError, match=f"{folder}/notes.txt"):
        check_output_folders(tmp_path)
