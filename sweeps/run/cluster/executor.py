"""Set up Parsl's parts for a cluster file: the provider of a batch system, and the executor.

Parsl has no option for one thing: how often a provider asks for the states of blocks is its
property `status_polling_interval`, a minute for batch systems.
"""

import inspect
import os
import shlex
import sys
from typing import Any

from results.children import STARTER
from results.errors import LockcrossError
from results.paths import ROOT, WORK
from sweeps.run.cluster.description import Cluster

_PROVIDERS = {
    "slurm": "SlurmProvider",
    "local": "LocalProvider",
    "pbs": "PBSProProvider",
    "torque": "TorqueProvider",
    "lsf": "LSFProvider",
    "grid_engine": "GridEngineProvider",
}
_HEARTBEAT_S, _LOST_S = 5, 20  # a node or a driver that is gone is noticed after so long
_STATUS_S = 5  # between two questions for the states of blocks
_TIMEOUT_S = 60  # of a batch system's command
_SCRIPT = "LOCKCROSS_START"  # the variable of a job with what each of its nodes does first
# Variables that say where engines are.
_FORWARDED = ("LOCKCROSS_QEMU", "GEM5", "GEM5_X86", "GEM5_ARM", "GEM5_POWER", "SST")


def make_executor(cluster: Cluster, label: str) -> Any:
    """Make Parsl's HighThroughputExecutor. Raises LockcrossError for options that Parsl refuses."""
    from parsl.addresses import address_by_route
    from parsl.executors import HighThroughputExecutor
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD

    # When a block takes no more cells, so that few are running when its time is over.
    drain_s = max(cluster.wall_s // 2, cluster.wall_s - 120)
    local = cluster.provider == "local"
    # The interchange dies with this process, and Ctrl-C at a terminal is not for it.
    tied = ["setsid", str(STARTER), str(os.getpid()), "-", "-", sys.executable, "-P", "-m"]
    return HighThroughputExecutor(
        label=label,
        provider=_make_provider(cluster),
        # Without an address Parsl asks an outside service, and listens everywhere.
        address=cluster.address or ("127.0.0.1" if local else address_by_route()),
        loopback_address="127.0.0.1",
        encrypted=True,
        max_workers_per_node=cluster.workers,
        cores_per_worker=1e-6,  # as many workers as the file says
        prefetch_capacity=cluster.workers,
        heartbeat_period=_HEARTBEAT_S,
        heartbeat_threshold=_LOST_S,
        address_probe_timeout=_LOST_S,  # of a job that starts when its driver is gone
        drain_period=None if local else drain_s,
        block_error_handler=False,  # Session judges
        launch_cmd=DEFAULT_LAUNCH_CMD.replace(
            "process_worker_pool.py", f'bash -c "${_SCRIPT}" lockcross', 1
        ),
        interchange_launch_cmd=[*tied, "parsl.executors.high_throughput.interchange"],
    )


def _make_provider(cluster: Cluster) -> Any:
    """Make Parsl's provider. It refuses keys of the file's options that it does not know."""
    import parsl.providers
    from parsl.launchers import SimpleLauncher, WrappedLauncher

    base = getattr(parsl.providers, _PROVIDERS[cluster.provider])
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
        "init_blocks": 0,
        "min_blocks": 0,
        "max_blocks": cluster.blocks,
        "nodes_per_block": n,
        "worker_init": f"export {_SCRIPT}={shlex.quote(_start(cluster))}",
    }
    for names, value in wanted.items():
        settings |= {name: value for name in names if name in known and value is not None}
    settings |= cluster.options
    if slurm:
        options = settings.get("scheduler_options", "")
        settings["scheduler_options"] = f"#SBATCH --no-requeue\n{options}"
    try:
        return kind(**settings)
    except Exception as error:  # Parsl's own checks raise errors of many kinds
        why = f"Parsl's provider for {cluster.provider} refuses them: {error}"
        raise LockcrossError(f"options: {why}") from None


def _start(cluster: Cluster) -> str:
    """Return the script of each node's shell: the tree's variables, the file's commands, then
    Parsl's pool of workers with the arguments that it is given. The starter sees to it that
    workers end with the pool, however that ends."""
    variables = {"PYTHONPATH": str(ROOT), "LOCKCROSS_WORK": str(WORK)}
    variables |= {name: os.environ[name] for name in _FORWARDED if os.environ.get(name)}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    python = shlex.quote(cluster.python or sys.executable)
    pool = f'{python} -P -m parsl.executors.high_throughput.process_worker_pool "$@"'
    tied = f"exec setsid --fork --wait {shlex.quote(str(STARTER))} $$ - - {pool}"
    return "\n".join([*lines, *cluster.commands, tied])
