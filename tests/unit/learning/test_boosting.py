"""How LightGBM is imported: without what takes longer than itself, and to nobody's harm."""

import subprocess
import sys

JOB = "from gradrank.learning.boosting import lightgbm; lightgbm().Booster; import sys; "


def test_lightgbm_comes_without_the_packages_that_nothing_here_gives_it():
    subprocess.run(
        [sys.executable, "-c", JOB + "assert not {'pandas', 'sklearn'} & sys.modules.keys()"], check=True
    )


def test_they_are_found_where_the_program_has_them_or_asks_for_them_later():
    code = f"import gradrank, pandas; {JOB}import lightgbm.compat, sklearn; assert lightgbm.compat.PANDAS_INSTALLED"
    subprocess.run([sys.executable, "-c", code], check=True)
