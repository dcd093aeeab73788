"""A Slurm of three nodes with accounting on this machine: all that it has lies in one folder."""

import os
import secrets
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from daemons import Daemons, free_ports, kill_processes

PROGRAMS = {
    "mariadb-server": ("mariadbd",),
    "munge": ("munged",),
    "slurmdbd": ("slurmdbd",),
    "slurm-wlm": (
        "slurmctld",
        "slurmd",
        "sbatch",
        "srun",
        "squeue",
        "sacct",
        "sacctmgr",
        "scancel",
        "scontrol",
    ),
    "util-linux": ("setpriv",),
}
NODES = ("node1", "node2", "node3")

CONFIGURATION = """\
ClusterName=gradrank
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
# A requeued job starts when its old credential has expired: 120 s if nothing is said.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
# No cgroups: containers and CI machines rarely hand them out. Memory is watched once a second instead.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={accounting_port}
AccountingStoragePass={folder}/munge.socket
AccountingStoreFlags=job_comment
SelectType=select/cons_tres
# A job goes to the node that has least to do: three jobs, three nodes.
SelectTypeParameters=CR_CPU_Memory,CR_LLN
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=1
SlurmdTimeout=10
ReturnToService=2
# The nodes claim more than there is, so that small jobs do not wait for one another.
SlurmdParameters=config_overrides
PartitionName=test Nodes=ALL Default=YES MaxTime=UNLIMITED PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=UNLIMITED PriorityTier=2
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=16 RealMemory=64000\n"
ACCOUNTING = """\
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={accounting_port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""


def missing() -> str | None:
    """Why no cluster can be started here, or None."""
    absent = {
        package: [program for program in programs if not shutil.which(program)]
        for package, programs in PROGRAMS.items()
    }
    wanted = [
        f"{package} ({', '.join(programs)} not found)" for package, programs in absent.items() if programs
    ]
    if wanted:
        return f"needs Debian's {', '.join(wanted)}"
    return None if os.geteuid() == 0 else "needs root: slurmd starts jobs for users"


class Cluster:
    """The daemons; `env` makes Slurm's commands speak to them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.configuration = folder / "slurm.conf"
        self.env = {"SLURM_CONF": str(self.configuration), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        self.daemons = Daemons(folder)
        self.wait_for = self.daemons.wait_for

    def start(self) -> "Cluster":
        for name in ("state", "spool", "bin", "database"):
            (self.folder / name).mkdir()
        # The plugin takes SLURM_CONF from a job's srun, which then looks in /etc/slurm.
        srun = self.folder / "bin/srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.configuration} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        self._configure()
        self._start_munged()
        self._start_database()
        self.start_accounting()
        # A cluster that accounting does not know is refused.
        added = ("sacctmgr", "--immediate", "add", "cluster", "gradrank")
        self.wait_for(lambda: self.slurm(*added, check=False), "slurmdbd to answer")
        self.start_controller()
        for name in NODES:
            self.start_node(name)
        self.wait_for(lambda: set(self.node_states().values()) == {"idle"}, "the nodes to be idle")
        return self

    def _configure(self) -> None:
        host = socket.gethostname().split(".")[0]
        controller, accounting, *nodes = free_ports(2 + len(NODES))
        values = {
            "folder": self.folder,
            "host": host,
            "controller_port": controller,
            "accounting_port": accounting,
        }
        lines = (
            NODE.format(name=name, host=host, port=port) for name, port in zip(NODES, nodes, strict=True)
        )
        for name, content in {
            "munge.key": secrets.token_bytes(1024),
            "slurmdbd.conf": ACCOUNTING.format(**values).encode(),
            "slurm.conf": (CONFIGURATION.format(**values) + "".join(lines)).encode(),
        }.items():
            (self.folder / name).write_bytes(content)
            (self.folder / name).chmod(0o600)

    def _start_munged(self) -> None:
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
        files |= {"log-file": "munged.log", "seed-file": "munged.seed"}
        # --force: a temporary folder is writable by others, which munged else refuses.
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._spawn("munged", "munged", "--foreground", "--force", *options)
        self.wait_for((self.folder / "munge.socket").exists, "munged's socket")

    def _start_database(self) -> None:
        """MariaDB behind a socket in the folder: no port, so no passwords and no tables of users."""
        files = {
            "datadir": "database",
            "socket": "mariadb.socket",
            "pid-file": "mariadb.pid",
            "log-error": "mariadb.log",
        }
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        quick = ("--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M")
        closed = ("--user=root", "--skip-networking", "--skip-grant-tables")
        self._spawn("mariadbd", "mariadbd", "--no-defaults", *closed, *quick, *options)
        self.wait_for((self.folder / "mariadb.socket").exists, "MariaDB's socket")

    def start_accounting(self) -> None:
        self._spawn("slurmdbd", "slurmdbd", "-D", MARIADB_UNIX_PORT=str(self.folder / "mariadb.socket"))

    def start_controller(self) -> None:
        self._spawn("slurmctld", "slurmctld", "-D")
        self.wait_for(lambda: "is UP" in self.slurm("scontrol", "ping", check=False), "slurmctld to answer")

    def start_node(self, name: str) -> None:
        # Slurm gives a job's processes this name; slurmd and what watches over the jobs inherit it.
        self._spawn(name, "slurmd", "-D", "-N", name, SLURMD_NODENAME=name)

    def slurm(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=os.environ | self.env, text=True, capture_output=True, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def node_states(self) -> dict[str, str]:
        lines = self.slurm("sinfo", "--noheader", "--Node", "--partition=test", "--format=%N %t", check=False)
        return dict(line.split() for line in lines.splitlines())

    def jobs(self, *states: str) -> dict[str, str]:
        """Slurm's ids of the jobs in these states (default: not yet ended), with their comments."""
        chosen = ["--states", ",".join(states)] if states else []
        lines = self.slurm("squeue", "--noheader", "--format=%A %k", *chosen).splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def node_of(self, job: str) -> str:
        return self.slurm("squeue", "--noheader", f"--jobs={job}", "--format=%N").strip()

    def accounted(self, folder: Path, *fields: str) -> list[tuple[str, ...]]:
        """These fields of what accounting keeps of every start of every job from a folder, in the jobs' order."""
        options = ("--allocations", "--duplicates", "--parsable2", "--noheader", "--starttime=now-1days")
        kept = ",".join(("WorkDir", "JobIDRaw", *fields))
        records = [line.split("|") for line in self.slurm("sacct", *options, f"--format={kept}").splitlines()]
        ordered = sorted(records, key=lambda record: int(record[1]))
        return [tuple(record[2:]) for record in ordered if record[0] == str(folder)]

    def cut_power(self, name: str) -> None:
        """Nothing of a node is left, and nobody says so to the controller."""
        self.daemons.kill(name)
        mark = f"SLURMD_NODENAME={name}"
        self.wait_for(lambda: not self._kill_processes(mark), f"{name}'s processes to be gone")

    def occupy(self, name: str) -> str:
        """Work that goes before all other takes a node for itself; its id."""
        options = (
            "--partition=urgent",
            "--exclusive",
            f"--nodelist={name}",
            "--output=/dev/null",
            "--comment=urgent",
        )
        return self.slurm("sbatch", "--parsable", *options, "--wrap=sleep 600").strip()

    def drain(self, name: str) -> None:
        self.slurm("scontrol", "update", f"nodename={name}", "state=drain", "reason=test")

    def bring_up(self, name: str) -> None:
        """A node that was drained or had no power is as all others again."""
        if name not in self.daemons.running:
            self.start_node(name)
        # Refused, and no harm, where the node has registered itself again already.
        self.slurm("scontrol", "update", f"nodename={name}", "state=resume", check=False)
        self.wait_for(lambda: self.node_states()[name] in ("idle", "mix", "alloc"), f"{name} to be up")

    def clear(self) -> None:
        """All nodes are up, and no job is left."""
        for node in NODES:
            self.bring_up(node)
        self.cancel(seconds=60)

    def cancel(self, seconds: float) -> None:
        """End all jobs, which may take so long."""
        self.slurm("scancel", "--user=root")
        self.wait_for(lambda: not self.jobs(), "the jobs to end", seconds)

    def stop(self) -> None:
        """End the daemons and every process of their jobs, whatever state they are in."""
        with suppress(AssertionError, OSError, subprocess.TimeoutExpired, TimeoutError):
            self.cancel(seconds=10)
        self.daemons.stop()
        self._kill_processes()

    def _kill_processes(self, *marks: str) -> int:
        return kill_processes(f"SLURM_CONF={self.configuration}", *marks)

    def _spawn(self, name: str, *command: str, **env: str) -> None:
        self.daemons.spawn(name, *command, env=os.environ | self.env | env)
