"""The reports in docs/upstream.md, each as a minimal case. A test passes as long as the fault is there.

If a test fails after an upgrade, the fault may be repaired: remove its report and its test, and the code or the option
that avoids the fault. The programs of Slurm are stand-ins that record their calls, so no cluster is needed.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("snakemake", reason="needs snakemake: pip install '.[workflow]'")

PAGE = Path(__file__).resolve().parents[2] / "docs/upstream.md"
RULE = """
rule a:
    output: "a.txt"
    params: value=config.get("value", 1)
    shell: "sleep {seconds}; echo {{params.value}} > {{output}}"
"""
# Each stand-in appends its name and arguments to `calls`. The states that squeue and sacct print are in `states`.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> {folder}/calls
case "$(basename "$0")" in
  sbatch) cat > /dev/null; echo $(( $(grep -c ^sbatch {folder}/calls) )) ;;
  squeue|sacct) . {folder}/answer ;;
  scontrol) echo "MinJobAge = 300 sec" ;;
  sinfo) echo "part*" ;;
  sacctmgr) echo me ;;
esac
"""
PROGRAMS = ("sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr")
SLURM = ("--executor", "slurm", "--jobs", "1", "--slurm-init-seconds-before-status-checks", "1")
SLURM += ("--default-resources", "slurm_account=me", "slurm_partition=part", "runtime=9", "mem_mb=9")


class Case(NamedTuple):
    """A folder with a Snakefile and stand-ins for Slurm's programs."""

    folder: Path

    def write(self, rules: str) -> None:
        (self.folder / "Snakefile").write_text(rules, encoding="utf-8")

    def answer(self, script: str) -> None:
        """Let squeue and sacct run these lines of a shell."""
        (self.folder / "answer").write_text(script + "\n", encoding="utf-8")

    def calls(self, program: str) -> list[str]:
        """Return the calls of a stand-in."""
        log = self.folder / "calls"
        lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
        return [line for line in lines if line.startswith(f"{program} ")]

    def start(self, *options: str, python: str | Path = sys.executable) -> subprocess.Popen:
        """Start Snakemake in a process group of its own. Its output is in `log`."""
        environment = os.environ | {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        command = [python, "-m", "snakemake", "--snakefile", "Snakefile", *options]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def run(self, *options: str, python: str | Path = sys.executable) -> str:
        """Run Snakemake to its end, and return all output until then."""
        self.start(*options, python=python).wait(timeout=300)
        return (self.folder / "log").read_text(encoding="utf-8")

    def generic(self, submit: str) -> tuple[str, ...]:
        """Return the options of an executor that submits with this script and takes every job as running."""
        for name, text in (("submit", submit), ("status", "#!/bin/sh\necho running\n")):
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)
        commands = ("--cluster-generic-submit-cmd", "./submit", "--cluster-generic-status-cmd", "./status")
        return ("--executor", "cluster-generic", "--jobs", "1", *commands)


def wait_for(condition: Callable[[], object], running: subprocess.Popen | None = None, seconds: float = 240) -> None:
    """Wait for the state in which the fault shows. Fails if it does not come, or if Snakemake ends before."""
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, "the case did not reach the state in which the fault shows"
        assert running is None or running.poll() is None, "Snakemake ended early; its folder has its output in `log`"
        time.sleep(0.2)


def end(process: subprocess.Popen) -> None:
    """Kill Snakemake, as `kill -9` does."""
    process.kill()
    process.wait()


@pytest.fixture
def case(tmp_path) -> Iterator[Case]:
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        (tmp_path / "bin" / name).write_text(STAND_IN.format(folder=tmp_path), encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    made = Case(tmp_path)
    made.write(RULE.format(seconds=0))
    made.answer('echo "1|RUNNING"')
    return made


@pytest.fixture
def slurm() -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="needs snakemake-executor-plugin-slurm")


@pytest.fixture
def generic() -> None:
    pytest.importorskip(
        "snakemake_executor_plugin_cluster_generic", reason="needs snakemake-executor-plugin-cluster-generic"
    )


def test_with_sacct_a_cancelled_job_counts_as_running(case, slurm):
    case.answer('echo "1|CANCELLED by 0"')
    running = case.start(*SLURM, "--slurm-status-command", "sacct")
    wait_for(lambda: len(case.calls("sacct")) >= 2, running)
    assert running.poll() is None
    end(running)


def test_jobs_are_lost_if_no_status_query_is_answered(case, slurm):
    case.answer("exit 1")
    running = case.start(*SLURM, "--slurm-status-command", "squeue", "--slurm-status-attempts", "1")
    wait_for(lambda: case.calls("squeue"), running)
    case.answer('echo "1|COMPLETED"')
    time.sleep(20)  # the next query would come after 11 s
    assert len(case.calls("squeue")) == 1 and running.poll() is None
    end(running)


