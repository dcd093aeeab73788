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


@pytest.mark.parametrize("file", ["raw/mq2007/MQ2007.rar", "parquet/mine/notes.txt", "pairs/mine/old/part1.parquet"])
def test_a_file_of_the_user_among_the_stored_data_stops_the_run(tmp_path, file):
    for name in ("raw/mq2007/Fold1/test.txt", "raw/mq2007/fetched.json", "parquet/mine/part12.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "parquet/mine/.snakemake_timestamp").touch()
    check_output_folders(tmp_path / "results", tmp_path)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    with pytest.raises(GradrankError, match=f"{file}.*GRADRANK_MIRROR"):
        check_output_folders(tmp_path / "results", tmp_path)
