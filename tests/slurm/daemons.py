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
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.processes import until

# Debian has the daemons where an ordinary user's PATH does not lead.
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
_START_S = 30
_CONF = Path(__file__).with_name("slurm.conf")
NODES = ("n1", "n2", "n3", "n4")
_HOST = socket.gethostname().partition(".")[0]


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
    """Starts on construction, ends on `stop`. Its nodes have `cpus` CPUs each as far as Slurm is
    concerned; the machine's own are shared."""

    def __init__(self, cpus: int = 4) -> None:
        # Short: the path of a socket has 107 bytes at most.
        self.folder = Path(tempfile.mkdtemp(prefix="lc-slurm-", dir="/tmp"))
        self.conf = self.folder / "slurm.conf"
        self.env = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.conf)}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._configure(cpus)
            self._munge()
            self.start_controller()
            for name in NODES:
                self._start("slurmd", "-D", "-N", name, key=name)
            self._until(lambda: self._idle() == [*NODES], "nodes are not idle")
        except BaseException:
            self.stop()
            raise

    def _configure(self, cpus: int) -> None:
        ports = _free_ports(1 + len(NODES))
        nodes = [
            f"NodeName={name} NodeHostname={_HOST} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} "
            "RealMemory=4000"
            for name, port in zip(NODES, ports[1:], strict=True)
        ]
        values = {"host": _HOST, "port": ports[0], "user": getpass.getuser(), "folder": self.folder}
        values |= {"nodes": "\n".join(nodes), "names": ",".join(NODES)}
        self.conf.write_text(_CONF.read_text().format(**values))
        for name in NODES:
            (self.folder / f"spool.{name}").mkdir()
        (self.folder / "state").mkdir()
        year, month = re.findall(r"\d+", self.call("sinfo", "--version"))[:2]
        if (int(year), int(month)) >= (24, 5):  # slurmd looks for control groups unless told
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def _munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"key-file": key.name, "socket": "munge.socket"}
        files |= {f"{kind}-file": f"munged.{kind}" for kind in ("pid", "log", "seed")}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._start("munged", "--foreground", "--force", *options)
        self._until((self.folder / "munge.socket").exists, "munged has no socket")

    def _start(self, name: str, *argv: str, key: str = "") -> None:
        # They end with this process.
        words = ["setpriv", "--pdeathsig", "KILL", shutil.which(name, path=_PATH), *argv]
        with (self.folder / f"{key or name}.out").open("ab") as out:
            self._daemons[key or name] = subprocess.Popen(
                words, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    def start_controller(self) -> None:
        """Also again, with the jobs that it knew."""
        self._start("slurmctld", "-D")

    def kill(self, name: str) -> None:
        """Kill a daemon hard: a node's or slurmctld. A node's jobs run on."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def lose_node(self, name: str) -> None:
        """Kill a node's daemon and all that runs on the node, as a power cut does."""
        self.kill(name)
        running = self.processes()
        of_node = {pid for pid in running if environment_of(pid).get("SLURMD_NODENAME") == name}
        # Those that Slurm watches over them with go first.
        watching = {parent for pid in of_node if (parent := parent_of(pid)) not in running}
        kill([*(watching - {0, 1, os.getpid()}), *of_node])

    def call(self, *argv: str) -> str:
        """Return the output of a command of Slurm."""
        done = subprocess.run(
            argv, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, f"{argv}: {done.stderr}{self.logs()}"
        return done.stdout

    def _idle(self) -> list[str]:
        """The nodes that wait for work."""
        said = self.call("sinfo", "-h", "-N", "-p", "debug", "-t", "idle", "-o", "%N %t")
        return sorted(line.split()[0] for line in said.splitlines() if line.split()[1] == "idle")

    def jobs(self) -> list[str]:
        """The numbers of the jobs that have not ended."""
        return self.call("squeue", "-h", "-o", "%i").split()

    def processes(self) -> dict[int, str]:
        """Return the running children of this Slurm's drivers and jobs: process id -> command
        line. Cells have no variables, and name a file of their study."""
        known, found = {daemon.pid for daemon in self._daemons.values()}, {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
                of_slurm = words.startswith(("slurmctld: ", "slurmstepd: ", "/usr/sbin/slurm"))
                if not words or of_slurm or int(entry.name) in known:
                    continue
                if environment_of(int(entry.name)).get("SLURM_CONF") == str(self.conf):
                    found[int(entry.name)] = words
        return found

    def _until(self, true: Callable[[], bool], what: str) -> None:
        assert until(true, _START_S), f"{what} after {_START_S} s{self.logs()}"

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
            kill(running)
            time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)


def kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


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
