"""Data sets of several files, from a server on 127.0.0.1 that fails in every way."""

import subprocess
import sys
from pathlib import Path

import pytest

from file_server import Stall
from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed
from gradrank.data.sources import download as download_module
from gradrank.data.sources.catalogue import Entry, SingleFile, get_entry
from gradrank.data.sources.fetch import fetch
from made_archive import data, entry, sha, tree

CONTENT = {f"Fold{fold}/test.txt": f"{fold} qid:{fold} 1:0.5\n".encode() * 900 for fold in range(1, 6)}
RENAME = {name: f"S{number}.txt" for number, name in enumerate(CONTENT, start=1)}
EXPECTED = {RENAME[name]: content for name, content in CONTENT.items()}
BELOW = {f"tiny/{name}": content for name, content in CONTENT.items()}  # as on a mirror

pytestmark = pytest.mark.usefixtures("no_waiting")


def listed(address: str | None = None, **changes) -> Entry:
    """Return the entry of a data set of five files. address: where they are public; None if they are not."""
    files = tuple(
        SingleFile(
            name=name, sha256=sha(content), bytes=len(content), urls=(f"{address}/public/{name}",) if address else ()
        )
        for name, content in CONTENT.items()
    )
    return entry(root="", files=files, rename=RENAME, **changes)


def paths(requests) -> list[str]:
    return [path for path, _ in requests]


def test_a_mirror_has_the_files_below_the_name_of_the_data_set(out, serve):
    address, requests = serve(BELOW)
    fetched = fetch(listed(), out, f"{address}/")
    assert data(out) == EXPECTED and paths(requests) == [f"/{name}" for name in BELOW]
    assert (
        fetched == read_sealed(out / "fetched.json")
        and fetched["source"].split()[0] == f"{address}/tiny/Fold1/test.txt"
    )
    assert list(out.parent.iterdir()) == [out]


def test_a_folder_can_be_the_mirror(tmp_path, out):
    for name, content in BELOW.items():
        (tmp_path / "mirror" / name).parent.mkdir(parents=True)
        (tmp_path / "mirror" / name).write_bytes(content)
    assert fetch(listed(), out, str(tmp_path / "mirror"))["source"] == str(tmp_path / "mirror/tiny")
    assert data(out) == EXPECTED


def test_files_that_the_mirror_lacks_come_from_their_public_addresses(out, serve):
    public, asked = serve({f"public/{name}": content for name, content in CONTENT.items()})
    mirror, _ = serve({name: content for name, content in BELOW.items() if "Fold2" not in name})
    fetch(listed(public), out, mirror)
    assert data(out) == EXPECTED and paths(asked) == ["/public/Fold2/test.txt"]


def test_a_file_that_nobody_has_is_named_with_its_addresses_and_what_to_do(out, serve):
    address, requests = serve({name: content for name, content in BELOW.items() if "Fold3" not in name})
    public, _ = serve({})
    with pytest.raises(GradrankError) as error:
        fetch(listed(public), out, address)
    said = [f"{address}/tiny/Fold3/test.txt: HTTP 404", f"{public}/public/Fold3/test.txt: HTTP 404", "Fix:"]
    assert all(part in str(error.value) for part in [*said, "tiny/Fold1/test.txt", "Ask for it.", "a licence to read"])
    assert not out.exists() and len(requests) == 3


def test_after_an_interruption_complete_files_are_kept_and_the_broken_one_is_resumed(out, serve):
    address, requests = serve(BELOW, plan=[*[1 << 20] * 2, 500, *[0] * download_module.TRIES])
    with pytest.raises(GradrankError, match="closed early"):
        fetch(listed(), out, address)
    assert not out.exists()
    del requests[:]
    fetch(listed(), out, address)
    assert data(out) == EXPECTED
    assert requests == [("/tiny/Fold3/test.txt", "bytes=500-"), *((f"/tiny/Fold{k}/test.txt", None) for k in (4, 5))]


@pytest.mark.parametrize("ranges", [True, False])
def test_dropped_connections_with_and_without_ranges(out, serve, ranges):
    address, requests = serve(BELOW, plan=[100, 200, 503], ranges=ranges)
    fetch(listed(), out, address)
    assert data(out) == EXPECTED and len(requests) == 3 + len(CONTENT)


def test_a_redirected_request_is_resumed_as_well(out, serve):
    storage, stored = serve(CONTENT["Fold1/test.txt"], plan=[700])
    address, _ = serve(BELOW, plan=[f"{storage}/object"] * 2)
    fetch(listed(), out, address)
    assert data(out) == EXPECTED and stored == [("/object", None), ("/object", "bytes=700-")]


