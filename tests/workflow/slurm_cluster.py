# SPDX-License-Identifier: BSD-3-Clause
"""A SLURM of one node on this machine, for tests: daemons on the loopback, in a temporary folder.

They listen on free ports and authenticate by their own munge socket. Only /etc/slurm/slurm.conf and gres.conf must
be in SLURM's folder: its executor plugin removes SLURM_CONF from the environment. They are links to files of the
temporary folder, and removed at the end. Existing files are not changed.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
PLACE = Path("/etc/slurm")
FILES = ("slurm.conf", "gres.conf")
PREFIX = "rbmbench-slurm-"
LOCK = Path(tempfile.gettempdir(), "rbmbench-slurm.lock")
SLURM_CONF = """
ClusterName=rbmbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
MpiDefault=none
ReturnToService=2
MinJobAge=3600
KillWait=1
DefMemPerCPU=200
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=8000 Gres=gpu:fake:1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes={host} Default=YES MaxTime=1-00:00:00 PriorityTier=2 PreemptMode=OFF
PartitionName=requeued Nodes={host} MaxTime=1-00:00:00
PartitionName=cancelled Nodes={host} MaxTime=1-00:00:00 PreemptMode=CANCEL
"""
GRES_CONF = "Name=gpu Type=fake File=/dev/null\n"


def what_is_missing() -> str | None:
    """Return in one line why no SLURM can be started here, or None."""
    lacking = [program for program in PROGRAMS if not _program(program)]
    if lacking:
        return f"no SLURM to test with: {', '.join(lacking)} not installed (packages slurm-wlm and munge)"
    if os.geteuid() != 0:
        return "no SLURM to test with: its daemons can only be started by root"
    foreign = [file for file in (PLACE / name for name in FILES) if file.exists() and _folder_of_link(file) is None]
    return f"no SLURM to test with: {foreign[0]} is of another cluster" if foreign else None


@dataclass(frozen=True)
class Cluster:
    """A running SLURM."""

    folder: Path

    def command(self, *words: str) -> str:
        """Return the output of a command of SLURM."""
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def jobs(self, comment: str, states: str = "all") -> list[str]:
        """Return the ids of jobs, the newest last, whose comment contains a text, such as the name of a rule."""
        lines = self.command("squeue", "--noheader", f"--states={states}", "--format=%i %k", "--sort=i").splitlines()
        return [line.split()[0] for line in lines if comment in line]

    def show(self, job: str) -> dict[str, str]:
        """Return SLURM's properties of a job."""
        words = self.command("scontrol", "--oneliner", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def stop_controller(self) -> None:
        """Stop the controller; jobs continue."""
        _stop(self.folder, ["slurmctld"])

    def start_controller(self) -> None:
        """Start the controller again, with its jobs."""
        _start_daemon("slurmctld")


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Yield a running SLURM, one at a time on this machine, and stop it at the end."""
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in FILES:
            _clear(_folder_of_link(PLACE / name))  # left by killed tests
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        folder.chmod(0o755)
        try:
            _write_files(folder)
            _start(folder)
            yield Cluster(folder)
        finally:
            _clear(folder)


def _clear(folder: Path | None) -> None:
    """Stop the daemons of a folder, and remove it and the links to it."""
    if folder is None:
        return
    if _node_state():
        subprocess.run(["scancel", "--quiet", "--user=root"], check=False, capture_output=True)
    _stop(folder)
    for name in FILES:
        (PLACE / name).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _folder_of_link(file: Path) -> Path | None:
    """Return the folder of a test that a file of SLURM links to, or None."""
    try:
        folder = Path(os.readlink(file)).parent
    except OSError:
        return None
    return folder if folder.name.startswith(PREFIX) else None


def _write_files(folder: Path) -> None:
    """Write the configuration and link it into SLURM's folder."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    controller_port, node_port = _free_ports(2)
    host = socket.gethostname().split(".")[0]
    values = {"host": host, "folder": folder, "controller_port": controller_port, "node_port": node_port}
    (folder / "slurm.conf").write_text(SLURM_CONF.format(**values))
    (folder / "gres.conf").write_text(GRES_CONF)
    PLACE.mkdir(exist_ok=True)
    for name in FILES:
        (PLACE / name).symlink_to(folder / name)


def _start(folder: Path) -> None:
    """Start the daemons in the background, and wait for the node."""
    options = {name: f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")}
    munge = [f"--socket={folder}/munge.socket", f"--key-file={folder}/munge.key", *options.values()]
    for words in (["munged", "--force", *munge], ["slurmctld", "-c"], ["slurmd"]):
        _start_daemon(*words)
    _wait_until(lambda: _node_state() == "idle", folder)


def _start_daemon(name: str, *options: str) -> None:
    """Start a daemon."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    words = [_program(name), *options]
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, (name, done.stdout, done.stderr)


def _stop(folder: Path, names: Sequence[str] = ("slurmd", "slurmctld", "munged")) -> None:
    """Stop daemons by their pid files."""
    for name in names:
        pid_file = folder / f"{name}.pid"
        if not pid_file.exists():
            continue
        pid = int(pid_file.read_text())
        if not _is_process(pid, name):
            continue
        os.kill(pid, signal.SIGTERM)
        _wait_until(lambda pid=pid, name=name: not _is_process(pid, name), folder)


def _wait_until(condition: Callable[[], object], folder: Path, seconds: float = 120.0) -> None:
    """Wait until a condition is true; fail with the logs of the daemons after some time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"waited in vain: {_logs(folder)}")


def _is_process(pid: int, name: str) -> bool:
    """Return whether the process with an id has a name."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == name
    except OSError:
        return False


def _node_state() -> str:
    """Return the state of the node, or "" if the controller does not answer."""
    done = subprocess.run(["sinfo", "--noheader", "--format=%T"], check=False, capture_output=True, text=True)
    return done.stdout.strip()


def _logs(folder: Path) -> str:
    """Return the ends of the daemons' logs."""
    return "\n".join(file.read_text(errors="replace")[-2000:] for file in sorted(folder.glob("*.log")))


def _program(name: str) -> str | None:
    """Return the path of a program; folders of daemons may be missing in PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]))


def _free_ports(number: int) -> list[int]:
    """Return free ports of the loopback."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
