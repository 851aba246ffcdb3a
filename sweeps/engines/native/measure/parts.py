"""Measurements by one thread: caches, arithmetic, atomics, fences, and accesses that pass them; and
by two: lines that move between CPUs, and stopping, parking and waking."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median

from sweeps.engines.native import host
from sweeps.engines.native.measure.programs import (
    SHARE,
    Finding,
    Programs,
    Waking,
    handover,
    measured_phases,
    of_alone,
    of_both,
    wakings,
)
from sweeps.engines.native.output import phase_metrics
from sweeps.engines.native.sample import Estimate, Line, Round, cycles_per_tick, estimate
from sweeps.model.isa import ISAS, host_isa
from sweeps.support.toml import Document


class Loop(Document):
    """A loop of kernel micro, or the settings of all loops of a part (findings.toml)."""

    loop: str = ""
    less: str = ""
    times: float = 1
    rate: int = 0
    meaning: str = ""
    how: str = ""


class LoopGroup(Loop):
    figures: dict[str, Loop]

    def loops(self) -> dict[str, Loop]:
        """Return each loop with the settings of the whole part."""
        common = self.model_dump(exclude={"figures"}, exclude_unset=True)
        return {
            name: Loop(**{"loop": name} | common | loop.model_dump(exclude_unset=True))
            for name, loop in self.figures.items()
        }


class Findings(Document):
    parts: dict[str, LoopGroup]
    work: dict[str, Loop]
    alone: dict[str, str]
    both: dict[str, str]
    barriers: dict[str, str]


KNOWN = Findings(**tomllib.loads(Path(__file__).with_name("findings.toml").read_text("utf-8")))
OF_TWO = tuple(KNOWN.both)  # what two threads measure

REPEATS = 24  # of each loop
LONG_REPEATS = 7  # of chases beyond the second level
_TURNS = (2000, 6000)  # a loop's two lengths
_CHASE_TURNS = 4000
_LONG_TURNS = 20_000
_LONG_KIB = 1024  # from here on the system gives the memory
_CHAIN = 8  # loads of a turn of a chase (kernels/micro.c)
_FAR = 8  # times the cache before
MOST_KIB = 2**21  # the kernel's bound
MEMORY = "load_memory"

# Cycles of a turn of a loop of kernel micro: its operation, and by name the stores before it
# (`stores`), the memory that it goes over (`kib`) and the turns of a loop within it (`inner`).
Times = Callable[..., Estimate]
Found = Iterator[tuple[str, Finding]]  # figures by name


def run_loop(
    programs: Programs,
    binary: str,
    cpu: int,
    op: str,
    stores: str = "zero",
    kib: int = 16,
    inner: int = 1,
) -> Estimate:
    """Return cycles of a turn. A chase has one length: the cost of its beginning is lost in it,
    while its memory is at another place in every run."""
    turns: Sequence[int] = _TURNS
    if op == "chase":
        turns = [_LONG_TURNS if kib > _LONG_KIB else _CHASE_TURNS]
    run = partial(programs.run, binary, [cpu], op=op, stores=stores, kib=kib, inner=inner)
    rounds = [
        [run(iterations=n) for n in turns]
        for _ in range(LONG_REPEATS if kib > _LONG_KIB else REPEATS)
    ]
    return Round(rounds).cycles_per_pair()


@dataclass(frozen=True)
class Level:
    """A level of memory: its name, and how many KiB a chase goes over to stay in it."""

    name: str
    title: str
    kib: int


def levels(caches: Sequence[host.Cache], free_kib: int) -> list[Level]:
    """Return the sizes to chase through: half of the first cache; in every other one eight times
    the one before, but at most half of that cache; for memory twice the last, if there is that
    much."""
    most = min(free_kib, MOST_KIB)
    chased = []
    before = 0
    for cache in caches:
        size = cache.size // 1024
        kib = min(size // 2, _FAR * before) if before else size // 2
        if before < kib <= most:
            chased.append(Level(f"load_l{cache.level}", f"the level {cache.level} cache", kib))
        before = size
    if 0 < 2 * before <= most:
        chased.append(Level(MEMORY, "memory", 2 * before))
    return chased


def memory(times: Times, level: Level) -> Found:
    """Yield the load-use latency of a level, by pointer chase."""
    cycles = times("chase", kib=level.kib).over(_CHAIN)
    text = KNOWN.alone["level"].format(title=level.title, kib=level.kib)
    if level.kib > _LONG_KIB:
        text += ", in huge pages if the system gives them, with what it takes to find a page"
    # Where the memory lies differs from run to run: the median stands for all.
    value = cycles.value if level.kib <= _LONG_KIB else cycles.median
    yield level.name, Finding(value, cycles.iqr, text)


def of_loops(times: Times, loops: Mapping[str, Loop]) -> Found:
    """Yield figures of one loop each, or of the difference of two."""
    for name, loop in loops.items():
        turn = times(loop.loop)
        if loop.less:
            turn = turn.minus(times(loop.less))
        text = f"{loop.meaning}: {loop.how}"
        if loop.rate:
            rate = loop.rate / turn.value
            yield name, Finding(rate, rate * turn.iqr / turn.value, text, "instructions/cycle")
        else:
            yield name, of_alone(turn.over(loop.times), text)


_JUMPS = 200  # of kernel micro, behind a chain of divisions
_ALL_HIDES = 0.9  # share of the shorter from which on nothing bounds how much hides


def in_flight(times: Times) -> Found:
    """Yield how many taken branches enter the window behind a chain of divisions under way."""
    chain, jumps, both = times("divisions"), times("jumps_many"), times("divisions_jumps")
    share, _ = hidden_share(chain, jumps, both)
    rate = _JUMPS / jumps.value
    hidden = max(0.0, chain.value + jumps.value - both.value)
    spread = chain.iqr + jumps.iqr + both.iqr
    text = KNOWN.alone["branches_in_flight"].format(jumps=_JUMPS)
    value = (0.0, 0.0) if share > _ALL_HIDES else (hidden * rate, spread * rate)
    yield "branches_in_flight", Finding(*value, text, "branches")


_ENDS = (8, 16, 32, 64, 128, 256)  # turns of a loop
_ENDLESS = 4096  # turns of one whose end is lost in it
_MISSED = 0.25  # of a misprediction: a loop's end that costs as much more is not predicted


def longest_predicted(
    ends: Mapping[int, float], once: float, endless: float, mispredict: float
) -> int:
    """Return the longest of these loops whose end is predicted; 0: of none. `ends`: cycles of a
    loop of so many turns; `once`: of one turn; `endless`: of a turn of a loop without end."""
    return max(
        (
            turns
            for turns, cycles in ends.items()
            if cycles - once - (turns - 1) * endless < _MISSED * mispredict
        ),
        default=0,
    )


def history(times: Times) -> Found:
    """Yield how many branches back the predictor looks: the end of a loop that runs again and again
    is known by those before it."""
    missed = times("branch_random").minus(times("branch_steady")).over(0.5)
    once, endless = times("branches", inner=1), times("branches", inner=_ENDLESS).over(_ENDLESS)
    ends = {turns: times("branches", inner=turns) for turns in _ENDS}

    def longest(of: str) -> int:
        cycles = {turns: getattr(end, of) for turns, end in ends.items()}
        return longest_predicted(
            cycles, getattr(once, of), getattr(endless, of), getattr(missed, of)
        )

    value = longest("value")
    text = KNOWN.alone["loop_predicted"].format(ends=", ".join(map(str, _ENDS)))
    yield "loop_predicted", Finding(value, abs(longest("median") - value), text, "branches")


def fences(times: Times) -> Found:
    """Yield each fence of the ISA alone, and its addition behind one store and behind four."""
    for number, name in enumerate(ISAS[host_isa()].fences):
        for stores, suffix, where in (
            ("zero", "", "in a loop of nothing else"),
            ("one", "_behind_1", "behind a store"),
            ("four", "_behind_4", "behind stores to four lines"),
        ):
            added = times(f"fence_{number}", stores).minus(times("empty", stores))
            fence = name.removeprefix("fence_")
            text = KNOWN.alone["fence"].format(fence=fence, where=where)
            yield f"{name}{suffix}", of_alone(added, text)


def hidden_share(alone: Estimate, work: Estimate, both: Estimate) -> tuple[float, float]:
    """Return the share, from 0 to 1, of the shorter of two things that hides behind the other, and
    its range; from cycles of each alone and of both in one loop."""
    shorter = min(alone.value, work.value)
    share = (alone.value + work.value - both.value) / shorter
    return min(1.0, max(0.0, share)), (alone.iqr + work.iqr + both.iqr) / shorter


def passing(times: Times) -> Found:
    """Yield how much other work hides behind a CAS and behind the full fence."""
    fence = ISAS[host_isa()].full_fence.removeprefix("fence_")
    for kind, title, op, works in (
        ("cas", "a CAS", "cas_once", tuple(KNOWN.work)),
        ("fence", fence, "fence_0", ("adds", "loads")),
    ):
        for name in works:
            work = KNOWN.work[name]
            alone, other = times(op), times(work.loop or name).over(work.times)
            both = times(f"{kind}_{name}")
            share, spread = hidden_share(alone, other, both)
            text = KNOWN.alone["hides"].format(first=title, second=work.meaning)
            yield f"{kind}_hides_{name}", Finding(share, spread, text, SHARE)
            if (kind, name) == ("fence", "adds"):
                hidden = (alone.value + other.value - both.value, alone.iqr + other.iqr + both.iqr)
                text = KNOWN.alone["fence_hidden"].format(first=title, second=work.meaning)
                yield "fence_hidden", Finding(*hidden, text)


def all_alone(chased: Iterable[Level]) -> dict[str, Callable[[Times], Found]]:
    """Return the parts of one thread, by title."""
    loops = {title: part.loops() for title, part in KNOWN.parts.items()}
    return {
        **{level.title: partial(memory, level=level) for level in chased},
        **{title: partial(of_loops, loops=figures) for title, figures in loops.items()},
        "branches in flight": in_flight,
        "ends of loops": history,
        "fences": fences,
        "what passes a CAS or a fence": passing,
    }


MOST_PAIRS = 66  # of CPUs: all of twelve
PAIR_REPEATS = 16
_PROBES = 8  # runs that tell how far two CPUs are apart
_RUNS = 12  # of two threads
_TRANSFERS = 4000  # of each thread, in a run
_LINES = 200
_RECORDED = 20  # rounds of a run, all of whose phases are recorded
_OBJECTS = 100  # of workload rounds
_HALF_PERIOD = 3  # rounds of a turn there
_CANCELS, _AFTER = 4, 5  # its rounds: in the fourth every reservation is cancelled
# Turns of a loop that a waker waits. The thread sleeps:
_ASLEEP = 100_000
# It waits _LEAD turns before it parks, so that it is met while it enters the kernel, however far
# the CPUs are apart.
_LEAD = 1000
_ENTERING = (*range(0, 2 * _LEAD, 50), *(int(2 * _LEAD * 1.4**step) for step in range(8)))
# It may have slept for long, from somewhere on.
_LASTING = tuple(int(150_000 * 1.4**step) for step in range(13))
TRANSFER = "transfer"


def _of_two(name: str, values: Sequence[float], **about: object) -> tuple[str, Finding]:
    """Return a figure of two threads, by its name. `about`: facts that only the run knows."""
    return name, of_both(values, KNOWN.both[name].format(**about))


def pairs_of(cpus: Sequence[int], most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """Return every pair of CPUs, or `most` of them, evenly chosen."""
    pairs = list(combinations(cpus, 2))
    count = min(most, len(pairs))
    return [pairs[i * len(pairs) // count] for i in range(count)]


def placement(programs: Programs, pair: Sequence[int]) -> float:
    """Return cycles of a hand-over between two CPUs, as a probe of how far apart they are: other
    work only adds to it."""
    binary = programs.build("transfer")
    runs = [
        handover(programs.run(binary, pair, op="store", iterations=_TRANSFERS))
        for _ in range(_PROBES)
    ]
    return estimate(runs).value


def transfers(programs: Programs, cpus: Sequence[int]) -> dict[tuple[int, int], list[float]]:
    """Return cycles of hand-overs of one line, one value per run, for each pair of CPUs."""
    run = partial(programs.run, programs.build("transfer"), op="store", iterations=_TRANSFERS)
    return {
        pair: [handover(run(cpus=pair)) for _ in range(PAIR_REPEATS)] for pair in pairs_of(cpus)
    }


def of_transfers(matrix: Mapping[tuple[int, int], list[float]]) -> Finding:
    """Return the median over all pairs, with the spread of one pair's runs."""
    pairs = f"the median of {len(matrix)} pairs of CPUs" if len(matrix) > 1 else "of the only pair"
    of_pairs = [_of_two(TRANSFER, values, pairs=pairs)[1] for values in matrix.values()]
    value = median(finding.value for finding in of_pairs)
    spread = median(finding.spread for finding in of_pairs)
    return replace(of_pairs[0], value=value, spread=spread)


