"""The code on a node, and the messages to it and back; driver and node have the same code."""

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.store.records import Place
from sweeps.engines.base import load_engine
from sweeps.programs import loaded_digest
from sweeps.run.artifacts import FULL
from sweeps.run.processes import Processes, Share
from sweeps.run.servers import Servers
from sweeps.run.work import Done, Work, execute, this_host
from sweeps.support.paths import ENGINE_PLUGIN

# The end of a job kills its cells, and then this worker: a cell that was killed is reported a
# little later, so that one that was only in the wrong job is run again.
_KILLED, _END_OF_JOB_S = "killed by ", 2.0
# What batch systems call the number of a job.
_JOB_IDS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")


@dataclass(frozen=True)
class Chunk:
    """Cells for one worker, some two seconds of them. `plugin`: digest of the engine plugin."""

    works: list[Work]
    scratch: str
    plugin: str


@dataclass(frozen=True)
class Reply:
    """The results of a chunk. `refused`: why the node cannot run cells, so that those without a
    result must run elsewhere."""

    place: Place
    block: str
    done: list[Done] = field(default_factory=list)
    refused: str = ""


class UnfitError(Exception):
    """This node cannot run the cells; the text says why, and how to fix it."""


def plugin_digest() -> str:
    return hashlib.sha256(ENGINE_PLUGIN.read_bytes()).hexdigest()


def run_chunk(chunk: Chunk) -> Reply:
    """Run the cells of a chunk, as far as this node can."""
    job = next(filter(None, map(os.environ.get, _JOB_IDS)), "")
    place = replace(this_host(), job=job, worker=os.environ.get("PARSL_WORKER_RANK", ""))
    reply = Reply(place, os.environ.get("PARSL_WORKER_BLOCK_ID", ""))
    try:
        for work in chunk.works:
            _check(work, chunk.plugin)
        # Lockcross's own folder on this node.
        own = Path(os.path.expandvars(chunk.scratch)) / f"lockcross-{os.getuid()}"
        with Processes[Work](1, own / "runs", _share(), Servers()) as processes:
            for _, done, _ in execute(chunk.works, processes, place):
                if _KILLED in done.cause:
                    time.sleep(_END_OF_JOB_S)
                reply.done.append(done)
    except UnfitError as unfit:
        return replace(reply, refused=str(unfit))
    except OSError as error:
        name = error.filename or chunk.scratch
        full = f"its disk is full ({name}); free some space there"
        return replace(reply, refused=full if error.errno in FULL else f"{name}: {error.strerror}")
    return reply


def _share() -> Share:
    """Return this worker's share of the node, as Parsl counts workers. Blocks may share a host
    whose CPUs the batch system does not divide between them: each begins at another one."""
    names = ("PARSL_WORKER_BLOCK_ID", "PARSL_WORKER_RANK", "PARSL_WORKER_COUNT")
    block, rank, count = (int(os.environ.get(name) or "0") for name in names)
    return Share(block * count + rank, max(1, count))


def _check(work: Work, plugin: str) -> None:
    """Raise UnfitError where engine, plugin or program are not as the driver has them."""
    why = (
        other_engine(work.cell.engine, work.cell.isa, work.engine_version)
        or other_file(ENGINE_PLUGIN, plugin, program=False)
        or other_file(work.binary.path, work.binary.digest)
    )
    if why:
        raise UnfitError(why)


@cache
def other_engine(label: str, isa: str, expected: str) -> str:
    """Say why the engine here is not the driver's, or nothing."""
    try:
        here = load_engine(label).provenance(isa)
    except LockcrossError as error:
        return error.message
    if here == expected:
        return ""
    return (
        f"engine {label} is {here} there, and {expected} here; install the same version, or name "
        "a folder that has it in the commands of the cluster file (export LOCKCROSS_QEMU=FOLDER)"
    )


@cache
def other_file(path: Path, expected: str, program: bool = True) -> str:
    """Say why a file here is not the driver's, or nothing."""
    data = b""
    with suppress(OSError):
        data = path.read_bytes()
    if expected == (loaded_digest(data) if program and data else hashlib.sha256(data).hexdigest()):
        return ""
    return f"{path} is not there, or not as the driver has it; is the tree shared with this node?"
