"""Asks every node of a block what it has, and compares it with this machine by a small cell."""

import hashlib
import pickle
import time
from typing import Any

from results.errors import LockcrossError
from results.text.rows import Rows, plain, whole
from sweeps.engines.base import Limits, load_engine
from sweeps.model import engines
from sweeps.model.cell import usual
from sweeps.model.isa import ISAS
from sweeps.programs import Builder
from sweeps.run.cluster import ship
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.node.worker import Chunk, describe_node
from sweeps.run.cluster.session import Session
from sweeps.run.work import Done, LocalPool, Work
from sweeps.support.paths import ENGINE_PLUGIN

SMALL_CELL = usual("generic", "lock", "sync", {"iterations": 200}, lock="tasuki")
_CLOCK_S = 5.0  # that a clock may be off: only times of start depend on it
_SHOWN: dict[str, Any] = {
    **plain("node", "job", "processor", "CPUs"),
    "memory GB": "{memory GB:.0f}",
    "scratch GB free": "{scratch GB free:.0f}",
    "clock s off": "{clock s off:.1f}",
    "cycles": lambda row: "" if row["cycles"] is None else f"{row['cycles']:.0f}",
    **plain("limits", "fit"),
}


def run_here(identity: str) -> tuple[Work, Done]:
    """The cell as work of that identity, and what came of it. Raises LockcrossError where it
    fails."""
    engine = load_engine(SMALL_CELL.engine)
    program = engine.program(SMALL_CELL)
    binary = Builder().build([program])[program]
    work = Work(SMALL_CELL, identity, engine.provenance(SMALL_CELL.isa), binary, Limits(60.0))
    ((done,),) = LocalPool(1).run([work])
    if done.cause:
        raise LockcrossError(f"a small cell fails on this machine: {done.cause}", 1)
    return work, done


def check(cluster: Cluster, nodes: int) -> tuple[Rows, list[str], float]:
    """What so many nodes answer, a row each; what is wrong with them, in words; and the cycles of a
    small cell here. One worker a node, in one job. Raises LockcrossError as a sweep does."""
    work, done = run_here("check")
    cycles = done.metrics["cycles"][0]
    plugin = hashlib.sha256(ENGINE_PLUGIN.read_bytes()).hexdigest()
    programs = ship.packed([work.binary]) if cluster.tree == "shipped" else None
    question = pickle.dumps((_engines(), Chunk([work], cluster.scratch, plugin, programs)))
    asked = cluster.model_copy(update={"workers": 1, "nodes": nodes, "blocks": 1})
    answers: list[tuple[dict[str, Any], list[str]]] = []
    with Session(asked, at_once=True) as session:
        with session.undisturbed():
            session.start()
        there = 0
        while there < nodes:  # until all are there: each is then given one question
            with session.undisturbed():
                there = session.look().workers
            if there < nodes:
                session.next()  # waits a little
        with session.undisturbed():
            sent = {session.submit(describe_node, question): time.time() for _ in range(nodes)}
        while sent:
            with session.undisturbed():
                session.look()
            if (answered := session.next()) is None:
                continue
            number, answer = answered
            if (error := answer.exception()) is not None:
                raise LockcrossError(f"a node did not answer: {error}", exit_code=1)
            facts, wrong = pickle.loads(answer.result())
            answers.append(_judged(facts, wrong, sent.pop(number), cycles))
    answers.sort(key=lambda answer: str(answer[0]["node"]))
    complaints = [f"{facts['node']}: {why}" for facts, wrong in answers for why in wrong]
    return Rows([facts for facts, _ in answers], _SHOWN), complaints, cycles


def _judged(
    facts: dict[str, Any], wrong: list[str], sent: float, cycles: float
) -> tuple[dict[str, Any], list[str]]:
    """A node's row, and what is wrong with the node. `sent`: when it was asked."""
    # The node's time must lie between the question and the answer.
    off = facts["time"] - min(max(sent, facts["time"]), time.time())
    if abs(off) > _CLOCK_S:
        wrong.append(f"its clock is {off:+.0f} s off; times of start will be wrong")
    its = facts["cycles"]
    if its is not None and its != cycles:
        wrong.append(f"a small cell takes {its:.0f} cycles there and {cycles:.0f} here")
    facts["cycles"] = None if its is None else whole(its)
    facts |= {"clock s off": off, "fit": "no" if wrong else "yes"}
    return {name: facts[name] for name in _SHOWN}, wrong


def _engines() -> list[tuple[str, str, str]]:
    """Every simulator that works on this machine, for each ISA, with its version."""
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
