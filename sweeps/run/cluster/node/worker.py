"""What runs on a node, and what is sent to it and back; driver and node have the same code.

A chunk of cells, one after the other; what a node says of itself; a stand-in for cells.
"""

import hashlib
import os
import pickle
import resource
import shutil
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.store.records import Place
from sweeps.engines.base import load_engine
from sweeps.programs import loaded_digest
from sweeps.run.artifacts import FULL, Entry, pack
from sweeps.run.processes import Processes, Share
from sweeps.run.servers import Servers
from sweeps.run.work import Done, Work, execute, this_host
from sweeps.support.paths import ENGINE_PLUGIN


@dataclass(frozen=True)
class Chunk:
    """Cells for one worker, some two seconds of them. `plugin`: digest of the engine plugin.
    `programs` are compressed, by digest; None: they are on the shared tree."""

    works: list[Work]
    scratch: str
    plugin: str
    programs: dict[str, bytes] | None = None


@dataclass(frozen=True)
class Reply:
    """What came of a chunk. `span`: when it began and ended, by the worker's clock. `folders` are
    those of runs that are kept, by identity. `refused`: why the node cannot run cells, so that
    those without a result must run elsewhere. `missing`: digests of programs that it lacks."""

    place: Place
    manager: str
    done: list[Done]
    span: tuple[float, float] = (0.0, 0.0)
    folders: dict[str, list[Entry]] = field(default_factory=dict)
    refused: str = ""
    missing: list[str] = field(default_factory=list)


# The end of a job kills its cells, and then this worker: a cell that was killed is reported a
# little later, so that one that was only in the wrong job is run again.
_KILLED, _END_OF_JOB_S = "killed by ", 2.0
# What batch systems call the number of a job.
_JOB_IDS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")


class UnfitError(Exception):
    """This node cannot run the cells; the text says why, and what to do."""


def run_chunk(message: bytes) -> bytes:
    """Runs a chunk and returns a reply, both pickled. Called by Parsl's worker."""
    began = time.monotonic()
    return _pickled(run_works(pickle.loads(message)), began)


def _empty_reply() -> Reply:
    """Of this worker: the host, the job that it belongs to, its number."""
    job = next(filter(None, map(os.environ.get, _JOB_IDS)), "")
    place = replace(this_host(), job=job, worker=os.environ.get("PARSL_WORKER_RANK", ""))
    return Reply(place, os.environ.get("PARSL_WORKER_POOL_ID", ""), [])


def _pickled(reply: Reply, began: float) -> bytes:
    spanned = replace(reply, span=(began, time.monotonic()))
    return pickle.dumps(spanned, protocol=pickle.HIGHEST_PROTOCOL)


def run_works(chunk: Chunk) -> Reply:
    """Runs the cells of a chunk, as far as this node can."""
    reply = _empty_reply()
    try:
        works = list(_checked(chunk))
        if missing := [work.binary.digest for work in works if not work.binary.path.exists()]:
            return replace(reply, missing=missing)
        folders = scratch_folder(chunk.scratch) / "runs"
        with Processes[Work](1, folders, _share(), Servers()) as processes:
            for work, done, folder in execute(works, processes, reply.place):
                if _KILLED in done.cause:
                    time.sleep(_END_OF_JOB_S)
                if done.cause or work.keep:
                    reply.folders[work.identity] = pack(folder)
                reply.done.append(done)
    except UnfitError as unfit:
        return replace(reply, refused=str(unfit))
    except OSError as error:
        place = error.filename or chunk.scratch
        full = f"its disk is full ({place}); free some space there"
        return replace(reply, refused=full if error.errno in FULL else f"{place}: {error.strerror}")
    return reply


def scratch_folder(scratch: str) -> Path:
    """What is Lockcross's on this node: folders of runs, and programs that were sent."""
    return Path(os.path.expandvars(scratch)) / f"lockcross-{os.getuid()}"


def _share() -> Share:
    """This worker among those of the node, as Parsl counts them. Blocks may share a host whose CPUs
    the batch system does not divide between them: each begins at another one."""
    names = ("PARSL_WORKER_BLOCK_ID", "PARSL_WORKER_RANK", "PARSL_WORKER_COUNT")
    block, rank, count = (int(os.environ.get(name, "0")) for name in names)
    return Share(block * count + rank, max(1, count))


