"""How the program ends."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading, time
from gradrank import cli

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
def test_all_that_was_begun_is_ended_and_after_success_nothing_is_freed(code, last):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(code=code)], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.split("\n") == ["answer", "thread", "at exit", *last, ""]


def ended(redirected: str) -> subprocess.CompletedProcess:
    program = "import sys\nfrom gradrank import cli\ncli.app = lambda: (print('answer'), sys.exit(0))\ncli.main()"
    command = ["bash", "-c", f'exec "$0" -c "$1" {redirected}', sys.executable, program]
    return subprocess.run(command, text=True, capture_output=True)


def test_output_that_cannot_be_written_is_no_success():
    assert ended("> /dev/full").returncode != 0


@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_output_is_nothing_to_speak_of(redirected):
    done = ended(redirected)
    assert (done.returncode, done.stderr) == (0, "")
