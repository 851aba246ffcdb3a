"""The question to `advise`: locks, and a use of them on a processor; anything not said is
assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from results.errors import LockcrossError, check_known
from sweeps.model.axes import QUANTITIES
from sweeps.model.cell import Cell, isa_and_flavour, usual
from sweeps.model.isa import ISAS
from sweeps.model.locks import FENCE_KINDS, FULL, MEMBARRIER, LockLabel, cancels, load_locks
from sweeps.model.machine import Figure, Machine, load_machine
from sweeps.plans import STUDIES
from sweeps.questions.advise.mixture import Scenario
from sweeps.questions.advise.owner import Cancellation, cancellation, states_of
from sweeps.questions.advise.program import RecordedProgram
from sweeps.questions.advise.use import AMOUNTS, MOST_THREADS, ExactUse, Use, settle
from sweeps.study.lines import check_label, own_latency
from sweeps.study.plan import Plan, parse_plan

if TYPE_CHECKING:
    from sweeps.lock_logs.gaps import Nanoseconds
    from sweeps.lock_logs.locality import Pattern

_STUDY = "crossover"
# How an input of an answer is known.
GIVEN, MEASURED, QUOTED, DERIVED, ASSUMED = "given", "measured", "quoted", "derived", "assumed"
FOLLOWS = "follows"  # from the others
STORE_FORWARD = "store_forward"  # fences of this kind are in no recommendation
_BROKEN = "store forwarding orders nothing on the processors that were tried: not to be used"
_PRODUCTION = "rmw"  # how runtimes order a store before a load where a locked operation does it
USUAL = "hotspot_light"  # what a program is taken to have that nobody says anything of
_TWICE = 2  # an assumed latency may be half of it, or twice


def compared_study() -> Plan:
    """Return the main job, whose locks are compared, and whose ties are ties."""
    return STUDIES.read(parse_plan, _STUDY)


@dataclass(frozen=True)
class Input:
    """One input of an answer: given, known or assumed."""

    name: str  # of an axis, where it is one
    value: str  # in words
    kind: str  # how it is known
    source: str
    # The range of an assumption, or what is left open of a figure, of a latency in set cycles; None
    # where none is known.
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Logged:
    """The facts of a program from its log; `program` has its CPU time."""

    name: str
    pattern: "Pattern"
    program: RecordedProgram | None = None
    works: "Nanoseconds | None" = None  # before each acquisition; None: not known
    owners: Mapping[str, float] = field(default_factory=dict)  # states, when others come


@dataclass(frozen=True)
class Question:
    """The question to be answered."""

    scenario: Scenario  # with the machine's own latencies, but for a cancellation's
    labels: tuple[LockLabel, ...]
    searched: tuple[LockLabel, ...]  # among which, and the cheapest, it is searched for changes
    measured: Mapping[str, int]  # latencies, by axis: to be set so that they measure this
    inputs: tuple[Input, ...]
    limits: Mapping[LockLabel, str]  # what locks that cannot replace all others cannot do
    contended: float = 0.0  # the share of acquisitions that find the lock held, answered beside
    program: RecordedProgram | None = None  # whose use it is, where it was recorded
    rated: bool = False  # how often the program locks is known
    # What a cancellation costs at least and at most; None where that is one number, or nobody pays.
    open_cancellation: tuple[int, int] | None = None

    @property
    def latencies(self) -> list[str]:
        """Return the axes of the latencies that any of its locks pays."""
        return _paid(self.labels)


def ask(
    machine: str,
    isa: str,
    flavour: str,
    locks: Sequence[str],
    fences: Sequence[str],
    latencies: Mapping[str, int | None],
    use: Use,
    log: Logged | None = None,
) -> Question:
    """Return the question about a use; a log gives the numbers that are not stated. `latencies`:
    by their axes, cycles as measured on the processor, of a cancellation and a process-wide barrier
    as set; one that is not given is the machine's own. Raises LockcrossError for a use that cannot
    be run."""
    described = load_machine(machine)
    isa, flavour = isa_and_flavour(machine, isa, flavour)
    if isa not in described.isas:
        only = ", ".join(described.isas)
        raise LockcrossError(f"--isa: {isa!r}: machine {machine} is {only} only")
    flavours = ISAS[isa].flavours
    if flavour not in flavours:
        raise LockcrossError(f"--flavour: {flavour!r}: {isa} has {', '.join(flavours)} only")
    clock = described.clock_mhz.number
    full, sources, works = _with_sources(use, log, clock)
    exact, assumed = settle(full)
    exact = replace(exact, works=works)
    study, given = compared_study(), full.given()
    compared = locks or [*study.locks, *study.aside]
    searched = labels = _labels(compared, fences, isa)
    if not locks:
        labels = _labels([*compared, *runtime_locks(described, isa)], fences, isa)
    states = states_of(use.owner) if use.owner else log.owners if log is not None else {}
    stop, stated = cancellation(described, states), latencies.get("cancel_latency")
    cycles = stop.cycles if stated is None else stated
    base = usual(
        machine,
        flavour,
        "lock_use",
        {},
        lock=labels[0].lock,
        threads=exact.threads,
        cancel_latency=cycles,
        membarrier_latency=latencies.get("membarrier_latency"),
    )
    scenario = Scenario(base, exact)
    for label in labels:
        scenario.with_lock(label).check()
    measured = {axis: cycles for axis, cycles in latencies.items() if cycles is not None}
    paid = _paid(labels)
    is_open = "cancel_latency" in paid and stated is None and stop.low < stop.high
    inputs = (
        *(_latency(base, axis, measured.get(axis), stop, bool(states)) for axis in paid),
        *(Input(name, f"{n:,.10g}", GIVEN, sources.get(name, "")) for name, n in given.items()),
        *(_assumed(exact, name, words) for name, words in assumed.items()),
    )
    limits = {
        label: _BROKEN if label.fence == STORE_FORWARD else study.limits[label.lock]
        for label in labels
        if label.fence == STORE_FORWARD or label.lock in study.limits
    }
    program, contended = None if log is None else log.program, full.contended or 0
    return Question(
        scenario, labels, searched, measured, inputs, limits, contended, program,
        use.locks_per_second is not None, (stop.low, stop.high) if is_open else None,
    )  # fmt: skip


_Works = tuple[tuple[int, Fraction], ...]


def _with_sources(use: Use, log: Logged | None, mhz: float) -> tuple[Use, dict[str, str], _Works]:
    """Return the use with the facts of a log, on a processor of a clock; the source of each number;
    and how much work each share of the acquisitions has before it, where the log has that."""
    stated, sources = use.given(), {}
    if log is not None:
        use = use.with_log(log.pattern)
        sources = {name: log.name for name in use.given() if name not in stated}
        if log.pattern.threads > MOST_THREADS and "threads" in sources:
            sources["threads"] += f", which has {log.pattern.threads}"
    if use.locks_per_second is not None:
        return use.at_clock(mhz), sources | {"think": "from locks a second"}, ()
    if log is None or log.program is None or use.think is not None:
        return use, sources, ()
    clock, program = mhz * 1e6, log.program
    cycles = clock * program.between
    words = f"{log.name}: {cycles:,.0f} cycles of CPU time for each"
    if program.own:
        words += f", without {clock * program.own:,.0f} of its own lock"
    if cycles > AMOUNTS[-1]:
        words += f"; beyond {AMOUNTS[-1]:,} they change no cost of a lock"
    left = max(cycles - (use.critical or 0), 0.0)
    if log.works is None or not len(log.works):
        return replace(use, think=round(min(left, AMOUNTS[-1]))), sources | {"think": words}, ()
    each = (log.works * clock / 1e9 - (use.critical or 0)).clip(0, AMOUNTS[-1])
    # Recording may have added more than is taken off; in the mean there is no more than CPU time.
    each *= min(left / max(each.mean(), 1e-9), 1)
    from sweeps.lock_logs.gaps import parts_of

    parts, think = parts_of(each, AMOUNTS), round(each.mean())
    works = tuple((n, part) for n, part in zip(AMOUNTS, parts, strict=True) if part and think)
    words += "; by its gaps " * bool(works)
    words += ", ".join(f"{n:,} in {100 * float(share):.3g} %" for n, share in works)
    return replace(use, think=think), sources | {"think": words}, works


def runtime_locks(machine: Machine, isa: str) -> list[str]:
    """Return the Java locks that today's runtimes ship, and an asymmetric lock without a fence for
    its owner, as runtimes have them where they are not locks, if the machine says the cost of
    that."""
    shipped = [lock.name for lock in load_locks().values() if lock.ships_in and lock.java]
    barrier = "charge_barrier" in machine.figures(isa)
    return [*shipped, *[f"asym_tasuki/{MEMBARRIER}"] * barrier]


def _labels(locks: Sequence[str], fences: Sequence[str], isa: str) -> tuple[LockLabel, ...]:
    """Return every lock with each kind of fence: that of its name, or those asked for, or the one
    that runtimes use."""
    refused = ISAS[isa].refused_fence_kinds
    check_known("--fences:", fences, FENCE_KINDS)
    labels = []
    for name in locks:
        label = check_label(name.removesuffix(f"/{FULL}"))
        kinds = [kind for kind in load_locks()[label.lock].fence_kinds if kind not in refused]
        if "/" in name:
            if label.fence not in kinds:
                raise LockcrossError(f"lock {name}: {isa} has {', '.join(kinds)} only")
            wanted = [label.fence]
        else:
            usual = _PRODUCTION if _PRODUCTION in kinds else FULL
            wanted = [kind for kind in fences if kind in kinds] or [usual]
        labels += [LockLabel.of(label.lock, label.variant, kind) for kind in wanted]
    if sum(label.fence != STORE_FORWARD for label in dict.fromkeys(labels)) < 2:
        raise LockcrossError(
            "--locks: give two locks or more, e.g. --locks thin,reservation; those with store "
            "forwarding do not count, since it orders nothing"
        )
    return tuple(dict.fromkeys(labels))


def _paid(labels: Sequence[LockLabel]) -> list[str]:
    full = any(
        label.fence == FULL and len(load_locks()[label.lock].fence_kinds) > 1 for label in labels
    )
    stops = any(map(cancels, labels))
    barriers = any(label.fence == MEMBARRIER for label in labels)
    names = {"fence_latency": full, "cancel_latency": stops, "membarrier_latency": barriers}
    return ["cas_latency", *(name for name, paid in names.items() if paid)]


def _latency(
    base: Cell, axis: str, measured: int | None, stop: Cancellation, known_states: bool
) -> Input:
    """Return the input for a latency of the processor. An assumed one may be half of it or twice; a
    cancellation has the range that the machine leaves open."""
    if measured is not None:
        return Input(axis, f"{measured:,} cycles", GIVEN, "")
    if axis == "cancel_latency":
        kinds = [_kind(figure) for figure in stop.figures] + [ASSUMED] * (not known_states)
        kind = next(kind for kind in (ASSUMED, DERIVED, QUOTED, MEASURED) if kind in kinds)
        words = f"{stop.cycles:,} cycles"
        words += f" ({stop.low:,} to {stop.high:,})" * (stop.low < stop.high)
        return Input(axis, words, kind, stop.words, stop.low, stop.high)
    machine, value = load_machine(base.machine), own_latency(base, axis)
    figure = machine.figures(base.isa)[QUANTITIES[axis].figure or ISAS[base.isa].full_fence]
    number = value if axis == "membarrier_latency" else figure.number
    words, kind = f"{number:,} cycles", _kind(figure)
    if kind != ASSUMED:
        return Input(axis, words, kind, figure.source or "")
    return Input(axis, words, kind, figure.why or "", value // _TWICE, value * _TWICE)


def _kind(figure: Figure) -> str:
    """Return how a figure of a machine is known."""
    if figure.assumption is not None:
        return ASSUMED
    if figure.derived is not None:
        return DERIVED
    return MEASURED if (figure.source or "").startswith(MEASURED) else QUOTED


def _assumed(use: ExactUse, name: str, words: str) -> Input:
    """Return an assumption about the use, with the range within which it may well lie."""
    owner = float(use.owner_share)
    ranges: dict[str, tuple[float, float]] = {"think": (0, 1_000)}
    if use.shared_objects:  # what is of no shared object has no range in a use without any
        ranges |= {
            "owner_share": (0.5, 0.999),
            "first_share": (owner / 100, owner),
            "run_length": (1, 100),
            "threads": (2, 8),
            "acquisitions": (10, 100_000),
            "shared_objects": (0.0001, 0.4),  # of ten programs: Kawachiya 2005, Table 5.3
        }
    return Input(name, words, ASSUMED, "", *ranges.get(name, (None, None)))
