"""`lockcross prove`: clients of the locks, for every execution that a memory model allows."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.errors import LockcrossError
from sweeps.cli.reading.rows import Form, printer

if TYPE_CHECKING:
    from rich.console import Console

    from results.model.proof import Proof
    from sweeps.proofs.job import Job, Tool
    from sweeps.proofs.proving import Outcome

_STATES = 30_000_000  # of a proof: a few GiB


@dataclass(frozen=True)
class Asked:
    """Which proofs are asked for: locks, clients and models by their names, or all; by which tool;
    `deep`: with larger clients too."""

    locks: Sequence[str]
    clients: Sequence[str]
    models: Sequence[str]
    tool: str
    deep: bool


def prove_locks(asked: Asked, seconds: int, store: bool, jobs: int, form: Form) -> bool:
    """Makes the proofs, prints what came of them, and says whether none has failed."""
    from sweeps.cli.progress import Bar
    from sweeps.proofs.proving import cpus, prove

    at_once = jobs or cpus()
    tool = _tool(asked.tool, at_once)
    planned, outcomes = _planned(asked, tool)
    tool.version()  # says what is missing, before anything is built
    try:
        with Bar() as progress:
            building = progress.add_task("building", total=len({one.program for one in planned}))
            proofs = progress.add_task("proving", total=len(planned))
            for one in prove(planned, tool, at_once, seconds, lambda: progress.advance(building)):
                outcomes.append(one)
                progress.advance(proofs)
    finally:  # also of what was interrupted
        if store:
            _store([one.proof for one in outcomes])
    _print(outcomes, bool(asked.locks or asked.clients), form)
    return all(one.ok for one in outcomes)


def _tool(name: str, at_once: int) -> "Tool":
    from sweeps.proofs.checker import Checker
    from sweeps.proofs.outside import Dartagnan, Genmc

    every: tuple[Tool, ...] = (Checker(at_once, _STATES), Genmc(), Dartagnan())
    tools = {one.name: one for one in every}
    if name not in tools:
        raise LockcrossError(f"tool {name!r} is unknown; known are {', '.join(tools)}")
    return tools[name]


def _planned(asked: Asked, tool: "Tool") -> "tuple[list[Job], list[Outcome]]":
    """The jobs, and what is refused. Raises LockcrossError where there is neither."""
    from sweeps.proofs.clients import named
    from sweeps.proofs.programs import known_locks
    from sweeps.proofs.proving import plan

    locks, clients = known_locks(asked.locks), list(named(asked.clients))
    planned, refused = plan(locks, clients, tool, asked.models, asked.deep)
    if planned or refused:
        return planned, refused
    planned, refused = plan(locks, clients, tool, (), asked.deep)
    known = {one.model for one in planned} | {one.job.model for one in refused}
    if not known:
        raise LockcrossError("no lock is for these clients")
    raise LockcrossError(
        f"none of these proofs is under {' or '.join(asked.models)}; they are under "
        f"{', '.join(sorted(known))}"
    )


def _store(new: "list[Proof]") -> None:
    """Keeps proofs as the reference, in the registry's order, and renews the documents' matrix."""
    from results.model.proof import merged, read_proofs, write_proofs
    from sweeps.model.locks import load_locks
    from sweeps.proofs.document import DOCUMENTS, with_matrix

    order = list(load_locks())
    kept = sorted(merged(read_proofs(), new), key=lambda one: order.index(one.lock))
    write_proofs(kept)
    for file in DOCUMENTS:
        file.write_text(with_matrix(file, kept), encoding="utf-8")


def _print(outcomes: "list[Outcome]", every: bool, form: Form) -> None:
    from sweeps.proofs import tables

    with printer(form, fold=False) as out:
        out.print((tables.by_client if every or form != Form.TABLE else tables.by_lock)(outcomes))
    if form != Form.TABLE:
        return
    with printer(form) as out:
        for line in tables.legend(outcomes):
            out.print(line)
    with printer(form, fold=False) as out:
        _print_failures(outcomes, out)
    print(tables.headline(outcomes), file=sys.stderr)


def _print_failures(outcomes: "list[Outcome]", out: "Console") -> None:
    """For each lock and model the shortest interleaving."""
    from sweeps.proofs import tables

    shown: dict[tuple[str, str], Outcome] = {}
    for one in outcomes:
        place = one.job.program.label, one.proof.model
        if not one.ok and (place not in shown or _steps(one) < _steps(shown[place])):
            shown[place] = one
    for one in shown.values():
        out.print(f"\n{one.job.words}: {one.proof.reason}")
        out.print(tables.interleaving(one.found.steps) if one.found.steps else one.found.text)


def _steps(one: "Outcome") -> int:
    return len(one.found.steps) or sys.maxsize
