"""load_dataset, its cache on disk, and the table of all data sets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from gradrank.base.errors import GradrankError
from gradrank.base.extensions import Extension
from gradrank.base.files import host_name
from gradrank.data import datasets as module
from gradrank.data.datasets import DOCUMENTS, QUERIES, SEED, cached_collection, datasets, load_dataset
from gradrank.data.parse import parse
from gradrank.data.sources import catalogue as catalogues
from gradrank.data.sources.catalogue import Archive, Entry, catalogue
from gradrank.data.sources.synthetic import draw, generate
from gradrank.data.stored import StoredCollection
from made_archive import entry, pack

PARAMS = Path(__file__).resolve().parents[3] / "params.yaml"


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    monkeypatch.delenv("GRADRANK_MIRROR", raising=False)
    monkeypatch.delenv("GRADRANK_CACHE", raising=False)


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    """A cache with the artificial data; not to be changed."""
    folder = tmp_path_factory.mktemp("cache")
    load_dataset("synthetic_net", cache=folder)
    return folder


def archive_of(folder: Path, name: str = "small") -> Entry:
    """Write an archive with five parts of artificial data, and return its entry."""
    generate("net", 10, 6, 1, folder / "source")
    members = {f"S{part}.txt": (folder / f"source/S{part}.txt").read_bytes() for part in range(1, 6)}
    pack(folder / "mirror" / f"{name}.zip", members)
    return entry(Archive(name=f"{name}.zip"), root="")


def test_artificial_data_are_the_drawn_features_and_grades_in_the_rotation_of_letor(cache):
    features, labels = draw("net", QUERIES, DOCUMENTS, SEED)
    per_part = QUERIES // 5 * DOCUMENTS
    for fold in range(1, 6):
        data = load_dataset("synthetic_net", fold, cache=cache)
        assert data.fold == fold and data.name == "synthetic_net"
        rotated = [(fold - 1 + k) % 5 for k in range(5)]
        for part, numbers in ((data.train, rotated[:3]), (data.vali, rotated[3:4]), (data.test, rotated[4:])):
            rows = np.concatenate([np.arange(k * per_part, (k + 1) * per_part) for k in numbers])
            np.testing.assert_array_equal(part.X, features[rows])
            np.testing.assert_array_equal(part.y, labels[rows])
            np.testing.assert_array_equal(part.qid, rows // DOCUMENTS + 1)
            expected = [f"Q{row // DOCUMENTS + 1}-D{row % DOCUMENTS + 1}" for row in rows]
            assert part.docid is not None and part.docid.tolist() == expected
            assert (part.X.dtype, part.y.dtype, part.qid.dtype) == (np.float32, np.int32, np.int64)


def test_size_and_seed_are_those_of_params_yaml():
    params = yaml.safe_load(PARAMS.read_text())
    assert params["seed"] == SEED
    for name, described in catalogue().items():
        if described.generator:
            assert params["datasets"][name] == {"queries": QUERIES, "documents": DOCUMENTS}


def test_the_stored_files_are_those_of_the_workflow(cache, tmp_path):
    generate("net", QUERIES, DOCUMENTS, SEED, tmp_path / "raw")
    parse(tmp_path / "raw", tmp_path / "parquet", SEED, "synthetic_net")
    stored = load_dataset("synthetic_net", cache=cache).stored
    assert stored.description == StoredCollection.open(tmp_path / "parquet").description


def test_the_frame_has_the_rows_of_the_arrays(cache):
    data = load_dataset("synthetic_net", cache=cache)
    frame = data.vali.frame
    assert frame.columns == ["qid", "label", "docid", *data.feature_names] and len(data.feature_names) == 50
    np.testing.assert_array_equal(frame.select(data.feature_names).to_numpy(), data.vali.X)
    np.testing.assert_array_equal(frame["label"].to_numpy(), data.vali.y)
    np.testing.assert_array_equal(frame["qid"].to_numpy(), data.vali.qid)
    assert frame["docid"].to_list() == list(data.vali.docid)


def test_feature_names_of_a_table_are_column_names_and_text_ids_are_kept(tmp_path):
    table = pl.DataFrame(
        {
            "query_id": [f"q{k // 2}" for k in range(20)],
            "label": [0, 1] * 10,
            "bm25": np.arange(20.0),
            "age": [1.5] * 20,
        }
    )
    table.write_parquet(tmp_path / "mine.parquet")
    parse(tmp_path / "mine.parquet", tmp_path / "stored", 1, "mine")
    data = module.RankingDataset(StoredCollection.open(tmp_path / "stored"), 1, "Mine")
    assert data.feature_names == ["bm25", "age"] and data.test.docid is None
    assert data.test.frame.columns == ["qid", "query", "label", "bm25", "age"]
    known = dict(zip(table["bm25"], table["query_id"], strict=True))
    assert data.train.frame["query"].to_list() == [known[value] for value in data.train.frame["bm25"]]


def test_the_description_counts_what_the_arrays_contain(cache):
    data = load_dataset("synthetic_poly", 3, cache=cache)
    described = data.describe()
    assert described["part"].to_list() == ["train", "vali", "test"]
    for row, part in zip(described.iter_rows(named=True), (data.train, data.vali, data.test), strict=True):
        sizes = np.unique(part.qid, return_counts=True)[1]
        assert (row["rows"], row["queries"]) == (len(part.y), len(sizes)) == (part.rows, part.queries)
        assert [row[f"documents_{name}"] for name in ("min", "median", "max")] == [30, 30, 30]
        assert [row[f"grade_{grade}"] for grade in range(6)] == np.bincount(part.y, minlength=6).tolist()
    assert "synthetic_poly" in repr(data) and "fold 3 of 5" in repr(data) and "900" in repr(data)
    assert data._repr_html_().startswith("<table>") and "train" in repr(data.train)


def test_only_the_parts_that_are_used_are_read(tmp_path, cache):
    copied = shutil.copytree(cache, tmp_path / "cache")
    data = load_dataset("synthetic_net", cache=copied)
    for path in copied.rglob("part[1-4].parquet"):
        path.unlink()
    assert len(data.test.X) == 300  # part 5
    with pytest.raises(GradrankError, match=r"part1\.parquet"):
        data.train.X  # noqa: B018


def test_the_second_call_reads_the_cache(cache, monkeypatch):
    monkeypatch.setattr(module, "_make", lambda *_: pytest.fail("made again"))
    load_dataset("synthetic_net", 2, cache=cache)


@pytest.mark.parametrize("name", ["collection.json", "part2.parquet"])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"{}")])
def test_a_damaged_data_set_in_the_cache_is_made_again(tmp_path, cache, name, damage):
    copied = shutil.copytree(cache, tmp_path / "cache")
    for path in copied.glob(f"synthetic_net-*/{name}"):
        damage(path)
    data = load_dataset("synthetic_net", cache=copied)
    np.testing.assert_array_equal(data.train.X, load_dataset("synthetic_net", cache=cache).train.X)
    assert not list(copied.glob(".*"))


def test_another_checksum_or_another_code_does_not_read_old_files(tmp_path, monkeypatch):
    first = archive_of(tmp_path)
    mirror = str(tmp_path / "mirror")
    folders = {cached_collection(first, mirror, tmp_path / "cache").path}
    folders.add(cached_collection(first.model_copy(update={"title": "Other words"}), None, tmp_path / "cache").path)
    assert len(folders) == 1
    checked = first.model_copy(update={"archives": (Archive(name="small.zip", sha256=("0" * 64,)),)})
    with pytest.raises(GradrankError, match="sha256"):
        cached_collection(checked, mirror, tmp_path / "cache")
    monkeypatch.setattr(module, "_code_digest", lambda: "another version of the parser")
    folders.add(cached_collection(first, mirror, tmp_path / "cache").path)
    assert len(folders) == 2


def test_public_data_are_downloaded_once(tmp_path, serve):
    described = archive_of(tmp_path)
    content = (tmp_path / "mirror/small.zip").read_bytes()
    address, requests = serve(content)
    public = described.model_copy(update={"archives": (Archive(name="small.zip", urls=(f"{address}/small.zip",)),)})
    assert public.access == "public"
    for _ in range(2):
        assert cached_collection(public, None, tmp_path / "cache").rows == 60
    assert len(requests) == 1


def test_the_mirror_and_the_cache_are_read_from_the_environment(tmp_path, monkeypatch):
    described = archive_of(tmp_path)
    monkeypatch.setenv("GRADRANK_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("GRADRANK_CACHE", str(tmp_path / "from environment"))
    assert cached_collection(described, None, None).path.parent == tmp_path / "from environment"


def test_licensed_data_without_a_copy_name_the_page_and_leave_nothing(tmp_path):
    with pytest.raises(
        GradrankError, match=r"(?s)mslr.*MSLR-WEB10K\.zip.*Accept the licence.*https://.*GRADRANK_MIRROR"
    ):
        load_dataset("mslr_web10k", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mq2077",), "did you mean 'mq2007'"),
        ((None,), "^name: "),
        (("mq2007", 6), "^fold: 6 .*folds 1 to 5"),
        (("istella", 2), "^fold: 2 .*only fold 1"),
        (("mq2007", 0), "^fold: 0"),
        (("mq2007", True), "^fold: True"),
        (("mq2007", "1"), "^fold: '1'"),
        (("mq2007", 1.5), "^fold: 1.5"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_fetched(tmp_path, arguments, message):
    with pytest.raises(GradrankError, match=message):
        load_dataset(*arguments, cache=tmp_path / "cache", mirror=tmp_path)
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(GradrankError, match=r"^cache: .*GRADRANK_CACHE"):
        load_dataset("synthetic_net", cache=tmp_path / "file" / "cache")


CALL = """
import sys
from pathlib import Path
from gradrank.data import datasets
make, barrier = datasets._make, Path(sys.argv[1])
def _make(*arguments):
    (barrier / f"ready {sys.argv[2]}").touch()
    while len(list(barrier.glob("ready *"))) < 3:
        pass
    return make(*arguments)
datasets._make = _make
print(datasets.load_dataset("synthetic_net", cache=barrier / "cache").test.X.sum())
"""


def test_processes_that_make_the_same_data_set_at_the_same_time_agree(tmp_path):
    command = [sys.executable, "-c", CALL, str(tmp_path)]
    running = [subprocess.Popen([*command, str(k)], stdout=subprocess.PIPE, text=True) for k in range(3)]
    printed = [process.communicate()[0] for process in running]
    assert len(set(printed)) == 1 and [process.returncode for process in running] == [0, 0, 0]
    (made,) = (tmp_path / "cache").iterdir()
    assert made.name.startswith("synthetic_net-")


KILLED = """
import os, signal, sys
from gradrank.data import datasets
datasets._publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
datasets.load_dataset("synthetic_net", cache=sys.argv[1])
"""


def test_what_a_killed_process_left_is_not_read_and_is_removed(tmp_path):
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)]).returncode < 0
    (tmp_path / ".thesis.partial").mkdir()
    (tmp_path / f".synthetic_net.{host_name()}.{os.getpid()}-1.partial").mkdir()  # of a running process
    load_dataset("synthetic_net", cache=tmp_path)
    assert len([path for path in tmp_path.iterdir() if path.name.startswith(".")]) == 2
    shutil.rmtree(tmp_path / ".thesis.partial")
    shutil.rmtree(tmp_path / f".synthetic_net.{host_name()}.{os.getpid()}-1.partial")
    load_dataset("synthetic_poly", cache=tmp_path)
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == ["synthetic_net", "synthetic_poly"]


@pytest.mark.parametrize("name", ["mq2007", "ohsumed"])
def test_the_real_collections_are_those_that_the_workflow_stores(name, mirror, request, tmp_path):
    stored = StoredCollection.open(request.getfixturevalue(name))
    data = load_dataset(name, 4, mirror=mirror, cache=tmp_path)
    assert data.stored.checksums == stored.checksums
    for split, numbers in stored.fold(4).items():
        collection, part = stored.read(numbers), getattr(data, split)
        np.testing.assert_array_equal(part.X, collection.features)
        np.testing.assert_array_equal(part.y, collection.labels)
        np.testing.assert_array_equal(np.unique(part.qid), np.sort(collection.qids))


def test_the_table_has_one_row_per_entry_with_its_access():
    table = datasets()
    assert table["name"].to_list() == list(catalogue())
    access = dict(zip(table["name"], table["access"], strict=True))
    assert access["synthetic_net"] == "artificial" and access["mq2007"] == "licensed"
    row = table.filter(name="ohsumed").row(0, named=True)
    assert (row["rows"], row["queries"], row["features"], row["folds"]) == (16140, 106, 45, 5)
    assert "OHSUMED.tar.xz (1.1 MB)" in row["archives"] and row["homepage"].startswith("https://")


@pytest.fixture
def other_package(tmp_path, monkeypatch):
    """A function that makes packages with a catalogue.yaml visible as extensions."""
    monkeypatch.syspath_prepend(tmp_path)
    catalogues.catalogue.cache_clear()

    def make(**texts: str) -> None:
        found = []
        for package, text in texts.items():
            (tmp_path / package).mkdir()
            (tmp_path / package / "__init__.py").touch()
            (tmp_path / package / "catalogue.yaml").write_text(text)
            found.append(Extension(package, package.replace("_", "-"), "1.0"))
        monkeypatch.setattr(catalogues, "extensions", lambda group: tuple(found))

    yield make
    catalogues.catalogue.cache_clear()


VALID = "{}: {{title: T, about: A, citation: C, licence: L, archives: [{{name: a.zip}}]}}\n"


def test_another_package_adds_data_sets(other_package):
    other_package(first_extension=VALID.format("one"), second_extension=VALID.format("two"))
    assert list(catalogue())[-2:] == ["one", "two"] and datasets()["name"].to_list()[-1] == "two"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"other_extension": VALID.format("mq2007")}, r"'mq2007' in gradrank and other-extension 1\.0"),
        ({"third_extension": VALID.format("x"), "fourth_extension": VALID.format("x")}, "third-.* and fourth-"),
        ({"broken_extension": "a: [1"}, r"broken-extension 1\.0.*catalogue\.yaml"),
        ({"list_extension": "[1]"}, "list-extension"),
        ({"keys_extension": VALID.format("x").replace("about", "abuot")}, "x.abuot: unknown key"),
        ({"name_extension": VALID.format("My-Data")}, "My-Data.name"),
        ({"made_extension": "x: {title: T, about: A, citation: C, licence: L, generator: net}"}, "x.generator"),
    ],
)
def test_a_wrong_catalogue_of_another_package_is_an_error_that_names_the_package(other_package, texts, message):
    other_package(**texts)
    with pytest.raises(GradrankError, match=message):
        catalogue()
