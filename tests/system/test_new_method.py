"""A method that `gradrank new` has written fulfils the contract of all methods. Takes a minute on one core."""

import subprocess
import sys


def test_a_written_method_fulfils_the_contract_of_all_models(tmp_path):
    program = [sys.executable, "-m"]
    subprocess.run([*program, "gradrank", "new", "method", "new_method"], cwd=tmp_path, check=True)
    tests = ["pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "gradrank.training.contract.test_models"]
    done = subprocess.run([*program, *tests, "-k", "new_method"], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr
