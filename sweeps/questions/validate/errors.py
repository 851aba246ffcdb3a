"""Counting: from the validations of databases to the rows of errors.csv.

Only Java's locks count, since a question is about those; and no cell with store forwarding: on the
engine a word load over a byte store that has not drained waits, and on the only processor that was
measured it does not. References that have the embedded engine's own cores say nothing of these, and
are left out.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from results.errors import LockcrossError
from results.store.store import Store
from sweeps.accuracy import errors
from sweeps.accuracy.errors import ANY, ATOMIC, BOTH, NO_ATOMIC, SILICON, ErrorCount
from sweeps.model.engines import entry
from sweeps.model.locks import LockLabel
from sweeps.questions.validate.answer import FLOOR, Compared, Stored, apart, contests

_UNLIKE = "store forwarding, which does not wait on silicon as on the engine"
_REPLACED = "variants that the engine runs another in the place of"
_WORKS = (errors.ONE_THREAD, errors.IN_TURN, errors.CONTENDED)
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


class Cells:
    """The cells of databases: compared ones by the subject of a row; the most CAS operations a
    pair of each lock in runs of one thread; how many cells were left out, by the reason."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._cells: dict[Subject, list[Compared]] = defaultdict(list)
        self._atomics: dict[LockLabel, float] = {}

    def read(self, connection: sqlite3.Connection) -> None:
        """Read a database; nothing from one without validation. Raises LockcrossError for one that
        does not describe a machine that its cells are on."""
        stored = Stored(connection)
        machines = {  # each one's title, without the features behind a comma, and its kind of core
            name: (errors.processor_of(title), errors.OUT_OF_ORDER if core else errors.IN_ORDER)
            for name, title, core in connection.execute(
                "SELECT name, title, json_extract(description, '$.out_of_order') FROM machines"
            )
        }
        replaced = {LockLabel.of(*row) for row in connection.execute(_STANDS_IN)}
        for compared in stored.compared():
            cell, reference = compared.cell, entry(compared.cell.engine)
            work = errors.work_of(cell.workload, cell.threads)
            wanted = cell.lock != FLOOR and (stored.java is None or cell.lock in stored.java)
            if not wanted or work is None or not reference.own_costs:
                continue
            if cell.fence == "store_forward":
                self.left_out[_UNLIKE] += 1
            elif cell.label.with_full_fences in replaced:
                self.left_out[_REPLACED] += 1
            elif cell.machine not in machines:
                raise LockcrossError(f"machine {cell.machine!r} is not described in the database")
            else:
                name = SILICON if reference.silicon else reference.family
                self._cells[name, *machines[cell.machine], work].append(compared)
        for engine, name, lock, variant, taken in connection.execute(_ATOMICS):
            if engine == stored.about(name).candidate and taken is not None:
                label = LockLabel.of(lock, variant)
                self._atomics[label] = max(self._atomics.get(label, 0.0), taken)

    def _kind_of(self, compared: Compared) -> str:
        """Return the kind of a lock; one that never ran with one thread has none."""
        taken = self._atomics.get(compared.cell.label.with_full_fences)
        if taken is None:
            return ANY
        return ATOMIC if taken >= _HALF else NO_ATOMIC

    def rows(self) -> list[ErrorCount]:
        """Return the rows, silicon's first. A row has two cells at least."""

        def sort_key(subject: Subject) -> tuple[bool, str, str, int]:
            reference, machine, _, work = subject
            return reference != SILICON, reference, machine, _WORKS.index(work)

        rows = []
        for subject in sorted(self._cells, key=sort_key):
            kinds = [(cell, self._kind_of(cell)) for cell in self._cells[subject]]
            for kind, members in _KINDS.items():
                some = [cell for cell, own in kinds if own in members]
                pairs = [
                    (cheap, dear)
                    for contest in contests(some)
                    for cheap, dear in apart(contest)
                    if kind != BOTH or self._kind_of(cheap) != self._kind_of(dear)
                ]
                if len(some) > 1:
                    costs = [(cell.reference, cell.candidate) for cell in some]
                    leads = [
                        (cheap.candidate, dear.candidate, dear.reference - cheap.reference)
                        for cheap, dear in pairs
                    ]
                    labels = [cell.cell.label.with_full_fences for cell in some]
                    rows.append(errors.counted(subject, kind, costs, leads, labels))
        return rows


def count_stored(databases: Iterable[Path]) -> tuple[list[ErrorCount], Mapping[str, int]]:
    """Return the rows of some databases, and how many of their cells were left out, by the reason.

    Raises LockcrossError for a file that cannot be read, and as Cells.read does.
    """
    cells = Cells()
    for path in databases:
        with Store(path, read_only=True) as store:
            cells.read(store.connection)
    return cells.rows(), cells.left_out
