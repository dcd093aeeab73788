"""Fixtures of the tests of fetching."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gradrank.data.sources import download as download_module
from made_archive import tiny


@pytest.fixture
def no_waiting(monkeypatch):
    """Skip the pauses between attempts to download."""
    monkeypatch.setattr(download_module.time, "sleep", lambda _: None)


@pytest.fixture
def out(tmp_path) -> Path:
    """The folder of the fetched data set."""
    return tmp_path / "raw" / "tiny"


@pytest.fixture
def content(tmp_path) -> bytes:
    """The bytes of the archive."""
    return tiny(tmp_path / "source").read_bytes()


@pytest.fixture
def serve():
    """Start servers on 127.0.0.1; `serve(content, plan)` returns an address and the list of requests it got.

    The plan's next item is what a request meets: an HTTP status, or how many bytes are sent before the
    connection drops. After the plan every request is answered in full. `ranges=False` ignores Range.
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
