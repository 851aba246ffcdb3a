"""`lockcross answer`: the results, in five sentences of stored runs.

Every number and name is read from runs. A sentence's premises are tested (`_holds`): where the runs
no longer support one, there is no answer, but an error that names the sentence to rewrite.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    VALUE,
    Answered,
    Compared,
    ends_words,
    load,
    places_words,
    span,
)
from sweeps.study.runs import Value

RUNS = REFERENCE / "runtimes.db"
ALONE, WORK, BARRIERS, MUTEXES = "byte_writer", "work", "membarrier", "mutexes"
SHARED = "cancellations"
_FEW, _MANY = 4, 256  # objects of a class: its first ones, and more than its heuristics let pass
_MEASURED = ("zen4", "redwood_cove")  # whose costs of a cancellation were measured
_STATES = {"ended": "the owner has ended", "blocked": "it waits", "running": "it runs"}
_ASKED = (ALONE, WORK, BARRIERS, MUTEXES, SHARED)
_MUCH = 1000  # cycles of work between two sections: more than an out-of-order core looks ahead

_BLOCK = re.compile(
    r"(<!-- made by \./lockcross answer --page README\.md -->\n).*?(<!-- until here -->)", re.S
)


def answer(
    page: Page = None,
    form: Format = Form.TABLE,
    db: Database = RUNS,
) -> None:
    """Say in five sentences what came of it all, and how reliable that is.

    It runs nothing: all of it is made from the stored results of `runtimes` and `validate`. Into a
    page it goes between the marks that README.md has.
    """
    with reading(db) as connection:
        found = sentences(connection)
    trusted = trust(read_rows())
    if form == Form.TABLE:
        from results.text.terminal import say

        say("\n\n".join([*found, "\n".join(trusted), _RELIABLE]))
    else:
        print_parts(form, Rows([{"sentence": n, "answer": one} for n, one in enumerate(found, 1)]))
    if page is not None:
        with writing(page, "name another file with --page"):
            page.write_text(with_answer(page, found, trusted), encoding="utf-8")


def with_answer(page: Path, found: Sequence[str], trusted: Sequence[str]) -> str:
    """Return the text of a page, with the sentences between its first two marks, and the table
    between the others. Raises LockcrossError for a page that does not have them."""
    text = page.read_text(encoding="utf-8")
    if len(_BLOCK.findall(text)) != 2:
        raise LockcrossError(f"{page}: does not have the four marks that README.md has")
    parts = iter(
        ("".join(f"{number}. {one}\n" for number, one in enumerate(found, 1)),
         "".join(f"{line}\n" for line in trusted))
    )  # fmt: skip
    return _BLOCK.sub(lambda marks: f"{marks[1]}{next(parts)}{marks[2]}", text)


def sentences(connection: sqlite3.Connection) -> list[str]:
    """Return the five. Raises LockcrossError where the database lacks a question's runs, or they
    say something else than a sentence takes for granted."""
    asked = {name: _answered(name, connection) for name in _ASKED}
    made: tuple[Callable[[Mapping[str, Answered]], str], ...] = (
        _which_lock,
        _where_reservation_wins,
        _where_asymmetric_locks_do,
        _was_it_right_to_remove_biased_locking,
        _what_surprised,
    )
    return [one(asked) for one in made]


def _answered(name: str, connection: sqlite3.Connection) -> Answered:
    try:
        return Answered(load(name), connection)
    except LockcrossError:
        raise LockcrossError(
            f"the database has no runs of the question {name}; "
            f"`./lockcross runtimes {name} --db FILE` makes them"
        ) from None


def _which_lock(asked: Mapping[str, Answered]) -> str:
    alone, mutexes = asked[ALONE], asked[MUTEXES]
    best, won = _winner(alone)
    mutex, times = _winner(mutexes)
    others = [mutexes.compared(mutex, other) for other in mutexes.labels if other != mutex]
    leads = sum(len(one.less) + len(one.more) for one in others)
    reliable = sum(len(one.reliable) for one in others)
    beside = alone.compared(best, "hotspot_light")
    _holds("the cheapest lock of one thread costs less than HotSpot's", not beside.more)
    savings = _saved_on_silicon()
    _holds("on silicon a locked operation is a cheaper fence than mfence", min(savings) > 0)
    return (
        f"**Which lock.** In a loop that does nothing but lock, `{best}` is the cheapest on "
        f"{_of(won, alone)} processors that were simulated: {alone.cost(best)} a pair, "
        f"{span(beside.less.values())} less than what HotSpot ships today (LTS 25; "
        f"{_reliably(beside)}). {_with_work(asked[WORK], best)} Of mutexes that threads fight for, "
        f"`{mutex}` is the cheapest in {_of(times, mutexes)} settings ({reliable} of {leads} leads "
        "are reliable); on x86-64 a fence should be a locked operation, which took "
        f"{min(savings):.0f} to {max(savings):.0f} % off a tasuki lock with mfence on "
        f"{len(savings)} real processors."
    )


def _with_work(work: Answered, best: str) -> str:
    """Say from which work between two sections on an atomic is free, and the rest of the best
    lock's lead over HotSpot's."""
    found = work.free()
    known = [place for place, ns in found.items() if ns is not None]
    beside = work.compared(best, "hotspot_light", think=_MUCH)
    _holds("an atomic is free somewhere", bool(known))
    _holds("with work HotSpot's lock costs more somewhere", bool(beside.less) and not beside.more)
    of = "all" if len(known) == len(found) else f"{len(known)} of"
    return (
        f"With work between two sections an atomic is free on {of} {len(found)}, "
        f"{work.free_words()}: then the cheapest lock with one that ships costs no more than the "
        f"cheapest without. HotSpot's, which takes two, costs {span(beside.less.values())} more on "
        f"{len(beside.less)} even with {_MUCH:,} cycles of work ({_reliably(beside)})."
    )


def _where_reservation_wins(asked: Mapping[str, Answered]) -> str:
    shared = asked[SHARED]
    flat = shared.pays("reservation", "j9_flat", "first", objects=_FEW, owner="ended")
    beside = shared.compared("reservation", "hotspot_light", objects=_FEW)
    return (
        "**Reservation** pays once an object's owner has taken it often enough before another "
        f"thread comes. On {' and '.join(_MEASURED)}, beside HotSpot's lightweight locking, that "
        f"is {_by_state(shared, 'reservation', 'hotspot_light')}. In brackets: with the cheapest "
        "and the dearest cancellation that measurement leaves open, a bare handshake and HotSpot "
        f"on two CPUs ({_reliably(beside)}). Beside OpenJ9's flat lock, which releases by a plain "
        f"store, it pays {flat}, if the owner has ended."
    )


def _by_state(shared: Answered, lock: str, other: str) -> str:
    """Say from how many acquisitions a lock pays on machines that were measured, by state of the
    owner."""
    parts = []
    for state, words in _STATES.items():
        each = (
            shared.threshold(lock, other, "first", machine=name, owner=state, objects=_FEW)
            for name in _MEASURED
        )
        parts.append(f"{' and '.join(each)} times if {words}")
    return ", ".join(parts)


def _where_asymmetric_locks_do(asked: Mapping[str, Answered]) -> str:
    shared, barriers = asked[SHARED], asked[BARRIERS]
    winners = [*shared.winners(objects=_FEW).values(), *asked[ALONE].winners().values()]
    won = sum("asym_tasuki" in equal for equal in winners)
    beside = asked[ALONE].compared("asym_tasuki", "hotspot_light")
    paid = barriers.compared("asym_tasuki/membarrier", "asym_tasuki/rmw")
    best = _won(barriers, "asym_tasuki/membarrier")
    _holds("an asymmetric lock costs one thread less than HotSpot's somewhere", bool(beside.less))
    _holds("a process-wide barrier pays somewhere", bool(paid.less))
    return (
        f"**An asymmetric lock** is the cheapest in {won} of {len(winners)} settings, though for "
        f"one thread cheaper than HotSpot's {places_words(list(beside.less), beside.places)} "
        f"({_reliably(beside, beside.less)}); a process-wide barrier in place of its fence pays in "
        f"{_of(len(paid.less), barriers)} settings, on {_processors(paid.less)} "
        f"({_reliably(paid, paid.less)}), and makes it the cheapest in {best}."
    )


def _was_it_right_to_remove_biased_locking(asked: Mapping[str, Answered]) -> str:
    alone = asked[ALONE]
    stack, light = (alone.compared("biased", other) for other in ("hotspot_stack", "hotspot_light"))
    _holds("biased locking costs one thread less than what came after", not stack.more | light.more)
    shared = asked[SHARED]
    many = [
        ends_words(_borders(shared, owner=state, objects=_MANY)) for state in ("ended", "running")
    ]
    return (
        "**Removing biased locking** was right where another thread comes early: on "
        f"{' and '.join(_MEASURED)} before the owner has taken one of a class's first objects "
        f"{_by_state(shared, 'biased', 'hotspot_stack')}. Of a class with {_MANY} such objects, "
        f"whose revocations end at the 40th, it was right within {many[0]} if owners have ended, "
        f"or {many[1]} if they run. It was wrong for a thread that locks for each byte, which has "
        f"paid {span(stack.less.values())} more a pair since ({_reliably(stack)}), and pays "
        f"{span(light.less.values())} with today's locks ({_reliably(light)})."
    )


def _borders(answered: Answered, **where: Value) -> dict[str, float]:
    """Return, by place, the number of acquisitions of each object from which on biased locking
    costs less than stack locking, in the settings that have these values."""
    worth = answered.crossings("biased", "hotspot_stack", "first", VALUE, **where)
    known = {place: x for place, x in worth.items() if x is not None}
    _holds("biased locking is worth it from some number on everywhere", len(known) == len(worth))
    return known


def _what_surprised(asked: Mapping[str, Answered]) -> str:
    alone = asked[ALONE]
    saved = alone.compared("biased", "hotspot_stack").less
    flat = alone.compared("j9_flat", "hotspot_stack")
    barriers = alone.compared("art_thin:without_read_barriers", "art_thin")
    shares = [100 * flat.less.get(place, 0.0) / saving for place, saving in saved.items()]
    _holds("a release without an atomic has a third of what biased locking saved", min(shares) > 33)
    _holds("ART without read barriers costs less than with them", not barriers.more)
    return (
        "**What surprised**: a release without an atomic, as in OpenJ9's flat lock, brings "
        f"{min(shares):.0f} to {max(shares):.0f} % of what biased locking saved, and has nothing "
        f"to cancel ({_reliably(flat)}). Android's lock without read barriers has it too: "
        f"{span(barriers.less.values())} less than with them ({_reliably(barriers)})."
    )


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
            "the sentence in sweeps/questions/runtimes/summary.py is to be written anew",
            exit_code=1,
        )


def _winner(answered: Answered) -> tuple[str, int]:
    """Return the lock that is the cheapest, or as cheap, in the most settings, and in how many."""
    ((label, won),) = Counter(
        label for equal in answered.winners().values() for label in equal
    ).most_common(1)
    return label, won


def _won(answered: Answered, label: str) -> int:
    return sum(label in equal for equal in answered.winners().values())


def _processors(places: Iterable[str]) -> str:
    """Return the processors that some places begin with."""
    return ", ".join(sorted({place.partition(",")[0] for place in places}))


def _of(some: int, answered: Answered) -> str:
    every = len(answered.places)
    return f"all {every}" if some == every else f"{some} of {every}"


def _reliably(compared: Compared, leads: Mapping[str, float] | None = None) -> str:
    """Say in how many settings with these leads, or with any, the lead is reliable."""
    places = (compared.less | compared.more if leads is None else leads).keys()
    some, every = len(places & compared.reliable), len(places)
    return f"reliable in all {some}" if some == every else f"reliable in {some} of {every}"


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