def _sharing(
    programs: Programs, cpus: Sequence[int], op: str, **more: int
) -> tuple[list[float], list[float]]:
    """Return cycles of the first and the second measurement of kernel sharing, per line, a value a
    round. With one CPU two threads share it."""
    binary = programs.build("sharing", scheduled=len(cpus) == 1)
    run = partial(programs.run, binary, cpus, op=op, times=_LINES, rounds=_RECORDED, **more)
    rounds = [measured_phases(run()) for _ in range(_RUNS)]
    first, second = (
        [cycles / _LINES for measured in rounds for cycles in measured[place]] for place in (0, 1)
    )
    return first, second


def lines(programs: Programs, pair: Sequence[int]) -> Found:
    """Yield single accesses to lines that another CPU has."""
    loads, after = _sharing(programs, pair, "dirty")
    owned, shared = _sharing(programs, pair, "upgrade")
    stored, added = _sharing(programs, pair, "stores")
    base = median(owned)
    name, found = _of_two("upgrade_after_dirty", [c - base for c in after], lines=_LINES)
    yield name, replace(found, beside=median(loads))
    for name, values in {
        "load_dirty": loads,
        "upgrade": [cycles - base for cycles in shared],
        "store_dirty_apart": stored,
        "add_dirty_apart": added,
    }.items():
        yield _of_two(name, values, lines=_LINES)


