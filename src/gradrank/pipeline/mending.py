"""What is damaged is made again first, by itself; then the same call begins again and finds its results up to date.

In one plan Snakemake would train every model again for a file of data that comes out with the same bytes. So what is
made of something else that is damaged waits for a call of its own.
"""

import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from gradrank.pipeline.damage import put_aside, to_mend
from gradrank.results import PER_QUERY

DONE = "GRADRANK_MENDED"  # in the environment of the call that begins again: the files that were made again


class Mending:
    """files: what is made again, each with the target that makes it; asked: the call's own targets meanwhile."""

    def __init__(self) -> None:
        self.files: dict[Path, Path] = {}
        self.asked: set[str] = set()

    def begin(self, workflow: Any, names: Collection[str]) -> None:
        """Ask Snakemake for what is damaged of these data sets and studies, if anything is; a dry run is only told.

        Raises WorkflowError where it was just made, and is damaged again.
        """
        from snakemake.exceptions import WorkflowError

        found = to_mend(names)
        for path in found:
            print(
                f"{path}: gone, damaged or edited since it was made; it is made again first", file=sys.stderr
            )
        if workflow.output_settings.dryrun:
            return
        for line in put_aside():
            print(line, file=sys.stderr)
        done = os.environ.pop(DONE, "").split(os.pathsep)
        if again := [path for path in done if Path(path) in found]:
            raise WorkflowError(f"{again[0]}: damaged as soon as it was made: does something else write it?")
        if found:
            first = min(map(stage, found))
            self.files = {path: target for path, target in found.items() if stage(path) == first}
            self.asked = set(workflow.dag_settings.targets)
            os.environ[DONE] = os.pathsep.join([*done, *map(str, self.files)])
            workflow.dag_settings.targets = set(map(str, self.files.values()))
            workflow.dag_settings.forcerun = workflow.dag_settings.targets


def stage(path: Path) -> int:
    """How far from the text a file is made: data; what is measured; summaries and pages; the report."""
    if path.parts[0] == "data":
        return ("raw", "parquet", "pairs").index(path.parts[1])
    if len(path.parts) == 2 or path.parts[1] == "report":
        return 5
    return 3 if path.name == PER_QUERY or path.parent.name == "jobs" else 4


def before_execution(workflow: Any, act: Callable[[], None]) -> None:
    """Have Snakemake call this when its settings are known and nothing is planned yet."""
    execute = workflow.execute

    def then(*arguments: Any, **named: Any) -> Any:
        act()
        return execute(*arguments, **named)

    workflow.execute = then
