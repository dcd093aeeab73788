"""Downloads from a server on 127.0.0.1, and fetches that are interrupted by a kill or a full disk."""

import errno
import subprocess
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.sources import download as download_module
from gradrank.data.sources.catalogue import Archive, Entry
from gradrank.data.sources.fetch import fetch
from made_archives import FILES, data, entry, known, sha, tiny, tree


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(download_module.time, "sleep", lambda _: None)


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "raw" / "tiny"


@pytest.fixture
def content(tmp_path) -> bytes:
    return tiny(tmp_path / "source").read_bytes()


@pytest.fixture
def serve():
    """`serve(content, plan)`: start a server on 127.0.0.1; return its address and the list of its requests.

    Each request takes the next item of the plan: an HTTP status, or the number of bytes to send before the connection
    closes. After the plan, every request is answered in full. With `ranges=False` the server ignores Range.
    """
    servers = []

    def start(content: bytes, plan=(), ranges=True):
        steps, requests = list(plan), []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append((self.path, self.headers.get("Range")))
                step = steps.pop(0) if steps else None
                if step in (404, 416, 503):
                    self.send_error(step)
                    return
                asked = self.headers.get("Range")
                first = int(asked.removeprefix("bytes=").rstrip("-")) if asked and ranges else 0
                if first >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206 if asked and ranges else 200)
                self.send_header("Content-Length", str(len(content) - first))
                self.end_headers()
                self.wfile.write(content[first:] if step is None else content[first:][:step])

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_without_a_network_all_remedies_are_named_without_waiting(out, serve, monkeypatch):
    address, _ = serve(b"")
    closed = address.rsplit(":", 1)[0] + ":1"
    monkeypatch.setattr(download_module.time, "sleep", lambda _: pytest.fail("waited for no network"))
    with pytest.raises(GradrankError, match=r"(?s)no connection.*Tiny\.zip.*Ask for it.*GRADRANK_MIRROR"):
        fetch(entry(Archive(name="Tiny.zip", urls=[f"{closed}/Tiny.zip"])), out)


def test_a_download_with_a_wrong_checksum_is_fetched_again_and_not_resumed(tmp_path, out, serve, content):
    bad_address, _ = serve(bytes(len(content)))
    with pytest.raises(GradrankError, match=sha(content)):
        fetch(known(content), out, bad_address)
    assert not tree(tmp_path / "raw")
    address, requests = serve(content)
    fetch(known(content), out, address + "/")
    assert data(out) == FILES and requests == [("/Tiny.tar.gz", None)]


def test_a_dropped_connection_is_resumed_at_the_same_byte(out, serve, content):
    half, drops = len(content) // 2, 2 * download_module.TRIES
    address, requests = serve(content, plan=[half, *[10] * drops])
    fetch(known(content), out, address)
    assert data(out) == FILES
    assert [asked for _, asked in requests] == [None] + [f"bytes={half + 10 * i}-" for i in range(drops + 1)]


def test_a_server_without_ranges_starts_again(out, serve, content):
    address, requests = serve(content, plan=[len(content) // 2], ranges=False)
    fetch(known(content), out, address)
    assert data(out) == FILES and len(requests) == 2


def test_a_server_that_stops_sending_is_an_error_and_the_next_call_resumes(out, serve, content):
    address, requests = serve(content, plan=[100] + [0] * download_module.TRIES)
    with pytest.raises(GradrankError, match="closed early, 4 times"):
        fetch(known(content), out, address)
    assert not (out / "fetched.json").exists()
    fetch(known(content), out, address)
    assert data(out) == FILES and requests[-1][1] == "bytes=100-"
    assert list(out.parent.iterdir()) == [out]


def test_a_partial_download_of_another_file_is_discarded(out, serve, content):
    left = out.parent / ".tiny.download/Tiny.tar.gz.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(content + b"more")
    address, requests = serve(content)
    fetch(known(content), out, address)
    assert data(out) == FILES and [asked is None for _, asked in requests] == [False, True]


def test_the_mirror_comes_first_busy_servers_are_retried_and_all_addresses_tried(tmp_path, out, serve, content):
    (empty, missed), (busy, requests) = serve(content, plan=[404]), serve(content, plan=[503, 503])
    urls = [f"{address}/Tiny.tar.gz" for address in (empty, busy)]
    archive = Archive(name="Tiny.tar.gz", urls=urls)
    assert fetch(entry(archive), out)["source"] == urls[1]
    assert (len(missed), len(requests)) == (1, 3)
    mirror, _ = serve(content)
    assert fetch(entry(archive), tmp_path / "again", mirror)["source"] == f"{mirror}/Tiny.tar.gz" and len(missed) == 1


CHILD = """
    import os, resource, signal, sys
    from gradrank.data.sources import archive
    from gradrank.data.sources import download
    from gradrank.data.sources import fetch
    from gradrank.data.sources.catalogue import Archive, Entry
    entry = Entry.model_validate_json(sys.argv[1])
    out, mirror = sys.argv[2:4]
    {trap}
    fetch.fetch(entry, out, mirror)
"""


def child(trap: str, described: Entry, out: Path, mirror: str) -> subprocess.CompletedProcess:
    """Run `fetch` in another process, after the statements of `trap`."""
    code = textwrap.dedent(CHILD).format(trap=trap)
    command = [sys.executable, "-c", code, described.model_dump_json(), str(out), mirror]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


KILLED_AT = {
    "unpacking": """
        import itertools
        seen, real = itertools.count(), archive._bounded
        def bounded(members, path):
            for member in real(members, path):
                next(seen) == 7 and os.kill(os.getpid(), signal.SIGKILL)
                yield member
        archive._bounded = bounded
    """,
    "installing": """
        from pathlib import Path
        real = Path.replace
        def replace(self, target):
            self.name == "Fold3" and os.kill(os.getpid(), signal.SIGKILL)
            return real(self, target)
        Path.replace = replace
    """,
    "before the record is written": """
        fetch.write_sealed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    """,
    "downloading": """
        download.Progress.show = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    """,
}


@pytest.mark.parametrize("moment", KILLED_AT)
def test_after_a_kill_at_any_moment_the_same_call_completes(out, serve, content, moment):
    address, _ = serve(content)
    killed = child(textwrap.dedent(KILLED_AT[moment]), known(content), out, address)
    assert killed.returncode == -9, killed.stderr
    assert not (out / "fetched.json").exists()
    fetch(known(content), out, address)
    assert data(out) == FILES and list(out.parent.iterdir()) == [out]


def test_a_full_disk_is_named_and_no_file_counts_as_finished(tmp_path, out):
    plain, packed = entry(Archive(name="Tiny.tar.gz")), tiny(tmp_path / "mirror")
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))"
    assert all(len(content) > 5000 for content in FILES.values())
    failed = child(limit, plain, out, str(packed.parent))
    assert failed.returncode == 1
    assert "GradrankError" in failed.stderr and "no space left" in failed.stderr
    assert not tree(tmp_path / "raw")
    fetch(plain, out, str(packed.parent))
    assert data(out) == FILES


def test_a_disk_that_fills_during_a_download_is_named_and_the_next_call_completes(out, serve, content, monkeypatch):
    address, requests = serve(content)
    with monkeypatch.context() as patch:
        patch.setattr(download_module.Progress, "show", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(GradrankError, match="no space left"):
            fetch(known(content), out, address)
    assert len(requests) == 1 and not out.exists()
    fetch(known(content), out, address)
    assert data(out) == FILES
