"""Hides what only POSIX systems have, before gradrank is imported. Importing this module hides it for the process.

To run tests of the library in this way: `PYTHONPATH=tests pytest -p without_posix -p no:xdist tests/unit/measures`.
"""

import os
import sys

MODULES = ("fcntl", "grp", "pwd", "termios")
FUNCTIONS = ("fork", "geteuid", "mkfifo", "register_at_fork")

for module in MODULES:
    sys.modules[module] = None  # type: ignore[assignment] - an import is a ModuleNotFoundError
for function in FUNCTIONS:
    delattr(os, function)
