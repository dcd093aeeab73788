import pytest
from pydantic import ValidationError

from gradrank.base.errors import GradrankError
from gradrank.data.sources.catalogue import Archive, Entry, SingleFile, catalogue, check_counts, get_entry
from gradrank.measures.conventions import CONVENTIONS

GENERATED = ["synthetic_net", "synthetic_poly"]
LICENSED = ["mq2007", "ohsumed", "mq2008", "mslr_web10k", "mslr_web30k", "istella", "yahoo_ltrc"]
PUBLIC = ["clueweb09", "yandex_imat2009"]


def meta(entry: Entry, **changes) -> dict:
    """Return collection.json as parsing would write it for the published collection, with all rows in one part."""
    labels = {str(grade): rows for grade, rows in entry.labels.items()}
    counts = {"rows": entry.rows, "queries": entry.queries, "features": entry.features}
    return {**counts, "parts": {"1": {"labels": labels}}, **changes}


def test_the_named_data_sets_are_there():
    access = {"artificial": GENERATED, "licensed": LICENSED, "public": PUBLIC}
    assert list(catalogue()) == GENERATED + LICENSED + PUBLIC
    assert {name: entry.access for name, entry in catalogue().items()} == {
        name: kind for kind, names in access.items() for name in names
    }


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry.name)
def test_an_entry_says_what_its_user_needs(entry):
    assert entry.title and entry.about and entry.citation and entry.licence and entry.features
    if not entry.generator:
        assert (entry.archives or entry.files) and entry.obtain and entry.homepage and entry.rows and entry.queries
    if entry.labels:
        assert sum(entry.labels.values()) == entry.rows
    for archive in entry.archives:
        assert all(len(digest) == 64 and int(digest, 16) for digest in archive.sha256)
        assert all(len(digest) == 32 and int(digest, 16) for digest in archive.md5)
    assert entry.convention in (None, *CONVENTIONS)
    assert not {*entry.rename} - {file.name for file in entry.files} or entry.archives


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(GradrankError, match=r"mq2077.*did you mean 'mq2007'"):
        get_entry("mq2077")


@pytest.mark.parametrize("name", ["../MQ2007.zip", "a/b.zip", "data.tar", "data"])
def test_archive_names_are_plain_and_of_a_known_kind(name):
    with pytest.raises(ValidationError):
        Archive(name=name)


@pytest.mark.parametrize("name", ["../a.txt", "/a.txt", "a/../b.txt", ".hidden", "a//b.txt", "a\\b.txt", ""])
def test_names_of_single_files_stay_below_their_folder(name):
    with pytest.raises(ValidationError):
        SingleFile(name=name, sha256="0" * 64, bytes=1)


def test_archives_and_single_files_exclude_each_other():
    file = SingleFile(name="Fold1/a.txt.gz", sha256="0" * 64, bytes=1)
    fields = {"name": "x", "title": "T", "about": "A", "citation": "C", "licence": "L"}
    with pytest.raises(ValidationError, match="archives"):
        Entry(**fields, archives=(Archive(name="a.zip"),), files=(file,))


def test_counts_of_the_published_collection_pass():
    check_counts(catalogue()["mq2007"], meta(catalogue()["mq2007"]))
    check_counts(catalogue()["mq2008"], meta(catalogue()["mq2008"], parts={"1": {"labels": {"0": 15211}}}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": 69622}, "rows: found 69622, expected 69623"),
        ({"queries": 1700}, "queries: found 1700, expected 1692"),
        ({"features": 47}, "features: found 47, expected 46"),
        ({"parts": {"1": {"labels": {"0": 51632, "1": 14128}}, "2": {"labels": {"2": 3862, "1": 1}}}}, "labels"),
    ],
)
def test_another_collection_is_refused(changes, message):
    entry = catalogue()["mq2007"]
    with pytest.raises(GradrankError, match=message):
        check_counts(entry, meta(entry, **changes))
