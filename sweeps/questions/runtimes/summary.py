"""`lockcross answer`: the results, in three sentences and a table, of stored runs.

Every number and name is read from runs. The claims that they take for granted are tested
(`_holds`): where the runs no longer say so, there is no answer, but an error that says which words
to write anew.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from statistics import median

from results.errors import LockcrossError, writing
from results.paths import REFERENCE
from results.store.store import reading
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.accuracy.errors import (
    ANY,
    CONTENDED,
    IN_TURN,
    ONE_THREAD,
    OPERATIONS,
    OUT_OF_ORDER,
    PUBLISHED,
    ErrorCount,
    read_rows,
)
from sweeps.cli.options import Database, Page
from sweeps.model.engines import ENGINES
from sweeps.questions.runtimes.answer import (
    HIGH,
    LOW,
    VALUE,
    Answered,
    Compared,
    ends_words,
    load,
    span,
)
from sweeps.study.runs import Value

RUNS = REFERENCE / "runtimes.db"
ALONE, WORK, BARRIERS, MUTEXES = "byte_writer", "work", "membarrier", "mutexes"
SHARED = "cancellations"
_FEW, _MANY = 4, 256  # objects of a class: its first ones, and more than its heuristics let pass
_MEASURED = ("zen4", "redwood_cove")  # whose costs of a cancellation were measured
_STATES = {"ended": "has ended", "blocked": "is blocked", "running": "runs"}
_ASKED = (ALONE, WORK, BARRIERS, MUTEXES, SHARED)
_MUCH = 1000  # cycles of work between two sections: more than an out-of-order core looks ahead

_BLOCK = re.compile(
    r"(<!-- made by \./lockcross answer --page README\.md -->\n).*?(<!-- until here -->)", re.S
)


@dataclass(frozen=True)
class Finding:
    """One row of the answer. `range`: the least and the greatest, over the cases that the answer is
    about; `reliable`: in how many of its leads, where it is about leads."""

    question: str
    answer: str
    range: str = ""
    reliable: str = ""


def answer(
    page: Page = None,
    form: Format = Form.TABLE,
    db: Database = RUNS,
) -> None:
    """Print the results, and how reliable they are.

    It runs nothing: all of it is made from the stored results of `runtimes` and `validate`. Into a
    page it goes between the marks that README.md has.
    """
    with reading(db) as connection:
        said, found = answers(connection)
    trusted = trust(read_rows())
    rows = Rows([vars(one) for one in found])
    if form == Form.TABLE:
        from results.text.terminal import console, say

        say("\n".join(said))
        console(fold=False).print(rows)
        say("\n".join([*trusted, "", _RELIABLE]))
    else:
        print_parts(form, rows)
    if page is not None:
        with writing(page, "name another file with --page"):
            page.write_text(with_answer(page, said, found, trusted), encoding="utf-8")


def with_answer(
    page: Path, said: Sequence[str], found: Sequence[Finding], trusted: Sequence[str]
) -> str:
    """Return the text of a page, with the sentences between its first two marks, the answers
    between the next, and the errors between the last. Raises LockcrossError for a page that does
    not have them."""
    text = page.read_text(encoding="utf-8")
    if len(_BLOCK.findall(text)) != 3:
        raise LockcrossError(f"{page}: does not have the six marks that README.md has")
    heads = [field.name for field in fields(Finding)]
    table = [heads, ["---"] * len(heads), *(vars(one).values() for one in found)]
    parts = iter(
        (
            [f"{number}. {one}" for number, one in enumerate(said, 1)],
            [f"| {' | '.join(cells)} |" for cells in table],
            trusted,
        )
    )
    return _BLOCK.sub(lambda marks: "\n".join([marks[1].rstrip(), *next(parts), marks[2]]), text)


def answers(connection: sqlite3.Connection) -> tuple[list[str], list[Finding]]:
    """Return the answer in three sentences, and the rows of its table. Raises LockcrossError where
    the database lacks a question's runs, or they say something else than is taken for granted."""
    asked = {name: _answered(name, connection) for name in _ASKED}
    found = _findings(asked)  # its facts are the finer ones
    return _sentences(asked), found


