"""Proves the primitives from their instructions, for `lockcross prove --assembly`."""

from collections.abc import Callable, Sequence

from proofs.assembly.pairs import pair_questions
from proofs.assembly.shown import Shown, ShownLock, shown, shown_locks
from proofs.assembly.stored import merged, read_rows, write_rows
from proofs.assembly.verdicts import Question, find_herd, questions, verdicts
from results.errors import LockcrossError
from sweeps.model.isa import ISAS


def prove_assembly(
    isas: Sequence[str],
    jobs: int,
    store: bool = False,
    tell: Callable[[], None] = lambda: None,
) -> tuple[list[Shown], list[ShownLock]]:
    """Asks herd7 for every verdict of instruction sets (none: all), and says what is shown. `tell`
    is told of each verdict.

    Raises LockcrossError (2) for an unknown instruction set, (1) where herd7 is missing.
    """
    flavours = flavours_of(isas)
    herd = find_herd()
    rows = [
        row
        for flavour in flavours
        for row in verdicts(herd, flavour, everything(flavour), jobs, tell)
    ]
    if store:
        write_rows(merged(read_rows(), rows))
    return list(shown(rows)), list(shown_locks(rows))


def everything(flavour: str) -> list[tuple[str, Question]]:
    """What herd7 is asked of a flavour: of the primitives, then of the locks."""
    return [*questions(flavour), *pair_questions(flavour)]


def flavours_of(isas: Sequence[str]) -> list[str]:
    """The flavours of instruction sets. Raises LockcrossError (2) for an unknown one."""
    if unknown := [isa for isa in isas if isa not in ISAS]:
        raise LockcrossError(
            f"instruction set {unknown[0]!r} is unknown; known are {', '.join(ISAS)}"
        )
    return [flavour for isa in isas or ISAS for flavour in ISAS[isa].flavours]


def count(isas: Sequence[str]) -> int:
    """How many verdicts there are to ask for."""
    find_herd()
    return sum(len(everything(flavour)) for flavour in flavours_of(isas))