def parking(programs: Programs, pair: Sequence[int]) -> Found:
    """Yield parking and waking by futex, and yielding, on two CPUs that have nothing else to do."""
    sleep, _ = _sharing(programs, pair, "sleep")
    yield _of_two("park", sleep)
    yield _of_two("yield", _sharing(programs, pair, "yields")[0])
    binary = programs.build("sharing")
    run = partial(programs.run, binary, pair, op="unpark", times=1, rounds=_RECORDED)
    yield from waking(
        [wakings(run(delay=turns, lead=_LEAD)) for turns in _ENTERING],
        [waking for _ in range(_RUNS) for waking in wakings(run(delay=_ASLEEP))],
        [wakings(run(delay=turns)) for turns in _LASTING],
        median(sleep),
    )


@dataclass(frozen=True)
class _Sleep:
    """Runs whose thread slept otherwise than usual, and between which cycles since it began to park
    the one became the other."""

    rounds: list[Waking]
    begins: float
    ends: float

    def threshold(self, name: str) -> tuple[str, Finding]:
        """Return from which cycle on."""
        return name, Finding(
            (self.begins + self.ends) / 2,
            (self.ends - self.begins) / 2,
            KNOWN.both[name].format(begins=self.begins, ends=self.ends),
            alone=False,
        )


