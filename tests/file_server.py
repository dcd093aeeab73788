"""A server on 127.0.0.1 that serves files, and that can fail in the ways of servers on the internet."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

STATUSES = (404, 416, 503)


class Stall(NamedTuple):
    """A request that gets `sent` bytes, and nothing more for `seconds` seconds. Then the connection closes."""

    sent: int
    seconds: float


Step = int | str | Stall


@contextmanager
def file_server(
    content: bytes | Mapping[str, bytes], plan: Sequence[Step] = (), ranges: bool = True, lengths: bool = True
) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Yield the address of the server, and the list of (path, value of the header Range) of the requests so far.

    Parameters
    ----------
    content
        The content of all paths, or a dict from path without the leading slash to content.
    plan
        The answers to the first requests, one after the other: an HTTP status, a number of bytes after which the
        connection drops, a path or an address to which the request is redirected, or a `Stall`. All later requests are
        answered in full.
    ranges
        False if the server ignores the header Range.
    lengths
        False if the server does not send the header Content-Length.
    """
    steps, requests, lock = list(plan), [], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            with lock:
                requests.append((self.path, asked))
                step = steps.pop(0) if steps else None
            body = content if isinstance(content, bytes) else content.get(self.path.lstrip("/"))
            if isinstance(step, str):
                self.send_response(302)
                self.send_header("Location", step)
                self.end_headers()
            elif isinstance(step, int) and step in STATUSES:
                self.send_error(step)
            elif body is None:
                self.send_error(404)
            else:
                self.send_body(body, asked if ranges else None, step)

        def send_body(self, body: bytes, asked: str | None, step: int | Stall | None) -> None:
            first = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if first >= len(body):
                self.send_error(416)
                return
            self.send_response(206 if asked else 200)
            if lengths:
                self.send_header("Content-Length", str(len(body) - first))
            self.end_headers()
            sent = step.sent if isinstance(step, Stall) else step
            self.wfile.write(body[first:][:sent])
            if isinstance(step, Stall):
                self.wfile.flush()
                threading.Event().wait(step.seconds)  # tests replace time.sleep

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        server.server_close()
