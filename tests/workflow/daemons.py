"""Background programs of a test: started together, none left behind."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


class Daemons:
    """Programs that run until they are killed or stopped, their output in <folder>/<name>.out."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.running: dict[str, subprocess.Popen] = {}

    def spawn(self, name: str, *command: str | Path, env: dict[str, str]) -> None:
        # setpriv: should the tests themselves be killed, the daemons follow them.
        with (self.folder / f"{name}.out").open("ab") as output:
            self.running[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                env=env,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """End one as a crash does."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End all, the last started first, whatever state they are in."""
        for process in reversed(self.running.values()):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def logs(self) -> str:
        """The end of everything that was written."""
        written = sorted({*self.folder.glob("*.log"), *self.folder.glob("*.out")})
        return "\n".join(f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}" for path in written)

    def wait_for(self, happened: Callable[[], object], what: str, seconds: float = 180) -> object:
        """What `happened` returns, as soon as that is true."""
        deadline = time.monotonic() + seconds
        while not (value := happened()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds} s for {what}\n{self.logs()}")
            time.sleep(0.1)
        return value


def kill_processes(*marks: str) -> int:
    """End those that have all marks (NAME=value) in their environment, at once; their number."""
    needed = {mark.encode() for mark in marks}
    killed = 0
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if needed <= set(environment.read_bytes().split(b"\0")):
                os.kill(int(environment.parent.name), signal.SIGKILL)
                killed += 1
    return killed


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
