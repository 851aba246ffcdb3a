"""Parsl's parts, set up for a cluster file: the provider of a batch system and the executor.

What goes past Parsl's own options, and why, as of the version in requirements/cluster.txt:
- The states of blocks are asked for every few seconds. How often a provider asks is its property
  `status_polling_interval`, a minute for batch systems, and no option.
- The keys of a session are made before its executor starts (`cert_dir`), since a job that has no
  tree is sent them with what it starts from. The executor would make them when it starts.
- The interchange is asked with a limit of time (sweeps/run/cluster/session.py). Parsl's own
  questions have none, and for an interchange that has died they would wait for ever.
- A node that cannot run the cells is held (`_hold_manager`, in Blocks there). Parsl holds managers
  by itself only when it ends their block.
"""

import inspect
import os
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.run.cluster import ship
from sweeps.run.cluster.description import PROVIDERS, Cluster

_TIED = Path(__file__).with_name("tied.py")
_GUARD = Path(__file__).parent / "node" / "guard.py"
_HEARTBEAT_S, _LOST_S = 5, 20  # a node or a driver that is gone is noticed after so long
_STATUS_S = 5  # between two questions for the states of blocks
_TIMEOUT_S = 60  # of a batch system's command
_SCRIPT = "LOCKCROSS_START"  # the variable of a job with what each of its nodes does first
# Variables that say where engines are.
_FORWARDED = ("LOCKCROSS_QEMU", "GEM5", "GEM5_X86", "GEM5_ARM", "GEM5_POWER", "SST")


