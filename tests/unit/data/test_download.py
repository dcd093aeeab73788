"""Downloads that are interrupted, from a server on 127.0.0.1, and fetching in processes that are killed."""

import errno
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.sources import download as download_module
from gradrank.data.sources.catalogue import Archive, Entry
from gradrank.data.sources.fetch import fetch
from made_archive import FILES, data, entry, known, tiny, tree

pytestmark = pytest.mark.usefixtures("no_waiting")


def test_a_connection_dropped_half_way_is_taken_up_where_it_broke(out, serve, content):
    half, drops = len(content) // 2, 2 * download_module.TRIES
    address, requests = serve(content, plan=[half, *[10] * drops])
    fetch(known(content), out, address)
    assert data(out) == FILES
    assert [asked for _, asked in requests] == [None] + [f"bytes={half + 10 * i}-" for i in range(drops + 1)]


def test_a_server_without_ranges_starts_again(out, serve, content):
    address, requests = serve(content, plan=[len(content) // 2], ranges=False)
    fetch(known(content), out, address)
    assert data(out) == FILES and len(requests) == 2


def test_a_server_that_sends_nothing_more_is_given_up_and_later_resumed(out, serve, content):
    address, requests = serve(content, plan=[100] + [0] * download_module.TRIES)
    with pytest.raises(GradrankError, match="closed early, 4 times"):
        fetch(known(content), out, address)
    assert not (out / "fetched.json").exists()
    fetch(known(content), out, address)
    assert data(out) == FILES and requests[-1][1] == "bytes=100-"
    assert list(out.parent.iterdir()) == [out]


def test_a_leftover_of_another_file_is_thrown_away(out, serve, content):
    left = out.parent / ".tiny.download/Tiny.tar.gz.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(content + b"more")
    address, requests = serve(content)
    fetch(known(content), out, address)
    assert data(out) == FILES and [asked is None for _, asked in requests] == [False, True]


def test_a_busy_server_is_asked_again_a_missing_file_elsewhere_and_the_mirror_first(tmp_path, out, serve, content):
    (empty, missed), (busy, requests) = serve(content, plan=[404]), serve(content, plan=[503, 503])
    urls = [f"{address}/Tiny.tar.gz" for address in (empty, busy)]
    archive = Archive(name="Tiny.tar.gz", urls=urls)
    assert fetch(entry(archive), out)["source"] == urls[1]
    assert (len(missed), len(requests)) == (1, 3)
    mirror, _ = serve(content)
    assert fetch(entry(archive), tmp_path / "again", mirror)["source"] == f"{mirror}/Tiny.tar.gz" and len(missed) == 1


CHILD = """
    import os, resource, signal, sys
    from gradrank.data.sources import download
    from gradrank.data.sources import fetch
    from gradrank.data.sources.catalogue import Archive, Entry
    entry = Entry.model_validate_json(sys.argv[1])
    out, mirror = sys.argv[2:4]
    {trap}
    fetch.fetch(entry, out, mirror)
"""


def child(trap: str, described: Entry, out: Path, mirror: str) -> subprocess.CompletedProcess:
    """`fetch` in another process, after the statements of `trap`."""
    code = textwrap.dedent(CHILD).format(trap=trap)
    command = [sys.executable, "-c", code, described.model_dump_json(), str(out), mirror]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


KILLED_AT = {
    "unpacking": """
        import itertools
        seen, real = itertools.count(), download._bounded
        def bounded(members, path):
            for member in real(members, path):
                next(seen) == 7 and os.kill(os.getpid(), signal.SIGKILL)
                yield member
        download._bounded = bounded
    """,
    "installing": """
        from pathlib import Path
        real = Path.replace
        def replace(self, target):
            "Fold3" in self.parts and os.kill(os.getpid(), signal.SIGKILL)
            return real(self, target)
        Path.replace = replace
    """,
    "before the last word": """
        fetch.write_sealed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    """,
    "downloading": """
        download.Progress.show = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    """,
}


@pytest.mark.parametrize("moment", KILLED_AT)
def test_killed_at_any_moment_the_same_call_completes(out, serve, content, moment):
    address, _ = serve(content)
    killed = child(textwrap.dedent(KILLED_AT[moment]), known(content), out, address)
    assert killed.returncode == -9, killed.stderr
    assert not (out / "fetched.json").exists()
    fetch(known(content), out, address)
    assert data(out) == FILES and list(out.parent.iterdir()) == [out]


def test_a_full_disk_is_said_so_and_nothing_counts_as_finished(tmp_path, out):
    plain, packed = entry(Archive(name="Tiny.tar.gz")), tiny(tmp_path / "mirror")
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))"
    assert all(len(content) > 5000 for content in FILES.values())
    failed = child(limit, plain, out, str(packed.parent))
    assert failed.returncode == 1
    assert "GradrankError" in failed.stderr and "no space left" in failed.stderr
    assert not tree(tmp_path / "raw")
    fetch(plain, out, str(packed.parent))
    assert data(out) == FILES


def test_a_disk_that_fills_while_downloading_keeps_what_can_be_resumed(out, serve, content, monkeypatch):
    address, requests = serve(content)
    with monkeypatch.context() as patch:
        patch.setattr(download_module.Progress, "show", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(GradrankError, match="no space left"):
            fetch(known(content), out, address)
    assert len(requests) == 1 and not out.exists()
    fetch(known(content), out, address)
    assert data(out) == FILES