def waking(
    entering: Sequence[Sequence[Waking]],
    asleep: Sequence[Waking],
    lasting: Sequence[Sequence[Waking]],
    park: float,
) -> Found:
    """Yield the cost of waking, by how long the thread has slept: of runs that meet it while it
    enters the kernel, of one that sleeps, and of runs in which it sleeps ever longer. `park`: the
    cost of not sleeping."""
    awake = _otherwise(entering, asleep, 0, "call")
    long = _otherwise(lasting, asleep, -1, "until")
    unpark = _of_two("unpark", [each.call for each in asleep])
    yield unpark
    until = [each.until for each in asleep]
    yield _of_two("unpark_until_awake", until)
    # Without a thread that does not sleep yet, the permit is given behind the least of the calls.
    calls = [unpark[1].value, *(median(each.call for each in rounds) for rounds in lasting)]
    before = 0.0 if awake else min(calls)

    def later(name: str, until: Sequence[float], before: float, **about: object) -> Finding:
        found = _of_two(name, until, **about)[1]
        return replace(found, value=max(0.0, found.value - before))

    yield "wake", later("wake", until, before, less="" if awake else ", less the call that wakes")
    if awake:
        yield _of_two("unpark_awake", [each.call for each in awake.rounds])
        parked = [each.parked + each.until for each in awake.rounds]
        wake = later("wake_awake", parked, park)
        yield "wake_awake", replace(wake, beside=median(parked))
        yield awake.threshold("falls_asleep")
    if long:
        yield _of_two("unpark_long", [each.call for each in long.rounds])
        yield "wake_long", later("wake_long", [each.until for each in long.rounds], before)
        yield long.threshold("sleeps_long")


