"""`gradrank init` writes the files of a checkout or describes the user's data, and overwrites no file."""

from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import load
from gradrank.bench.config.project_folder import FILES, init
from gradrank.data.sources.synthetic import generate

ROOT = Path(__file__).parents[4]


def test_the_written_files_are_those_of_the_checkout(tmp_path):
    written = init(tmp_path / "new/folder")
    assert sorted(written) == sorted(path for path in (tmp_path / "new/folder").rglob("*") if path.is_file())
    for name in FILES.keys() - {"dvc.yaml"}:
        assert (tmp_path / "new/folder" / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_own_data_are_described_by_a_valid_params_yaml(tmp_path, monkeypatch):
    data = tmp_path / 'my "own": data'
    generate("net", 10, 8, 3, data)
    init(tmp_path / "project", data)
    params = load(tmp_path / "project/params.yaml")
    assert params.datasets["my_data"].path == data and params.run.datasets == ("my_data",)
    assert params.convention("my_data") == "standard" and params.datasets["my_data"].title == data.name

    init(tmp_path, data)
    monkeypatch.chdir(tmp_path)
    assert load().datasets["my_data"].path == Path(data.name)


def test_an_interrupted_call_is_completed_by_the_same_call(tmp_path):
    written = init(tmp_path / "new")
    written[1].unlink()
    written[2].unlink()
    assert init(tmp_path / "new") == written and all(path.is_file() for path in written)
    written[0].write_text("mine")
    with pytest.raises(GradrankError, match=r"params.yaml already exist"):
        init(tmp_path / "new")


def test_existing_files_are_named_and_not_overwritten(tmp_path):
    (tmp_path / "params.yaml").write_text("mine")
    (tmp_path / "dvc.yaml").symlink_to("gone")
    with pytest.raises(GradrankError, match=r"params.yaml, dvc.yaml already exist"):
        init(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dvc.yaml", "params.yaml"]
    assert (tmp_path / "params.yaml").read_text() == "mine"


def test_a_folder_without_a_collection_is_refused_before_any_file_is_written(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(GradrankError, match="no collection here: expected"):
        init(tmp_path / "new", tmp_path / "data")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["{fold}", "a{", "<x>", "in <results>"])
def test_a_path_that_snakemake_would_replace_is_refused(tmp_path, name):
    data = tmp_path / name
    generate("net", 10, 8, 3, data)
    with pytest.raises(GradrankError, match="Fix: "):
        init(tmp_path / "project", data)
    assert not (tmp_path / "project").exists()


def test_a_project_is_completed_without_a_change_of_its_files(tmp_path):
    init(tmp_path)
    (tmp_path / "params.yaml").write_text("mine")
    (tmp_path / "dvc.yaml").unlink()
    init(tmp_path, complete=True)
    assert (tmp_path / "params.yaml").read_text() == "mine" and (tmp_path / "dvc.yaml").is_file()
    (tmp_path / "Snakefile").unlink()  # a folder with another params.yaml, which is not a project of gradrank
    with pytest.raises(GradrankError, match=r"params.yaml already exist"):
        init(tmp_path, complete=True)
