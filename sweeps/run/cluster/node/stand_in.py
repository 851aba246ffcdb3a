"""A stand-in for cells, for the benchmark alone: it waits as long as a cell would take, and answers
with a copy of what a real cell said. So that many workers can be measured on few cores."""

import os
import pickle
import time
from dataclasses import dataclass, replace

from sweeps.run.cluster.message import Chunk, Reply
from sweeps.run.cluster.node.worker import this_place


@dataclass(frozen=True)
class Waits:
    """A chunk whose cells take `seconds` each and all say the same: `answer`, a pickled Done."""

    chunk: Chunk
    seconds: float
    answer: bytes


def wait_chunk(message: bytes) -> bytes:
    """Waits for each cell of a chunk. Called by Parsl's worker."""
    began = time.monotonic()
    waits: Waits = pickle.loads(message)
    reply = Reply(this_place(), os.environ.get("PARSL_WORKER_POOL_ID", ""), [])
    for number, work in enumerate(waits.chunk.works, 1):
        # Unpickled anew each time, since no two real answers share their parts.
        done = replace(pickle.loads(waits.answer), identity=work.identity, duration_s=waits.seconds)
        reply.done.append(done)
        # What making the answer takes is part of the cell's time.
        time.sleep(max(0.0, began + number * waits.seconds - time.monotonic()))
    return pickle.dumps(
        replace(reply, span=(began, time.monotonic())), protocol=pickle.HIGHEST_PROTOCOL
    )