def _otherwise(
    runs: Sequence[Sequence[Waking]], asleep: Sequence[Waking], end: int, by: str
) -> _Sleep | None:
    """Return the rounds that tell of another state than the usual one by a figure, if those of the
    first run do (`end` 0), or of the last (-1), by when the thread had begun to park."""
    at = {
        middle: rounds for rounds in runs if (middle := median(each.parked for each in rounds)) >= 0
    }
    if not at:
        return None
    ends = at[sorted(at)[end]], asleep
    other, usual = ([getattr(each, by) for each in rounds] for rounds in ends)
    apart = abs(median(other) - median(usual))
    if apart <= max(of_both(values, "").spread for values in (other, usual)):
        return None
    middle = (median(other) + median(usual)) / 2

    def tells(each: Waking) -> bool:
        return bool((getattr(each, by) > middle) == (median(other) > middle))

    parked = [each for rounds in at.values() for each in rounds if each.parked >= 0]
    met = sorted((each.parked, tells(each)) for each in parked)
    if end:  # the usual state comes first
        met = [(cycles, not told) for cycles, told in met]
    own = [each for each in parked if tells(each)]
    return _Sleep(own, _part(met, 3), _part(met, 1 / 3))


def _part(met: Sequence[tuple[float, bool]], weight: float) -> float:
    """Return the cycle that parts best those of which the second is true from those of which it is
    not: a few of either are met on the other side, however long the thread has been there. One that
    is not true but early counts `weight` times one that is true but late: with 3, up to there no
    more than a quarter are not true."""
    late = sum(told for _, told in met)
    costs = [float(late)]
    for _, told in met:
        costs.append(costs[-1] + (-1 if told else weight))
    first = min(range(len(costs)), key=costs.__getitem__)
    around = [cycles for cycles, _ in met[max(0, first - 1) : first + 1]]
    return sum(around) / len(around)


def stopping(programs: Programs, pair: Sequence[int]) -> Found:
    stops, _ = _sharing(programs, pair, "stop")
    yield _of_two("stop_by_handshake", stops)
    binary = programs.build("rounds", "reservation", "signal")
    stops = []
    for _ in range(_RUNS):
        line = programs.run(binary, pair, objects=_OBJECTS, rounds=2 * _HALF_PERIOD)
        phases = phase_metrics([line])
        cancels, after = (phases[f"phase_{n}_cycles"][0] for n in (_CANCELS, _AFTER))
        stops.append((cancels - after) / _OBJECTS)
    yield _of_two("stop_by_signal", stops)


def switching(programs: Programs, cpu: int) -> Found:
    """Yield the cost of a switch between two threads that share a core, by the M:N runtime."""
    turns, _ = _sharing(programs, [cpu], "turn", threads=2, cores=1)
    yield "switch", of_both([cycles / 2 for cycles in turns], KNOWN.alone["switch"])


BASE, EACH, LOST = "membarrier_1", "membarrier_core", "membarrier_interrupt"
_BARRIERS = {"rounds": 10, "times": 40}
_BARRIER_RUNS = 9
_MOST_THREADS = 64


def thread_counts(cpus: int) -> list[int]:
    """Return how many threads run: every number up to 8, then each a third higher, and the last."""
    most = min(cpus, _MOST_THREADS)
    counts = list(range(1, min(most, 8) + 1))
    while counts[-1] < most:
        counts.append(min(most, counts[-1] * 4 // 3))
    return counts


def barriers(programs: Programs, cpus: Sequence[int]) -> Found:
    """Yield the cost of making all other threads execute a fence, and the loss of each of them."""
    binary = programs.build("interrupts")
    found: dict[str, Finding] = {}
    for threads in thread_counts(len(cpus)):
        for op, words in KNOWN.barriers.items():
            runs = [
                programs.run(binary, cpus[:threads], op=op, **_BARRIERS)
                for _ in range(_BARRIER_RUNS)
            ]
            running = "thread runs" if threads == 1 else "threads run"
            text = f"{words}; {threads} {running}: cycles of the thread that does it"
            cycles = [cycles for run in runs for cycles in _of_rounds(run)]
            found[f"{op}_{threads}"] = of_both(cycles, text)
            if op == "membarrier" and threads > 1:
                lost = [
                    run["extra"]["lost"] * cycles_per_tick(run, run["host"]["threads"][1])
                    for run in runs
                ]
                found[LOST] = _of_two(LOST, lost, threads=threads)[1]
    if (others := thread_counts(len(cpus))[-1] - 1) > 0:
        first, last = found[BASE], found[f"membarrier_{others + 1}"]
        more, spread = (last.value - first.value) / others, last.spread / others
        text = KNOWN.both[EACH].format(others=others)
        found[EACH] = Finding(more, spread, text, alone=False)
    yield from found.items()


def _of_rounds(line: Line) -> list[float]:
    thread = line["host"]["threads"][0]
    scale = cycles_per_tick(line, thread) / _BARRIERS["times"]
    marks = thread["phases"]
    return [
        (end - start) * scale for (_, start), (_, end) in zip(marks[::2], marks[1::2], strict=True)
    ]
