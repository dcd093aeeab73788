"""A Slurm cluster of one node with accounting on this machine.

All its files are in one folder, and no file under /etc is changed. It needs root, because slurmd starts jobs for users.
"""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("mariadbd", "munged", "slurmdbd", "slurmctld", "slurmd", "sbatch", "srun", "sacct", "setpriv")
CONFIGURATION = """\
ClusterName=gradrank
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
# Containers and CI machines rarely have cgroups: Slurm reads each process's memory once per second instead.
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={accounting}
AccountingStoragePass={folder}/munge.socket
AccountingStoreFlags=job_comment
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
KillWait=1
# The node claims more processors and memory than there are, so that small jobs do not wait for each other.
SlurmdParameters=config_overrides
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs=16 RealMemory=64000
PartitionName=test Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=short Nodes=ALL MaxTime=180
"""
ACCOUNTING = """\
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={accounting}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""


def missing() -> str | None:
    """Return why no cluster can be started here, or None."""
    if absent := [program for program in PROGRAMS if not shutil.which(program)]:
        return f"needs Debian's slurm-wlm, slurmdbd, munge and mariadb-server ({', '.join(absent)} not found)"
    return None if os.geteuid() == 0 else "needs root: slurmd starts jobs for users"


class Cluster:
    """The daemons of a cluster. Slurm's commands use this cluster if they run with the environment `env`."""

    def __init__(self, folder: Path):
        self.folder = folder
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.env = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": path}
        self.daemons: list[subprocess.Popen] = []

    def start(self) -> "Cluster":
        for name in ("state", "spool", "bin", "database"):
            (self.folder / name).mkdir()
        # The Slurm plugin removes SLURM_CONF from the environment in which a job calls srun.
        srun = self.folder / "bin/srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        self._configure()
        self._start_munge()
        self._start_database()
        self._spawn("slurmdbd", "-D", MARIADB_UNIX_PORT=f"{self.folder}/database.socket")
        self.wait_for(lambda: self.slurm("sacctmgr", "--immediate", "add", "cluster", "gradrank"), "slurmdbd")
        self._spawn("slurmctld", "-D")
        self._spawn("slurmd", "-D", "-N", "node")
        self.wait_for(lambda: "idle" in self.slurm("sinfo", "--noheader", "--format=%t"), "the node")
        return self

    def _configure(self) -> None:
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        ports = [server.getsockname()[1] for server in sockets]
        for server in sockets:
            server.close()
        values = dict(zip(("controller", "accounting", "node"), ports, strict=True))
        values |= {"folder": self.folder, "host": socket.gethostname().split(".")[0]}
        for name, content in {
            "munge.key": secrets.token_bytes(1024),
            "slurmdbd.conf": ACCOUNTING.format(**values).encode(),
            "slurm.conf": CONFIGURATION.format(**values).encode(),
        }.items():
            (self.folder / name).write_bytes(content)
            (self.folder / name).chmod(0o600)

    def _start_munge(self) -> None:
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
        files |= {"log-file": "munged.log", "seed-file": "munged.seed"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        # --force: munged otherwise refuses a temporary folder, which others may write to.
        self._spawn("munged", "--foreground", "--force", *options)
        self.wait_for((self.folder / "munge.socket").exists, "munged")

    def _start_database(self) -> None:
        closed = ("--no-defaults", "--user=root", "--skip-networking", "--skip-grant-tables")
        files = {"datadir": "database", "socket": "database.socket", "pid-file": "database.pid"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._spawn("mariadbd", *closed, "--innodb-log-file-size=8M", *options)
        self.wait_for((self.folder / "database.socket").exists, "mariadbd")

    def _spawn(self, program: str, *arguments: str, **env: str) -> None:
        """Start a daemon that ends with the tests, even if those are killed."""
        command = ["setpriv", "--pdeathsig", "KILL", program, *arguments]
        with (self.folder / f"{program}.log").open("ab") as log:
            self.daemons.append(subprocess.Popen(command, env=self.env | env, stdout=log, stderr=log))

    def slurm(self, *command: str) -> str:
        """Return the output of a Slurm command; empty if it fails."""
        return subprocess.run(command, env=self.env, text=True, capture_output=True, timeout=60).stdout

    def queue(self, field: str = "%A") -> list[str]:
        """Return a field of every job in the queue: by default its id."""
        return self.slurm("squeue", "--noheader", f"--format={field}").split()

    def accounted(self, folder: Path, *fields: str) -> list[tuple[str, ...]]:
        """Return these fields for every job that was submitted from a folder, in the order of submission."""
        options = ("--allocations", "--parsable2", "--noheader", "--starttime=now-1days")
        lines = self.slurm("sacct", *options, f"--format={','.join(('WorkDir', *fields))}").splitlines()
        records = [tuple(line.split("|")) for line in lines]
        return [record[1:] for record in records if record[0] == str(folder)]

    def wait_for(self, happened: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + 300
        while not happened():
            logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
            assert time.monotonic() < deadline, f"waited too long for {what}\n{logs}"
            time.sleep(0.2)

    def clear(self) -> None:
        """Cancel all jobs and wait for their end."""
        self.slurm("scancel", "--user=root")
        self.wait_for(lambda: not self.queue(), "the jobs to end")

    def stop(self) -> None:
        """Kill the daemons, the last one first. Their state is not needed again."""
        for daemon in reversed(self.daemons):
            daemon.kill()
            daemon.wait()