def _sentences(asked: Mapping[str, Answered]) -> list[str]:
    alone, work, shared = asked[ALONE], asked[WORK], asked[SHARED]
    best, won = _winner(alone)
    _holds("one lock is the cheapest of one thread everywhere", won == len(alone.places))
    _holds("the cheapest lock of one thread is reservation", best == "reservation")
    beside = alone.compared(best, "hotspot_light")
    free = work.free()
    known = [place for place, ns in free.items() if ns is not None]
    pays = partial(_crossing, shared, best, "hotspot_light", VALUE, objects=_FEW)
    ended, runs = (pays(machine=_MEASURED[0], owner=state) for state in ("ended", "running"))
    return [
        f"**In a loop that does nothing but lock**, no lock is cheaper than `{best}` on any "
        f"processor: a lock and unlock takes {median(beside.less.values()):.0f} ns less than with "
        f"HotSpot's lock of today (median of {len(beside.less)} processors).",
        f"**In a program**, a core hides an atomic behind the work between two locks: on "
        f"{len(known)} of {len(free)} processors the best shipped lock with an atomic is then as "
        "cheap as the best without.",
        "**When a second thread comes**, the owner must be stopped: on "
        f"{_MEASURED[0]}, {ended} lock operations of the owner save as much as that costs if the "
        f"owner's thread has ended, and {runs} if it runs.",
    ]


def _findings(asked: Mapping[str, Answered]) -> list[Finding]:
    return [
        *_of_one_thread(asked),
        *_of_revocations(asked[SHARED]),
        *_of_asymmetric_locks(asked),
        *_of_biased_locking(asked),
        *_of_releases(asked[ALONE]),
        *_of_contention(asked[MUTEXES]),
    ]


def _answered(name: str, connection: sqlite3.Connection) -> Answered:
    try:
        return Answered(load(name), connection)
    except LockcrossError:
        raise LockcrossError(
            f"the database has no runs of the question {name}; "
            f"`./lockcross runtimes {name} --db FILE` makes them"
        ) from None


def _of_one_thread(asked: Mapping[str, Answered]) -> list[Finding]:
    alone, work = asked[ALONE], asked[WORK]
    best, won = _winner(alone)
    beside = alone.compared(best, "hotspot_light")
    loaded = work.compared(best, "hotspot_light", think=_MUCH)
    _holds("the cheapest lock of one thread costs less than HotSpot's", not beside.more)
    _holds("with work HotSpot's lock costs more somewhere", bool(loaded.less) and not loaded.more)
    others = {label: alone.compared(best, label) for label in alone.labels if label != best}
    alike = [f"`{label}`" for label, one in others.items() if 2 * len(one.tied) > one.places]
    free = {place: ns for place, ns in work.free().items() if ns is not None}
    _holds("an atomic is free somewhere", bool(free))
    savings = _saved_on_silicon()
    _holds("on silicon a locked operation is a cheaper fence than mfence", min(savings) > 0)
    return [
        Finding(
            "Which lock costs one thread in a loop the least, and how much?",
            f"`{best}`, on {_of(won, alone)} processors",
            alone.cost(best),
        ),
        Finding(
            f"Which locks are too close to `{best}` to call, on most processors?",
            ", ".join(alike) or "none",
        ),
        Finding(
            f"How much less does `{best}` cost than HotSpot's lock of today (LTS 25)?",
            f"{median(beside.less.values()):.0f} ns",
            span(beside.less.values()),
            _reliably(beside),
        ),
        Finding(
            f"Where does it still cost less, with {_MUCH:,} cycles of work between two locks?",
            f"on {_of(len(loaded.less), loaded)} processors",
            span(loaded.less.values()),
            _reliably(loaded),
        ),
        Finding(
            "From which work on is the best shipped lock with an atomic as cheap as the best "
            "without?",
            f"{median(free.values()):.0f} ns, on {len(free)} of {len(work.free())} processors",
            f"{ends_words(free)} ns",
        ),
        Finding(
            "Which fence is cheaper on x86-64, mfence or a locked operation?",
            "a locked operation, on real processors",
            f"{min(savings):.0f} to {max(savings):.0f} % of a `tasuki` lock and unlock",
            f"{len(savings)} of {len(savings)}",
        ),
    ]


def _of_revocations(shared: Answered) -> list[Finding]:
    reliable = _reliably(shared.compared("reservation", "hotspot_light", objects=_FEW))
    flat = shared.pays("reservation", "j9_flat", "first", objects=_FEW, owner="ended")
    return [
        *_by_state(
            shared,
            "reservation",
            "hotspot_light",
            "How many lock operations of the owner pay for one revocation of `reservation`, beside "
            "HotSpot's lock",
            reliable,
        ),
        Finding(
            "How many beside OpenJ9's flat lock, if the owner has ended?",
            _from(shared, "reservation", "j9_flat", "ended"),
            flat.removeprefix("from "),
        ),
    ]


def _by_state(
    shared: Answered, lock: str, other: str, question: str, reliable: str = ""
) -> list[Finding]:
    """Return from how many acquisitions a lock pays, a row for each state of the owner."""
    return [
        Finding(
            f"{question}, if the owner {words}?",
            _from(shared, lock, other, state),
            _open(shared, lock, other, state),
            reliable,
        )
        for state, words in _STATES.items()
    ]