def make_executor(cluster: Cluster, label: str, folder: Path, at_once: bool) -> Any:
    """Parsl's HighThroughputExecutor. `at_once`: blocks are asked for although there is no work,
    and a worker is given one task at a time.

    Raises LockcrossError for options that Parsl refuses.
    """
    from parsl import curvezmq
    from parsl.executors import HighThroughputExecutor
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD

    certificates = curvezmq.create_certificates(folder)
    start = _start(cluster, Path(certificates))
    # When a block takes no more cells, so that few are running when its time is over.
    drain_s = max(cluster.wall_s // 2, cluster.wall_s - 120)
    interchange = "parsl.executors.high_throughput.interchange"
    executor = HighThroughputExecutor(
        label=label,
        provider=make_provider(cluster, start, cluster.blocks if at_once else 0),
        # Without an address Parsl asks an outside service, and listens everywhere.
        address=own_address(cluster),
        loopback_address="127.0.0.1",
        encrypted=True,
        max_workers_per_node=cluster.workers,
        cores_per_worker=1e-6,  # as many workers as the file says
        prefetch_capacity=0 if at_once else cluster.workers,
        heartbeat_period=_HEARTBEAT_S,
        heartbeat_threshold=_LOST_S,
        drain_period=None if cluster.provider in ("local", "kubernetes") else drain_s,
        block_error_handler=False,  # Blocks judges
        launch_cmd=DEFAULT_LAUNCH_CMD.replace(
            "process_worker_pool.py", f'bash -c "${_SCRIPT}" lockcross', 1
        ),
        interchange_launch_cmd=[sys.executable, "-P", str(_TIED), str(os.getpid()), interchange],
    )
    executor.cert_dir = certificates
    return executor


def make_provider(cluster: Cluster, start: str, least: int) -> Any:
    """Parsl's provider. Keys that it does not know are refused when the file sets them."""
    import parsl.providers
    from parsl.launchers import SimpleLauncher, WrappedLauncher

    base = getattr(parsl.providers, PROVIDERS[cluster.provider])
    kind = type(base.__name__, (base,), {"status_polling_interval": _STATUS_S})
    known = set(inspect.signature(base.__init__).parameters)
    slurm, n = cluster.provider == "slurm", cluster.nodes
    on_each = f"srun --ntasks={n} --ntasks-per-node=1" if slurm else f"mpiexec -n {n} -ppn 1"
    # The pool is started on every node of a block.
    launcher: Any = WrappedLauncher(on_each) if n > 1 else SimpleLauncher()
    # What only some providers know, by the name that they have for it.
    wanted = {
        ("exclusive",): False,
        ("cmd_timeout",): _TIMEOUT_S,
        ("launcher",): launcher,
        ("walltime",): cluster.wall_time,
        ("partition", "queue"): cluster.partition or None,
        ("account",): cluster.account or None,
        ("cores_per_node", "cpus_per_node"): cluster.cpus or cluster.workers,
        ("mem_per_node",): cluster.memory_gb,
    }
    settings: dict[str, Any] = {
        "init_blocks": least,
        "min_blocks": least,
        "max_blocks": cluster.blocks,
        "nodes_per_block": n,
        "worker_init": f"export {_SCRIPT}={shlex.quote(start)}",
    }
    for names, value in wanted.items():
        settings |= {name: value for name in names if name in known and value is not None}
    settings |= cluster.options
    if slurm:
        lines = ["#SBATCH --no-requeue"]
        if cluster.tree == "shipped":  # the node has no folder for what the job says
            lines.append("#SBATCH --output=/dev/null --error=/dev/null")
        lines += filter(None, [str(settings.get("scheduler_options", ""))])
        settings["scheduler_options"] = "\n".join(lines)
    try:
        return kind(**settings)
    except Exception as error:  # Parsl's own checks raise errors of many kinds
        why = f"Parsl's provider for {cluster.provider} refuses them: {error}"
        raise LockcrossError(f"options: {why}") from None


def _start(cluster: Cluster, certificates: Path) -> str:
    """What the shell of each node does: the tree's variables, the file's commands, then Parsl's
    pool of workers with the arguments that it is given."""
    shipped = cluster.tree == "shipped"
    variables = {} if shipped else {"PYTHONPATH": str(ROOT), "LOCKCROSS_WORK": str(WORK)}
    variables |= {name: os.environ[name] for name in _FORWARDED if os.environ.get(name)}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines += cluster.commands
    guard, own = shlex.quote(str(_GUARD)), ""
    if shipped:
        # A folder of the job's own, from which the tree's function is found once the tree is there.
        lines += [
            "umask 077",
            f'export LOCKCROSS_NODE="{cluster.scratch}/lockcross-$(id -u)"',
            'mkdir -p "$LOCKCROSS_NODE" && cd "$LOCKCROSS_NODE"',
            'find . -maxdepth 1 -name "job-*" -mtime +7 -exec rm -rf {} +',
            'kit="$(mktemp -d "$LOCKCROSS_NODE/job-XXXXXX")" && mkdir -m 700 "$kit/certificates"',
            f'base64 -d <<<"{ship.kit(certificates)}" | tar -xzC "$kit"',
            'export PYTHONPATH="$kit"',
        ]
        guard, own = '"$kit/guard.py"', ' --cert_dir "$kit/certificates" --logdir "$kit"'
    python = f"{shlex.quote(cluster.python or sys.executable)} -P"
    pool = f'{python} -m parsl.executors.high_throughput.process_worker_pool "$@"'
    return "\n".join([*lines, f"exec {python} {guard} {pool}{own}"])


def own_address(cluster: Cluster) -> str:
    """This machine's address, as the file says or on the way to others; nothing is sent to find it.

    Raises LockcrossError for one that is not this machine's.
    """
    if cluster.provider == "local" and not cluster.address:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            if cluster.address:
                probe.bind((cluster.address, 0))
                return cluster.address
            probe.connect(("10.255.255.255", 9))
            return str(probe.getsockname()[0])
        except OSError as error:
            wrong = f"{cluster.address} is not of this machine ({error.strerror})"
            raise LockcrossError(
                f"address: {wrong}; name the address that nodes reach it by"
                if cluster.address
                else "address: this machine's own was not found; name the one that nodes reach it "
                "by in the cluster file"
            ) from None
