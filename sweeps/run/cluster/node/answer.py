"""What a node says of itself when it is asked: `./lockcross cluster check`."""

import os
import pickle
import resource
import shutil
import time

from sweeps.run.cluster.message import Node, Question
from sweeps.run.cluster.node.worker import (
    other_engine,
    other_plugin,
    run_folders,
    run_works,
    this_place,
)

_LIMITS = {
    "CPU time": resource.RLIMIT_CPU,
    "memory": resource.RLIMIT_AS,
    "file size": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
    "open files": resource.RLIMIT_NOFILE,
}
_PAGE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def describe_node(message: bytes) -> bytes:
    """Answers a Question with a Node, both pickled. Called by Parsl's worker."""
    return pickle.dumps(_describe(pickle.loads(message)))


def _describe(question: Question) -> Node:
    wrong = [other_engine(*engine) for engine in question.engines]
    wrong.append(other_plugin(question.chunk.plugin))
    cycles = None
    if not any(wrong):
        reply = run_works(question.chunk)
        wrong.append(reply.refused)
        for done in reply.done:
            wrong.append(done.outcome.cause)
            cycles = done.outcome.metrics.get("cycles", (None, ""))[0]
    return Node(
        place=this_place(),
        cpus=len(os.sched_getaffinity(0)),
        memory_gb=_PAGE / 1e9,
        scratch_gb=_free_gb(question.chunk.scratch),
        limits=_limits(),
        clock=time.time(),
        cycles=cycles,
        wrong=[why for why in dict.fromkeys(wrong) if why],
    )


def _free_gb(scratch: str) -> float:
    try:
        return shutil.disk_usage(run_folders(scratch).parent.parent).free / 1e9
    except OSError:
        return 0.0


def _limits() -> str:
    """Limits that a job sets on its processes, those that are set."""
    found = {name: resource.getrlimit(kind)[0] for name, kind in _LIMITS.items()}
    return ", ".join(f"{name} {n}" for name, n in found.items() if n != resource.RLIM_INFINITY)
