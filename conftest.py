"""Settings of all tests, of the package and of the studies."""

from hypothesis import settings

import gradrank

gradrank.pin()  # before numpy, which every test imports

# The first call after a change of compiled code exceeds any deadline, because it compiles.
settings.register_profile("compiling", deadline=None)
settings.load_profile("compiling")