def _crossing(shared: Answered, lock: str, other: str, end: str, **where: Value) -> str:
    """Return from how many acquisitions a lock pays in one setting, in words."""
    (x,) = shared.crossings(lock, other, "first", end, **where).values()
    return "never" if x is None else f"{x:,.0f}"


def _from(shared: Answered, lock: str, other: str, state: str, objects: int = _FEW) -> str:
    """Say from how many acquisitions a lock pays on machines that were measured."""
    of = partial(_crossing, shared, lock, other, VALUE, owner=state, objects=objects)
    return ", ".join(f"{of(machine=name)} on {name}" for name in _MEASURED)


def _open(shared: Answered, lock: str, other: str, state: str) -> str:
    """Say the same with the cheapest and the dearest revocation that measurement leaves open."""
    of = partial(_crossing, shared, lock, other, owner=state, objects=_FEW)
    return ", ".join(f"{of(LOW, machine=name)} to {of(HIGH, machine=name)}" for name in _MEASURED)


def _of_asymmetric_locks(asked: Mapping[str, Answered]) -> list[Finding]:
    shared, barriers, alone = asked[SHARED], asked[BARRIERS], asked[ALONE]
    winners = [*shared.winners(objects=_FEW).values(), *alone.winners().values()]
    won = sum(win.lock == "asym_tasuki" for win in winners)
    tied = sum("asym_tasuki" in win.tied for win in winners)
    beside = alone.compared("asym_tasuki", "hotspot_light")
    paid = barriers.compared("asym_tasuki/membarrier", "asym_tasuki/rmw")
    _holds("an asymmetric lock costs one thread less than HotSpot's somewhere", bool(beside.less))
    _holds("a process-wide barrier pays somewhere", bool(paid.less))
    return [
        Finding(
            "Where is the asymmetric lock `asym_tasuki` the cheapest?",
            f"in {won} of {len(winners)} uses on processors; in a tie in {tied} more",
        ),
        Finding(
            "Where does it cost one thread in a loop less than HotSpot's lock?",
            f"on {_of(len(beside.less), beside)} processors",
            span(beside.less.values()),
            _reliably(beside, beside.less),
        ),
        Finding(
            "Where is it cheaper with a process-wide barrier (membarrier) in place of its fence?",
            f"on {_processors(paid.less)}, in {_of(len(paid.less), barriers)} uses",
            span(paid.less.values()),
            _reliably(paid, paid.less),
        ),
    ]


def _of_biased_locking(asked: Mapping[str, Answered]) -> list[Finding]:
    alone, shared = asked[ALONE], asked[SHARED]
    stack, light = (alone.compared("biased", other) for other in ("hotspot_stack", "hotspot_light"))
    _holds("biased locking costs one thread less than what came after", not stack.more | light.more)
    return [
        *_by_state(
            shared,
            "biased",
            "hotspot_stack",
            "How many lock operations of the owner paid for one revocation of biased locking (JDK "
            "6 to 17), beside stack locking",
        ),
        *(
            Finding(
                f"How many of each of {_MANY} objects of a class, which it gives up at once, if "
                f"owners {words}?",
                _from(shared, "biased", "hotspot_stack", state, _MANY),
                ends_words(_borders(shared, owner=state, objects=_MANY)),
            )
            for state, words in (("ended", "have ended"), ("running", "run"))
        ),
        Finding(
            "How much did its removal cost a thread that locks for each byte that it writes?",
            f"{median(stack.less.values()):.0f} ns",
            span(stack.less.values()),
            _reliably(stack),
        ),
        Finding(
            "How much more than biased locking does today's lock cost it?",
            f"{median(light.less.values()):.0f} ns",
            span(light.less.values()),
            _reliably(light),
        ),
    ]


def _borders(answered: Answered, **where: Value) -> dict[str, float]:
    """Return, by place, the number of acquisitions of each object from which on biased locking
    costs less than stack locking, in the settings that have these values."""
    worth = answered.crossings("biased", "hotspot_stack", "first", VALUE, **where)
    known = {place: x for place, x in worth.items() if x is not None}
    _holds("biased locking is worth it from some number on everywhere", len(known) == len(worth))
    return known


def _of_releases(alone: Answered) -> list[Finding]:
    saved = alone.compared("biased", "hotspot_stack").less
    flat = alone.compared("j9_flat", "hotspot_stack")
    barriers = alone.compared("art_thin:without_read_barriers", "art_thin")
    shares = [100 * flat.less.get(place, 0.0) / saving for place, saving in saved.items()]
    _holds("a release without an atomic has a third of what biased locking saved", min(shares) > 33)
    _holds("ART without read barriers costs less than with them", not barriers.more)
    return [
        Finding(
            "How much of what biased locking saved does a release by a plain store save, as in "
            "OpenJ9?",
            f"{median(shares):.0f} %, with nothing to revoke",
            f"{min(shares):.0f} to {max(shares):.0f} %",
            _reliably(flat),
        ),
        Finding(
            "How much do the read barriers of its collector add to Android's lock?",
            f"{median(barriers.less.values()):.0f} ns",
            span(barriers.less.values()),
            _reliably(barriers),
        ),
    ]