def test_snakemake_waits_for_a_job_that_squeue_no_longer_lists(case, slurm):
    running = case.start(*SLURM, "--slurm-status-command", "squeue")
    wait_for(lambda: case.calls("squeue"), running)
    case.answer("true")
    wait_for(lambda: len(case.calls("squeue")) >= 3, running)
    assert running.poll() is None and case.calls("sacct") == []
    end(running)


def test_jobs_of_a_killed_snakemake_are_submitted_again(case, slurm):
    for count in (1, 2):
        running = case.start(*SLURM, "--slurm-status-command", "squeue", "--rerun-incomplete")
        wait_for(lambda count=count: len(case.calls("sbatch")) == count and len(case.calls("squeue")) >= count, running)
        end(running)
        case.run("--unlock")
    assert case.calls("scancel") == []


def test_ctrl_c_during_a_status_query_cancels_no_job(case, slurm):
    case.answer('sleep 5; echo "1|RUNNING"')
    running = case.start(*SLURM, "--slurm-status-command", "squeue")
    wait_for(lambda: case.calls("squeue"), running)
    running.send_signal(signal.SIGINT)
    running.wait(timeout=120)
    assert case.calls("scancel") == []


def test_a_remote_job_that_ends_after_snakemake_was_killed_has_no_metadata(case, generic):
    case.write(RULE.format(seconds=15))
    options = case.generic('#!/bin/sh\nsetsid sh "$1" > job.log 2>&1 < /dev/null &\necho 1\n')
    running = case.start(*options)
    wait_for(lambda: (case.folder / "job.log").is_file(), running)
    end(running)
    wait_for(lambda: (case.folder / "a.txt").is_file())
    time.sleep(10)  # the end of the job's own Snakemake
    case.run("--unlock")
    assert "Nothing to be done" in case.run("--dry-run", "--config", "value=2")


def test_the_path_of_the_interpreter_is_not_quoted_in_a_remote_job(case, generic):
    folder = case.folder / "an environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "shared.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    running = case.start(*case.generic('#!/bin/sh\ncp "$1" job\necho 1\n'), python=folder / "bin/python")
    wait_for(lambda: (case.folder / "job").is_file() and (case.folder / "job").stat().st_size, running)
    script = (case.folder / "job").read_text(encoding="utf-8")
    end(running)
    assert re.search(rf"(?<!['\"]){re.escape(str(folder))}/bin/python\S* -m snakemake", script)


LOGGER = """
from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase):
    def __post_init__(self):
        self.baseFilename = "events"
        open(self.baseFilename, "w").close()

    def emit(self, record):
        event = getattr(record, "event", None)
        if event is not None:
            with open(self.baseFilename, "a") as stream:
                print(event.name, *vars(record), file=stream)

    writes_to_stream = writes_to_file = has_filter = has_formatter = needs_rulegraph = False
"""


def test_events_have_other_fields_than_documented(case):
    (case.folder / "snakemake_logger_plugin_fields").mkdir()  # Snakemake finds plugins that are packages
    (case.folder / "snakemake_logger_plugin_fields/__init__.py").write_text(LOGGER, encoding="utf-8")
    python = case.folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{case.folder}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    log = case.run("--cores", "1", "--logger", "fields", python=python)
    assert (case.folder / "events").is_file(), log
    lines = (case.folder / "events").read_text(encoding="utf-8").splitlines()
    fields = {event: set(names) for event, *names in map(str.split, lines)}
    assert "stats" in fields["RUN_INFO"] and not {"per_rule_job_counts", "total_job_count"} & fields["RUN_INFO"]
    assert "jobs" in fields["JOB_STARTED"] and "job_ids" not in fields["JOB_STARTED"]


def test_a_rule_that_is_derived_from_a_local_rule_is_not_local(case, generic):
    case.write(
        'rule b_file:\n    input: "b.txt"\n'
        'rule a:\n    output: "a.txt"\n    localrule: True\n    shell: "echo 1 > {output}"\n'
        'use rule a as b with:\n    output: "b.txt"\n'
    )
    running = case.start(*case.generic("#!/bin/sh\ntouch submitted\necho 1\n"))
    wait_for(lambda: (case.folder / "submitted").exists() or running.poll() is not None)
    end(running)
    assert (case.folder / "submitted").exists() and not (case.folder / "b.txt").exists()


def test_every_report_names_its_case_or_says_why_there_is_none():
    tests = {name for name in globals() if name.startswith("test_")}
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    named = [re.findall(r"^Case: `(test_\w+)`|^(No case): ", section, re.M) for section in sections]
    assert [section.partition("\n")[0] for section, found in zip(sections, named, strict=True) if len(found) != 1] == []
    cases = [found[0][0] for found in named if found[0][0]]
    assert {*cases} == tests - {test_every_report_names_its_case_or_says_why_there_is_none.__name__}
