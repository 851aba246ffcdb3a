"""Asks every node of a block what it has, and compares it with this machine by a small cell."""

import hashlib
import pickle
import time
from dataclasses import dataclass

from results.errors import LockcrossError
from sweeps.engines import load_engine
from sweeps.engines.base import Limits
from sweeps.model import engines
from sweeps.model.cell import Cell
from sweeps.model.isa import ISAS
from sweeps.programs import Builder
from sweeps.run.cluster.description import Cluster
from sweeps.run.cluster.node.worker import Chunk, Node, Question, describe_node
from sweeps.run.cluster.session import Session
from sweeps.run.cluster.ship import Programs
from sweeps.run.pool import LocalPool
from sweeps.run.work import Done, Work
from sweeps.support.paths import ENGINE_PLUGIN

SMALL_CELL = Cell(
    engine=engines.DEFAULT, machine="generic", isa="x86_64", flavour="lock", lock="tasuki",
    variant="", fence="full", workload="sync", parameters={"iterations": 200}, threads=1,
    cores=None, cas_latency=None, fence_latency=None, cancel_latency=None, seed=1,
)  # fmt: skip


def run_here(identity: str) -> tuple[Work, Done]:
    """The cell as work of that identity, and what came of it. Raises LockcrossError where it
    fails."""
    engine = load_engine(SMALL_CELL.engine)
    program = engine.program(SMALL_CELL)
    binary = Builder().build([program])[program]
    version = engine.provenance(SMALL_CELL.isa)
    work = Work(SMALL_CELL, identity, version, binary, Limits(60.0), None, keep=False)
    (done,) = [one for chunk in LocalPool(1).run([work]) for one in chunk]
    if done.outcome.cause:
        raise LockcrossError(f"a small cell fails on this machine: {done.outcome.cause}", 1)
    return work, done


_CLOCK_S = 5.0  # that a clock may be off: only times of start depend on it


@dataclass(frozen=True)
class Answer:
    """A node, and how far its clock is off, as far as that is certain."""

    node: Node
    clock_off_s: float
    wrong: list[str]


def check(cluster: Cluster, nodes: int) -> tuple[list[Answer], float]:
    """What so many nodes answer, and the cycles of a small cell here. One worker a node, in one
    job. Raises LockcrossError as a sweep does."""
    work, done = run_here("check")
    cycles = done.outcome.metrics["cycles"][0]
    plugin = hashlib.sha256(ENGINE_PLUGIN.read_bytes()).hexdigest()
    programs = Programs().for_chunk([work]) if cluster.tree == "shipped" else None
    chunk = Chunk([work], cluster.scratch, plugin, programs)
    question = pickle.dumps(Question(_engines(), chunk))
    asked = cluster.model_copy(update={"workers": 1, "nodes": nodes, "blocks": 1})
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
        answers: list[Answer] = []
        while sent:
            with session.undisturbed():
                session.look()
            if (answered := session.next()) is None:
                continue
            number, answer = answered
            if (error := answer.exception()) is not None:
                raise LockcrossError(f"a node did not answer: {error}", exit_code=1)
            answers.append(_judged(pickle.loads(answer.result()), sent.pop(number), cycles))
    return sorted(answers, key=lambda one: one.node.place.host), cycles


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


def _judged(node: Node, sent: float, cycles: float) -> Answer:
    now = time.time()
    # The node's time must lie between the question and the answer.
    off = node.clock - now if node.clock > now else min(0.0, node.clock - sent)
    wrong = list(node.wrong)
    if abs(off) > _CLOCK_S:
        wrong.append(f"its clock is {off:+.0f} s off; times of start will be wrong")
    if node.cycles is not None and node.cycles != cycles:
        wrong.append(f"a small cell takes {node.cycles:.0f} cycles there and {cycles:.0f} here")
    return Answer(node, off, wrong)
