"""A Slurm of one node on this machine: munged, slurmctld and slurmd under one folder, gone afterwards."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "setpriv")

CONFIGURATION = """\
ClusterName=gradrank
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
# A requeued job starts when its old credential has expired: 120 s if nothing is said.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
# No cgroups: containers and CI machines rarely hand them out. Memory is watched once a second instead.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
MinJobAge=3600
KillWait=1
SlurmdTimeout=10
ReturnToService=2
# The node claims more than it has, so that small jobs do not wait for one another.
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000
PartitionName=test Nodes={host} Default=YES MaxTime=UNLIMITED
"""


def missing() -> str | None:
    """Why no cluster can be started here, or None."""
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    if absent:
        return f"needs Debian's slurm-wlm and munge ({', '.join(absent)} not found)"
    return None if os.geteuid() == 0 else "needs root: slurmd starts jobs for users"


class Cluster:
    """The three daemons; `env` makes Slurm's commands speak to them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]
        self.configuration = folder / "slurm.conf"
        self.env = {"SLURM_CONF": str(self.configuration), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        self.daemons: dict[str, subprocess.Popen] = {}

    def start(self) -> "Cluster":
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir()
        # The plugin takes SLURM_CONF from a job's srun, which then looks in /etc/slurm.
        srun = self.folder / "bin/srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.configuration} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        (self.folder / "munge.key").write_bytes(secrets.token_bytes(1024))
        (self.folder / "munge.key").chmod(0o600)
        controller_port, node_port = _free_ports(2)
        self.configuration.write_text(
            CONFIGURATION.format(
                folder=self.folder,
                host=self.host,
                controller_port=controller_port,
                node_port=node_port,
            )
        )
        self.start_munged()
        self.start_controller()
        self.start_node()
        self.wait_for(lambda: self.node_state() == "idle", "the node to be idle")
        return self

    def start_munged(self) -> None:
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
        files |= {"log-file": "munged.log", "seed-file": "munged.seed"}
        # --force: a temporary folder is writable by others, which munged else refuses.
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._spawn("munged", "--foreground", "--force", *options)
        self.wait_for((self.folder / "munge.socket").exists, "munged's socket")

    def start_controller(self) -> None:
        self._spawn("slurmctld", "-D")
        self.wait_for(lambda: "is UP" in self.slurm("scontrol", "ping", check=False), "slurmctld to answer")

    def start_node(self) -> None:
        self._spawn("slurmd", "-D")

    def kill(self, daemon: str) -> None:
        """End a daemon as a crash does."""
        process = self.daemons.pop(daemon)
        process.kill()
        process.wait()

    def slurm(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=os.environ | self.env, text=True, capture_output=True, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def node_state(self) -> str:
        return self.slurm("sinfo", "--noheader", "--format=%t", check=False).strip()

    def jobs(self, *states: str) -> dict[str, str]:
        """Slurm's ids of the jobs in these states (default: not yet ended), with their comments."""
        chosen = ["--states", ",".join(states)] if states else []
        lines = self.slurm("squeue", "--noheader", "--format=%A %k", *chosen).splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def times(self) -> dict[str, tuple[str, str]]:
        """When each job started and ended (ISO 8601, whole seconds), by Slurm's id."""
        lines = self.slurm("squeue", "--noheader", "--states=all", "--format=%A %S %e").splitlines()
        return {job: (started, ended) for job, started, ended in map(str.split, lines)}

    def wait_for(self, happened: Callable[[], object], what: str, seconds: float = 180) -> object:
        deadline = time.monotonic() + seconds
        while not (value := happened()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds} s for {what}\n{self.logs()}")
            time.sleep(0.1)
        return value

    def logs(self) -> str:
        tails = [path.read_text(errors="replace")[-2000:] for path in sorted(self.folder.glob("*.log"))]
        return "\n".join(tails)

    def stop(self) -> None:
        """End the daemons and every process of their jobs, whatever state they are in."""
        with suppress(AssertionError, OSError, subprocess.TimeoutExpired):
            self.slurm("scancel", "--user=root")
            self.wait_for(lambda: not self.jobs(), "the jobs to end", seconds=10)
        for process in reversed(self.daemons.values()):
            process.terminate()
        for process in self.daemons.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self._kill_processes()

    def take_node_down(self, job: str) -> None:
        """As if its power failed: what the job runs is gone at once.

        Slurm itself would end it politely, and without cgroups may miss what has lost its parent.
        """
        self.slurm("scontrol", "update", f"nodename={self.host}", "state=down", "reason=test")
        self.wait_for(
            lambda: not self._kill_processes(f"SLURM_JOB_ID={job}"), "the job's processes to be gone"
        )

    def bring_node_up(self) -> None:
        """Refused, and no harm, where the node has registered itself again already."""
        self.slurm("scontrol", "update", f"nodename={self.host}", "state=resume", check=False)
        self.wait_for(lambda: self.node_state() in ("idle", "mix", "alloc"), "the node to be up")

    def _kill_processes(self, *marks: str) -> int:
        """End those that have this cluster's configuration, and all marks, in their environment; their number."""
        needed = {mark.encode() for mark in (f"SLURM_CONF={self.configuration}", *marks)}
        killed = 0
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if needed <= set(environment.read_bytes().split(b"\0")):
                    os.kill(int(environment.parent.name), signal.SIGKILL)
                    killed += 1
        return killed

    def _spawn(self, program: str, *arguments: str) -> None:
        # setpriv: should the tests themselves be killed, the daemons follow them.
        with (self.folder / f"{program}.out").open("ab") as output:
            self.daemons[program] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", program, *arguments],
                env=os.environ | self.env,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