def _of_contention(mutexes: Answered) -> list[Finding]:
    best, times = _winner(mutexes)
    others = [mutexes.compared(best, other) for other in mutexes.labels if other != best]
    leads = sum(one.places for one in others)
    reliable = sum(len(one.reliable) for one in others)
    found = "not known: " * (2 * reliable < leads)
    return [
        Finding(
            "Which mutex is the cheapest for threads that contend?",
            f"{found}`{best}`, or a tie with it, in {_of(times, mutexes)} uses",
            reliable=f"{reliable} of {leads}",
        )
    ]


def trust(rows: Sequence[ErrorCount]) -> list[str]:
    """Return a table in Markdown: how far simulated costs were off, by kind of work and by
    reference, on cores out of order."""
    compared = [row for row in rows if (row.core, row.kind) == (OUT_OF_ORDER, ANY)]
    references = {row.machine: row.reference for row in compared}
    heads = [f"{name}{', published' * (of == PUBLISHED)}" for name, of in references.items()]
    lines = [f"| locks of | {' | '.join(heads)} |", "|---|" + "---|" * len(references)]
    for work, words in _WORK.items():
        known = {row.machine: row for row in compared if row.work == work}
        cells = (_trusted(known.get(machine)) for machine in references)
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return [*lines, "| threads that share cores |" + " none |" * len(references)]


def _trusted(row: ErrorCount | None) -> str:
    if row is None:
        return "none"
    error = f"{100 * row.median_error:.0f} %"
    if not row.pairs[0]:
        return f"{error} of {row.cells}"
    return f"{error}; {100 * row.right[0] / row.pairs[0]:.0f} % of {row.pairs[0]:,}"


_RELIABLE = (
    "Costs are simulated, but for those on real processors. Reliable: of leads like it nine in ten "
    "were in the order of silicon, or of a simulator where nothing was compared with silicon. The "
    "table: median error; pairs of locks in the right order, of those that the reference tells "
    "apart."
)
_WORK = {
    ONE_THREAD: "one thread",
    IN_TURN: "threads in turn",
    CONTENDED: "threads that contend",
    OPERATIONS: "no locks: single operations",
}


def _holds(what: str, true: bool) -> None:
    if not true:
        raise LockcrossError(
            f"the stored runs do not say any more that {what}: "
            "that part of sweeps/questions/runtimes/summary.py is to be written anew",
            exit_code=1,
        )


def _winner(answered: Answered) -> tuple[str, int]:
    """Return the lock that is the cheapest, or in a tie with it, in the most settings, of several
    the one that is the cheapest most often; and in how many."""
    wins = answered.winners().values()
    first = Counter(win.lock for win in wins)
    known = Counter(label for win in wins for label in (win.lock, *win.tied))
    label = max(known, key=lambda label: (known[label], first[label]))
    return label, known[label]


def _processors(places: Iterable[str]) -> str:
    """Return the processors that some places begin with."""
    return ", ".join(sorted({place.partition(",")[0] for place in places}))


def _of(some: int, of: Answered | Compared) -> str:
    every = of.places if isinstance(of, Compared) else len(of.places)
    return f"all {every}" if some == every else f"{some} of {every}"


def _reliably(compared: Compared, leads: Mapping[str, float] | None = None) -> str:
    """Say in how many settings the lead is reliable, of those with these leads, or of all."""
    places = compared.less | compared.more if leads is None else leads
    every = compared.places if leads is None else len(leads)
    return f"{len(places.keys() & compared.reliable)} of {every}"


def _saved_on_silicon() -> list[float]:
    """Return the percentages by which of its cost with mfence a tasuki lock costs less with a
    locked operation, for one thread, on each processor that the locks were run on."""
    host = next(engine.label for engine in ENGINES if engine.silicon)
    saved = []
    for measured in sorted(REFERENCE.glob(f"{host}_*.db")):
        with reading(measured) as connection:
            rows = connection.execute(
                "SELECT fence, cycles_per_pair FROM runs WHERE engine = ? AND lock = 'tasuki' "
                "AND variant = '' AND workload = 'sync' AND status = 'ok'",
                (host,),
            ).fetchall()
        full, locked = (
            median(cost for fence, cost in rows if fence == kind) for kind in ("full", "rmw")
        )
        saved.append(100 * (full - locked) / full)
    return saved
