"""Counting: from the validations of databases to the rows of errors.csv.

Only Java's locks count, since a question is about those; and no cell with store forwarding: on the
engine a word load over a byte store that has not drained waits, and on the only processor that was
measured it does not. References that have the embedded engine's own cores say nothing of these, and
are left out.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.model import engines
from sweeps.model.label import LockLabel
from sweeps.questions.validate.answer import FLOOR, Compared, Stored, apart, contests
from sweeps.search.errors import (
    ANY,
    ATOMIC,
    BOTH,
    CONTENDED,
    IN_ORDER,
    IN_TURN,
    LEADS,
    NO_ATOMIC,
    ONE_THREAD,
    OUT_OF_ORDER,
    SILICON,
    Row,
    work_of,
)

_NOT_ON_SILICON = "store_forward"
_WORKS = (ONE_THREAD, IN_TURN, CONTENDED)
_KINDS = {  # of rows, and of the cells that each takes
    ATOMIC: {ATOMIC},
    NO_ATOMIC: {NO_ATOMIC},
    BOTH: {ATOMIC, NO_ATOMIC},
    ANY: {ATOMIC, NO_ATOMIC, ANY},
}
_HALF = 0.5  # a CAS a pair: reservations take one for each object

# Those of a lock with one thread; nested pairs take none, so that the most says what one takes.
_ATOMICS = """SELECT engine, substr(series.name, 12), lock, variant,
    (SELECT sum(value) FROM metrics WHERE run_id = runs.id AND name IN ('cas_won', 'cas_lost'))
    / (SELECT value FROM metrics WHERE run_id = runs.id AND name = 'pairs')
FROM series JOIN runs ON runs.id = series.run_id
WHERE series.name GLOB 'validation/*' AND status = 'ok' AND threads = 1"""

_STANDS_IN = """SELECT DISTINCT lock, variant
FROM series JOIN runs ON runs.id = series.run_id JOIN resolved ON resolved.run_id = runs.id
WHERE series.name GLOB 'validation/*' AND json_extract(resolved, '$.cancellation') IS NOT NULL"""

Subject = tuple[str, str, str, str]  # reference, machine, core, work


@dataclass(frozen=True)
class Cells:
    """What a database has: its compared cells by what a row is about; the most CAS operations a
    pair of each lock in runs of one thread; how many cells were left out, by the reason."""

    by_subject: Mapping[Subject, Sequence[Compared]]
    atomics: Mapping[LockLabel, float]
    left_out: Mapping[str, int]


def read_cells(connection: sqlite3.Connection) -> Cells:
    """Reads a database; nothing from one without validation. Raises LockcrossError for one that
    does not describe a machine that its cells are on."""
    stored = Stored(connection)
    machines = {  # each one's title, without the features behind a comma, and its kind of core
        name: (title.partition(",")[0], OUT_OF_ORDER if core else IN_ORDER)
        for name, title, core in connection.execute(
            "SELECT name, title, json_extract(description, '$.out_of_order') FROM machines"
        )
    }
    replaced = {LockLabel.of(*row) for row in connection.execute(_STANDS_IN)}
    found: dict[Subject, list[Compared]] = {}
    left_out: Counter[str] = Counter()
    for one in stored.compared():
        cell, reference = one.cell, engines.entry(one.cell.engine)
        work = work_of(cell.workload, cell.threads)
        wanted = cell.lock != FLOOR and (stored.java is None or cell.lock in stored.java)
        if not wanted or work is None or not reference.own_costs:
            continue
        if cell.fence == _NOT_ON_SILICON:
            left_out["store forwarding, which does not wait on silicon as on the engine"] += 1
        elif cell.label.with_full_fences in replaced:
            left_out["variants that the engine runs another in the place of"] += 1
        elif cell.machine not in machines:
            raise LockcrossError(f"machine {cell.machine!r} is not described in the database")
        else:
            name = SILICON if reference.silicon else reference.family
            found.setdefault((name, *machines[cell.machine], work), []).append(one)
    atomics: dict[LockLabel, float] = {}
    for engine, name, lock, variant, taken in connection.execute(_ATOMICS):
        if engine == stored.about(name).candidate and taken is not None:
            label = LockLabel.of(lock, variant)
            atomics[label] = max(atomics.get(label, 0.0), taken)
    return Cells(found, atomics, left_out)


def count_stored(databases: Iterable[Path]) -> tuple[list[Row], Mapping[str, int]]:
    """The rows of some databases, and how many of their cells were left out, by the reason.

    Raises LockcrossError for a file that cannot be read, and as read_cells does.
    """
    found = []
    for path in databases:
        with Store(path, read_only=True) as store:
            found.append(read_cells(store.connection))
    left_out: Counter[str] = Counter()
    for one in found:
        left_out.update(one.left_out)
    return count(found), left_out


def count(databases: Iterable[Cells]) -> list[Row]:
    """The rows of what some databases have, silicon's first. A row has two cells at least."""
    cells: dict[Subject, list[Compared]] = {}
    atomics: dict[LockLabel, float] = {}
    for database in databases:
        for subject, some in database.by_subject.items():
            cells.setdefault(subject, []).extend(some)
        for label, taken in database.atomics.items():
            atomics[label] = max(atomics.get(label, 0.0), taken)
    kinds = {label: ATOMIC if taken >= _HALF else NO_ATOMIC for label, taken in atomics.items()}

    def kind_of(one: Compared) -> str:
        """A lock that never ran with one thread has no kind."""
        return kinds.get(one.cell.label.with_full_fences, ANY)

    def place(subject: Subject) -> tuple[bool, str, str, int]:
        reference, machine, _, work = subject
        return reference != SILICON, reference, machine, _WORKS.index(work)

    found = []
    for subject in sorted(cells, key=place):
        for kind, members in _KINDS.items():
            some = [one for one in cells[subject] if kind_of(one) in members]
            pairs = [
                (cheap, dear)
                for contest in contests(some)
                for cheap, dear in apart(contest)
                if kind != BOTH or kind_of(cheap) != kind_of(dear)
            ]
            if len(some) > 1:
                found.append(_row(subject, kind, some, pairs))
    return found


def _row(
    subject: Subject,
    kind: str,
    cells: Sequence[Compared],
    pairs: Sequence[tuple[Compared, Compared]],
) -> Row:
    """`pairs`: of locks that the reference tells apart, the cheaper one there first."""
    judged = []  # the predicted lead, as a share of the dearer lock's cost, and whether it is right
    for one, other in pairs:
        costs = sorted((one.candidate, other.candidate))
        if costs[0] != costs[1]:
            lead = (costs[1] - costs[0]) / costs[1]
            judged.append((lead, one.candidate < other.candidate))
    tenths = quantiles((one.reference / one.candidate for one in cells), n=10, method="inclusive")
    labels = sorted({one.cell.label.with_full_fences for one in cells})
    above = [[right for lead, right in judged if 100 * lead >= least] for least in LEADS]
    return Row(
        *subject, kind, len(cells), median(abs(one.error) for one in cells), tenths[0], tenths[-1],
        tuple(map(len, above)), tuple(map(sum, above)), tuple(labels),
    )  # fmt: skip
