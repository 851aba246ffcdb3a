"""What runs on a node: a chunk of cells, one after the other."""

import hashlib
import os
import pickle
import time
import zlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from results.errors import LockcrossError
from results.store.records import Place
from sweeps.engines import load_engine
from sweeps.programs import loaded_digest
from sweeps.run.cluster.message import Chunk, Reply
from sweeps.run.kept import FULL, pack
from sweeps.run.processes import Processes, Share
from sweeps.run.servers import Servers
from sweeps.run.work import Work, execute, this_host
from sweeps.support.paths import ENGINE_PLUGIN

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
    reply = run_works(pickle.loads(message))
    return pickle.dumps(
        replace(reply, span=(began, time.monotonic())), protocol=pickle.HIGHEST_PROTOCOL
    )


def run_works(chunk: Chunk) -> Reply:
    reply = Reply(this_place(), os.environ.get("PARSL_WORKER_POOL_ID", ""), [])
    try:
        works = list(_checked(chunk))
        if missing := [work.binary.digest for work in works if not work.binary.path.exists()]:
            return replace(reply, missing=missing)
        folders = run_folders(chunk.scratch)
        with Processes[Work](1, folders, share(), Servers()) as processes:
            for work, done, folder in execute(works, processes, reply.place):
                if _KILLED in done.outcome.cause:
                    time.sleep(_END_OF_JOB_S)
                if done.outcome.cause or work.keep:
                    reply.folders[work.identity] = pack(folder)
                reply.done.append(done)
    except UnfitError as unfit:
        return replace(reply, refused=str(unfit))
    except OSError as error:
        return replace(reply, refused=_os_error(error, chunk.scratch))
    return reply


def _os_error(error: OSError, scratch: str) -> str:
    if error.errno in FULL:
        return f"its disk is full ({error.filename or scratch}); free some space there"
    return f"{error.filename or scratch}: {error.strerror}"


def run_folders(scratch: str) -> Path:
    """Where runs have their folders on this node."""
    return _node_folder(scratch) / "runs"


def _node_folder(scratch: str) -> Path:
    return Path(os.path.expandvars(scratch)) / f"lockcross-{os.getuid()}"


def share() -> Share:
    """This worker among those of the node, as Parsl counts them. Blocks may share a host whose CPUs
    the batch system does not divide between them: each begins at another one."""
    names = ("PARSL_WORKER_BLOCK_ID", "PARSL_WORKER_RANK", "PARSL_WORKER_COUNT")
    block, rank, count = (int(os.environ.get(name, "0")) for name in names)
    return Share(block * count + rank, max(1, count))


def this_place() -> Place:
    """This worker: the host, the job that it belongs to, its number."""
    job = next(filter(None, map(os.environ.get, _JOB_IDS)), "")
    return replace(this_host(), job=job, worker=os.environ.get("PARSL_WORKER_RANK", ""))


def _checked(chunk: Chunk) -> Iterable[Work]:
    """The cells of a chunk, when engines and programs are here as the driver has them."""
    for work in chunk.works:
        if why := other_engine(work.cell.engine, work.cell.isa, work.engine_version):
            raise UnfitError(why)
        if why := other_plugin(chunk.plugin):
            raise UnfitError(why)
        if chunk.programs is not None:
            path = _sent_program(chunk, work.binary.digest)
            work = replace(work, binary=replace(work.binary, path=path))  # noqa: PLW2901
        elif why := _other_program(work.binary.path, work.binary.digest):
            raise UnfitError(why)
        yield work


def _sent_program(chunk: Chunk, digest: str) -> Path:
    """Where a program that was sent is on this node. It is checked when it is written, and when a
    worker first uses it."""
    folder = _node_folder(chunk.scratch) / "programs"
    path = folder / digest
    assert chunk.programs is not None
    if digest in chunk.programs and not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f".{digest}-{os.getpid()}"
        new.write_bytes(zlib.decompress(chunk.programs[digest]))
        new.chmod(0o700)
        new.rename(path)
    if path.exists() and _other_program(path, digest):
        raise UnfitError(f"{path} is damaged; remove it")
    return path


@cache
def other_engine(label: str, isa: str, expected: str) -> str:
    """Why the engine here is not the driver's, or nothing."""
    try:
        found = load_engine(label).provenance(isa)
    except LockcrossError as error:
        return error.message
    if found == expected:
        return ""
    return (
        f"engine {label} is {found} there, and {expected} here; install the same version, or name "
        "a folder that has it in the commands of the cluster file (export LOCKCROSS_QEMU=FOLDER)"
    )


@cache
def other_plugin(expected: str) -> str:
    """Why the plugin here is not the driver's, or nothing."""
    return _differs(ENGINE_PLUGIN, hashlib.sha256(_read(ENGINE_PLUGIN)).hexdigest(), expected)


@cache
def _other_program(path: Path, expected: str) -> str:
    data = _read(path)
    return _differs(path, loaded_digest(data) if data else "", expected)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _differs(path: Path, found: str, expected: str) -> str:
    if found == expected:
        return ""
    return (
        f"{path} is not there, or not as the driver has it; is the tree shared with this node? "
        'Without a shared tree: tree = "shipped"'
    )