def test_redirects_in_a_circle_are_an_error_that_names_the_address(out, serve):
    address, _ = serve(BELOW, plan=["/tiny/Fold1/test.txt"] * 50)
    with pytest.raises(GradrankError, match=r"tiny/Fold1/test\.txt: HTTP 302"):
        fetch(listed(), out, address)


def test_a_server_that_stalls_is_asked_again_where_it_stopped(out, serve, monkeypatch):
    monkeypatch.setattr(download_module, "TIMEOUT", 1.0)
    address, requests = serve(BELOW, plan=[Stall(300, 10.0)])
    fetch(listed(), out, address)
    assert data(out) == EXPECTED
    assert [asked for path, asked in requests if "Fold1" in path] == [None, "bytes=300-"]


def test_a_server_that_always_stalls_is_given_up(out, serve, monkeypatch):
    monkeypatch.setattr(download_module, "TIMEOUT", 0.05)
    address, _ = serve(BELOW, plan=[Stall(0, 10.0)] * 2 * download_module.TRIES)
    with pytest.raises(GradrankError, match=rf"Fold1/test\.txt: .*timed out.*{download_module.TRIES} times"):
        fetch(listed(), out, address)
    assert not out.exists()


@pytest.mark.parametrize("lengths", [True, False])
def test_a_wrong_checksum_names_the_address_and_only_this_file_is_fetched_again(out, serve, lengths):
    wrong = BELOW | {"tiny/Fold4/test.txt": b"another edition"}
    address, _ = serve(wrong, lengths=lengths)
    with pytest.raises(GradrankError) as error:
        fetch(listed(), out, address)
    said = (f"{address}/tiny/Fold4/test.txt", sha(b"another edition"), sha(CONTENT["Fold4/test.txt"]), "Fix:")
    assert all(part in str(error.value) for part in said) and not out.exists()
    good, requests = serve(BELOW)
    fetch(listed(), out, good)
    assert data(out) == EXPECTED and paths(requests) == [f"/tiny/Fold{k}/test.txt" for k in (4, 5)]


def test_a_body_without_a_length_that_is_cut_off_is_noticed_by_its_checksum(out, serve):
    address, _ = serve(BELOW, plan=[400], lengths=False)
    with pytest.raises(GradrankError, match=r"Fold1/test\.txt: its sha256"):
        fetch(listed(), out, address)
    fetch(listed(), out, address)
    assert data(out) == EXPECTED


def test_a_wrong_file_in_a_folder_is_named(tmp_path, out):
    for name, content in (BELOW | {"tiny/Fold5/test.txt": b"x"}).items():
        (tmp_path / "mirror" / name).parent.mkdir(parents=True)
        (tmp_path / "mirror" / name).write_bytes(content)
    with pytest.raises(GradrankError, match=r"mirror/tiny/Fold5/test\.txt: its sha256"):
        fetch(listed(), out, str(tmp_path / "mirror"))
    assert not tree(out.parent)


FETCH = """
import sys
from gradrank.data.sources.catalogue import Entry
from gradrank.data.sources.fetch import fetch
fetch(Entry.model_validate_json(sys.argv[1]), sys.argv[2], sys.argv[3])
"""


def test_processes_that_fetch_the_same_folder_at_once_wait_for_each_other(out, serve):
    address, requests = serve(BELOW, plan=[Stall(10, 0.5), 20, 30])
    command = [sys.executable, "-c", FETCH, listed().model_dump_json(), str(out), address]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], errors
    assert data(out) == EXPECTED and list(out.parent.iterdir()) == [out]
    assert len(requests) == len(CONTENT) + 3


@pytest.mark.parametrize("name", ["clueweb09", "yandex_imat2009"])
def test_the_public_collections_from_a_server(name, mirror, tmp_path, serve):
    described = get_entry(name)
    content = {f"{name}/{file.name}": (mirror / name / file.name).read_bytes() for file in described.files}
    address, requests = serve(content, plan=[100_000])
    command = [Path(sys.executable).with_name("gradrank"), "fetch", name, "--out", tmp_path / name, "--mirror", address]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = {described.rename[file.name]: content[f"{name}/{file.name}"] for file in described.files}
    assert data(tmp_path / name) == expected and requests[1][1] == "bytes=100000-"


def test_progress_is_written_in_lines_where_there_is_no_terminal(out, serve, monkeypatch, capfd):
    clock = iter(range(0, 10_000, 3))
    monkeypatch.setattr(download_module.time, "monotonic", lambda: next(clock))
    address, _ = serve(BELOW)
    fetch(listed(), out, address)
    assert "test.txt: 0.0 of 0.0 MB" in capfd.readouterr().err
