"""The end of the program: threads, exit handlers and output that cannot be written."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading, time
from gradrank.bench import cli

class Held:
    def __del__(self):
        print("freed")

def app():
    atexit.register(print, "at exit")
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
    print("answer")
    sys.exit({code})

held, cli.app = Held(), app
cli.main()
"""


@pytest.mark.parametrize(("code", "last"), [(0, []), (3, ["freed"])])
def test_threads_and_exit_handlers_end_and_objects_are_freed_only_after_a_failure(code, last):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(code=code)], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.split("\n") == ["answer", "thread", "at exit", *last, ""]


def run_redirected(redirected: str) -> subprocess.CompletedProcess:
    """Run the program in a shell with its output redirected."""
    program = "import sys\nfrom gradrank.bench import cli\ncli.app = lambda: (print('answer'), sys.exit(0))\ncli.main()"
    command = ["bash", "-c", f'exec "$0" -c "$1" {redirected}', sys.executable, program]
    return subprocess.run(command, text=True, capture_output=True)


def test_output_that_cannot_be_written_is_a_failure():
    assert run_redirected("> /dev/full").returncode != 0


@pytest.mark.parametrize(("redirected", "code"), [(">&-", 1), ("2>&-", 0), (">&- 2>&-", 1)])
def test_only_a_closed_standard_output_is_a_failure(redirected, code):
    done = run_redirected(redirected)
    assert done.returncode == code and "Traceback" not in done.stderr
