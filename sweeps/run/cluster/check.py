"""Ask every node of a block for its parts, and compare it with this machine by a small cell."""

from typing import Any

from results.errors import LockcrossError
from results.text.rows import Rows, plain, whole
from sweeps.engines.base import Limits, load_engine
from sweeps.model import engines
from sweeps.model.cell import usual
from sweeps.model.isa import ISAS
from sweeps.programs import Builder
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.session import Session
from sweeps.run.cluster.worker import Chunk, describe_node, plugin_digest
from sweeps.run.work import LocalPool, Work

_SMALL_CELL = usual("generic", "lock", "sync", {"iterations": 200}, lock="tasuki")
_SHOWN: dict[str, Any] = {
    **plain("node", "job", "processor", "CPUs"),
    "memory GB": "{memory GB:.0f}",
    "scratch GB free": "{scratch GB free:.0f}",
    "cycles": lambda row: "" if row["cycles"] is None else f"{row['cycles']:.0f}",
    **plain("fit"),
}


def check(cluster: Cluster, nodes: int) -> tuple[Rows, list[str], float]:
    """Return the answers of so many nodes, one row per node; their faults, in words; and
    the cycles of a small cell here. One worker per node, in one job. Raises LockcrossError as a
    sweep does."""
    work, cycles = _run_here()
    question = _engines(), Chunk([work], cluster.scratch, plugin_digest())
    one_worker = cluster.model_copy(update={"workers": 1, "nodes": nodes, "blocks": 1})
    records, complaints = [], []
    with Session(one_worker, at_once=True) as session:
        with session.undisturbed():
            session.start()
        while session.workers < nodes:  # until all are there: each is then given one question
            session.next()  # waits a little
            with session.undisturbed():
                session.look()
        with session.undisturbed():
            waiting = {session.submit(describe_node, *question) for _ in range(nodes)}
        while waiting:
            with session.undisturbed():
                session.look()
            if (answer := session.next()) is None:
                continue
            waiting.remove(answer)
            if (error := answer.exception()) is not None:
                raise LockcrossError(f"a node did not answer: {error}", exit_code=1)
            facts, wrong = answer.result()
            its = facts["cycles"]
            if its is not None and its != cycles:
                wrong.append(f"a small cell takes {its:.0f} cycles there and {cycles:.0f} here")
            facts["cycles"] = None if its is None else whole(its)
            records.append({**facts, "fit": "no" if wrong else "yes"})
            complaints += [f"{facts['node']}: {why}" for why in wrong]
    records.sort(key=lambda facts: str(facts["node"]))
    return Rows(records, _SHOWN), sorted(complaints), cycles


def _run_here() -> tuple[Work, float]:
    """Return the small cell as work, and its cycles here. Raises LockcrossError where it fails."""
    engine = load_engine(_SMALL_CELL.engine)
    program = engine.program(_SMALL_CELL)
    binary = Builder().build([program])[program]
    work = Work(_SMALL_CELL, "check", engine.provenance(_SMALL_CELL.isa), binary, Limits(60.0))
    ((done,),) = LocalPool(1).run([work])
    if done.cause:
        raise LockcrossError(f"a small cell fails on this machine: {done.cause}", 1)
    return work, done.metrics["cycles"][0]


def _engines() -> list[tuple[str, str, str]]:
    """Return every simulator that works on this machine, for each ISA, with its version."""
    usable = []
    for entry in engines.ENGINES:
        engine = load_engine(entry.label)
        if engine.capabilities().host_machines is not None:
            continue
        for isa in ISAS:
            try:
                usable.append((entry.label, isa, engine.provenance(isa)))
            except LockcrossError:  # not on this machine, so no cell of it will be sent
                continue
    return usable
