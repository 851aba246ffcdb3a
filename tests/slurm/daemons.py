"""A Slurm of its own, from the system's packages: munged, slurmctld and a slurmd for each of
several nodes, all on this machine's loopback address."""

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

# Debian has the daemons where an ordinary user's PATH does not lead.
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
_START_S = 30
_HOST = socket.gethostname().partition(".")[0]

_CONF = """\
ClusterName=lockcross
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
# No control groups: a container may not have them.
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=20
SlurmctldTimeout=20
KillWait=5
"""
_NODE = """\
NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=4000
"""
_PARTITIONS = """\
PartitionName=debug Nodes={nodes} Default=YES MaxTime=INFINITE State=UP
# Takes jobs and never starts them.
PartitionName=never Nodes={nodes} MaxTime=INFINITE State=DOWN
"""


def missing() -> str:
    """Why there can be no Slurm here, in one line, or nothing."""
    absent = [name for name in _NEEDED if shutil.which(name, path=_PATH) is None]
    if absent:
        return f"no {', '.join(absent)} (apt-get install slurm-wlm munge): Slurm is not tried"
    if not Path("/proc/self/stat").exists():
        return "no /proc, which Slurm needs: Slurm is not tried"
    try:
        socket.getaddrinfo(_HOST, None)
    except OSError:
        return f"this machine's name, {_HOST}, has no address: Slurm is not tried"
    return ""


class Slurm:
    """Starts on construction, ends on `stop`. `nodes` nodes named n1, n2 and so on have `cpus` CPUs
    each as far as Slurm is concerned; the machine's own are shared."""

    def __init__(self, nodes: int = 4, cpus: int = 4) -> None:
        # Short: the path of a socket has 107 bytes at most.
        self.folder = Path(tempfile.mkdtemp(prefix="lc-slurm-", dir="/tmp"))
        self.nodes = tuple(f"n{number}" for number in range(1, nodes + 1))
        self.conf = self.folder / "slurm.conf"
        self.env = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.conf)}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._configure(cpus)
            self._munge()
            self.start_controller()
            for name in self.nodes:
                self.start_node(name)
            self.wait_for_nodes()
        except BaseException:
            self.stop()
            raise

    def _configure(self, cpus: int) -> None:
        ports = _free_ports(1 + len(self.nodes))
        text = _CONF.format(host=_HOST, ports=ports, user=getpass.getuser(), folder=self.folder)
        for name, port in zip(self.nodes, ports[1:], strict=True):
            text += _NODE.format(name=name, host=_HOST, port=port, cpus=cpus)
            (self.folder / f"spool.{name}").mkdir()
        self.conf.write_text(text + _PARTITIONS.format(nodes=",".join(self.nodes)))
        (self.folder / "state").mkdir()
        if self._version() >= (24, 5):  # from then on slurmd looks for control groups unless told
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def _version(self) -> tuple[int, int]:
        found = re.search(r"(\d+)\.(\d+)", self.call("sinfo", "--version"))
        assert found is not None
        return int(found[1]), int(found[2])

    def _munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {
            "key-file": key.name,
            "socket": "munge.socket",
            "pid-file": "munged.pid",
            "log-file": "munged.log",
            "seed-file": "munged.seed",
        }
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._start("munged", "--foreground", "--force", *options)
        self._until((self.folder / "munge.socket").exists, "munged has no socket")

    def _start(self, name: str, *argv: str, key: str = "") -> None:
        program = shutil.which(name, path=_PATH)
        assert program is not None
        # They end with this process.
        words = ["setpriv", "--pdeathsig", "KILL", program, *argv]
        with (self.folder / f"{key or name}.out").open("ab") as out:
            self._daemons[key or name] = subprocess.Popen(
                words, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    def start_controller(self) -> None:
        """Also again, with the jobs that it knew."""
        self._start("slurmctld", "-D")

    def start_node(self, name: str) -> None:
        """Also again."""
        self._start("slurmd", "-D", "-N", name, key=name)

    def kill(self, name: str) -> None:
        """Kill a daemon hard: a node's name or slurmctld. A node's jobs run on."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def lose_node(self, name: str) -> None:
        """Kill a node's daemon and all that runs on the node, as a power cut does."""
        self.kill(name)
        for pid in self.on_node(name):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def call(self, *argv: str) -> str:
        """Return the output of a command of Slurm."""
        done = subprocess.run(
            argv, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, f"{argv}: {done.stderr}{self.logs()}"
        return done.stdout

    def idle(self) -> list[str]:
        """The nodes that wait for work."""
        said = self.call("sinfo", "-h", "-N", "-p", "debug", "-t", "idle", "-o", "%N %t")
        return sorted(line.split()[0] for line in said.splitlines() if line.split()[1] == "idle")

    def jobs(self) -> dict[str, str]:
        """The jobs that have not ended: number -> state."""
        lines = self.call("squeue", "-h", "-o", "%i %T").splitlines()
        return dict(map(str.split, lines))

    def processes(self) -> dict[int, str]:
        """Return the running children of this Slurm's drivers and jobs: process id -> command
        line. Cells have no variables, and name a file of their study."""
        known, found = {daemon.pid for daemon in self._daemons.values()}, {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                of_slurm = words.startswith(("slurmctld: ", "slurmstepd: ", "/usr/sbin/slurm"))
                if not words or of_slurm or int(entry.name) in known:
                    continue
                if environment_of(int(entry.name)).get("SLURM_CONF") == str(self.conf):
                    found[int(entry.name)] = words
        return found

    def on_node(self, name: str) -> list[int]:
        """The processes of a node's jobs, those that Slurm watches over them with first."""
        running = self.processes()
        of_node = [pid for pid in running if environment_of(pid).get("SLURMD_NODENAME") == name]
        watching = {parent for pid in of_node if (parent := parent_of(pid)) not in running}
        return [*(watching - {0, 1, os.getpid()}), *of_node]

    def wait_for_nodes(self) -> None:
        """Until all of them are idle."""
        self._until(lambda: self.idle() == sorted(self.nodes), "nodes are not idle")

    def _until(self, true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _START_S
        while not true():
            assert time.monotonic() < deadline, f"{what} after {_START_S} s{self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        """The last lines of every daemon's log."""
        found = ""
        for path in sorted(self.folder.glob("*.log")):
            lines = path.read_text(errors="replace").splitlines()[-8:]
            found += "".join(f"\n{path.stem}: {line}" for line in lines)
        return found

    def stop(self) -> None:
        """End all daemons and all that jobs have started, and remove the folder."""
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        self._daemons.clear()
        while running := self.processes():
            for pid in running:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)


def environment_of(pid: int) -> dict[str, str]:
    """The variables that a process was started with; none when it has ended."""
    try:
        said = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in said.split("\0"))
    return {name: value for name, _, value in pairs}


def parent_of(pid: int) -> int:
    """The process that a process is a child of; 0 when it has ended."""
    with suppress(OSError):
        # "pid (name) state parent ...": the name may hold anything
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in held]