def _checked(chunk: Chunk) -> Iterable[Work]:
    """The cells of a chunk, when engines and programs are here as the driver has them."""
    for work in chunk.works:
        cell, binary = work.cell, work.binary
        why = other_engine(cell.engine, cell.isa, work.engine_version)
        if why := why or other_plugin(chunk.plugin):
            raise UnfitError(why)
        if chunk.programs is None:
            why = _other_file(binary.path, binary.digest)
        else:
            folder = scratch_folder(chunk.scratch) / "programs"
            binary = replace(binary, path=folder / binary.digest)
            if binary.digest in chunk.programs and not binary.path.exists():
                _write(binary.path, zlib.decompress(chunk.programs[binary.digest]))
            # When it was written, and when a worker first uses it.
            if binary.path.exists() and _other_file(binary.path, binary.digest):
                why = f"{binary.path} is damaged; remove it"
        if why:
            raise UnfitError(why)
        yield replace(work, binary=binary)


def _write(program: Path, content: bytes) -> None:
    """Writes a program, which is there whole or not at all."""
    program.parent.mkdir(parents=True, exist_ok=True)
    new = program.with_name(f".{program.name}-{os.getpid()}")
    new.write_bytes(content)
    new.chmod(0o700)
    new.rename(program)


@cache
def other_engine(label: str, isa: str, expected: str) -> str:
    """Why the engine here is not the driver's, or nothing."""
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


def other_plugin(expected: str) -> str:
    """Why the plugin here is not the driver's, or nothing."""
    return _other_file(ENGINE_PLUGIN, expected, program=False)


@cache
def _other_file(path: Path, expected: str, program: bool = True) -> str:
    data = b""
    with suppress(OSError):
        data = path.read_bytes()
    if expected == (loaded_digest(data) if program and data else hashlib.sha256(data).hexdigest()):
        return ""
    return (
        f"{path} is not there, or not as the driver has it; is the tree shared with this node? "
        'Without a shared tree: tree = "shipped"'
    )


_LIMITS = {
    "CPU time": resource.RLIMIT_CPU,
    "memory": resource.RLIMIT_AS,
    "file size": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
    "open files": resource.RLIMIT_NOFILE,
}
_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def describe_node(message: bytes) -> bytes:
    """What a node says of itself. Called by Parsl's worker with, pickled, label and ISA of each
    engine that the driver has, with its version, and a chunk of a small cell.

    Answers, pickled, with its facts by name, the cell's cycles and the time among them, and what
    keeps it from running cells.
    """
    engines, chunk = pickle.loads(message)
    wrong = [other_engine(*engine) for engine in engines]
    wrong.append(other_plugin(chunk.plugin))
    reply = _empty_reply() if any(wrong) else run_works(chunk)
    wrong += [reply.refused, *(done.cause for done in reply.done)]
    cycles = [done.metrics.get("cycles", (None, ""))[0] for done in reply.done]
    free = 0
    with suppress(OSError):
        free = shutil.disk_usage(scratch_folder(chunk.scratch).parent).free
    limits = {name: resource.getrlimit(kind)[0] for name, kind in _LIMITS.items()}
    set_by_job = [f"{name} {n}" for name, n in limits.items() if n != resource.RLIM_INFINITY]
    facts = {
        "node": reply.place.host,
        "job": reply.place.job,
        "processor": reply.place.processor,
        "CPUs": len(os.sched_getaffinity(0)),
        "memory GB": _MEMORY / 1e9,
        "scratch GB free": free / 1e9,
        "cycles": cycles[0] if cycles else None,
        "limits": ", ".join(set_by_job),
        "time": time.time(),
    }
    return pickle.dumps((facts, [why for why in dict.fromkeys(wrong) if why]))


def wait_chunk(message: bytes) -> bytes:
    """Waits for each cell of a chunk. Called by Parsl's worker with, pickled, the chunk, the
    seconds that each of its cells takes, and what all say: a pickled Done."""
    began = time.monotonic()
    chunk, seconds, answer = pickle.loads(message)
    reply = _empty_reply()
    for number, work in enumerate(chunk.works, 1):
        # Unpickled anew each time, since no two real answers share their parts.
        done = replace(pickle.loads(answer), identity=work.identity, duration_s=seconds)
        reply.done.append(done)
        # What making the answer takes is part of the cell's time.
        time.sleep(max(0.0, began + number * seconds - time.monotonic()))
    return _pickled(reply, began)
