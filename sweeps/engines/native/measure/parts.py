"""What one thread measures: caches, arithmetic, atomics, fences, and what passes them; and what two
do: lines that move between CPUs, and stopping, parking and waking."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
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

REPEATS = 24  # of each loop
LONG_REPEATS = 7  # of chases beyond the second level
_TURNS = (2000, 6000)  # a loop's two lengths
_CHASE_TURNS = 4000
_LONG_TURNS = 20_000
_LONG_KIB = 1024  # from here on the system gives the memory
_CHAIN = 8  # operations a turn (kernels/micro.c)
_NO_OPS = 96
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
    """Cycles of a turn. A chase has one length: what its beginning costs is lost in it, while its
    memory is at another place in every run."""
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
    """What is chased through: half of the first cache; in every other one eight times the one
    before, but at most half of its own; for memory twice the last, unless there is not that much.
    """
    most = min(free_kib, MOST_KIB)
    chased = []
    before = 0
    for cache in caches:
        own = cache.size // 1024
        kib = min(own // 2, _FAR * before) if before else own // 2
        if before < kib <= most:
            chased.append(Level(f"load_l{cache.level}", f"the level {cache.level} cache", kib))
        before = own
    if 0 < 2 * before <= most:
        chased.append(Level(MEMORY, "memory", 2 * before))
    return chased


_LATENCY = "latency in a dependent chain"


def memory(times: Times, level: Level) -> Found:
    """The load-use latency of a level, by pointer chase."""
    each = times("chase", kib=level.kib).over(_CHAIN)
    text = f"load to use from {level.title}: {_LATENCY} of loads over {level.kib} KiB"
    if level.kib > _LONG_KIB:
        text += ", in huge pages if the system gives them, with what it takes to find a page"
    # Where the memory lies differs from run to run: the median stands for all.
    value = each.value if level.kib <= _LONG_KIB else each.median
    yield level.name, Finding(value, each.iqr, text)


_OWNED = "the whole operation, on a line the core owns"
_CHAINS = {  # operations of the kernel
    "forward": "a load of the 8 bytes just stored, with the store",
    "forward_other": "the same, with the load's address in another register than the store's",
    "forward_contained": "a load of 4 of 8 bytes just stored, with the store",
    "forward_fails": "a load of 8 bytes around 4 just stored, with the store",
    "forward_byte_fails": "a load of 4 bytes around one just stored, with the store",
    "mul": "a multiplication, 64 bits",
    "div": "a division, 64 bits",
    "cas": f"a CAS that wins, {_OWNED}",
    "cas_lost": f"a CAS that loses, {_OWNED}",
    "exchange": f"an atomic exchange, {_OWNED}",
    "fetch_add": f"an atomic fetch-and-add, {_OWNED}",
}
# Figure -> its loop, the loop that is taken off it, how often a turn has it, what it means.
Loops = Mapping[str, tuple[str, str, float, str]]
_ARITHMETIC: Loops = {
    (f"store_{op}" if op.startswith("forward") else op): (op, "", _CHAIN, f"{words}: {_LATENCY}")
    for op, words in _CHAINS.items()
} | {
    "move": ("moves", "", 2 * _CHAIN, f"a copy of a register: {_LATENCY}"),
    "zero": (
        "zeroes",
        "",
        _CHAIN,
        "a register made zero of itself, and a multiplication of it: less than a multiplication's "
        "latency where the core knows that it needs nothing",
    ),
    "add_behind_own": (
        "add_own",
        "",
        _CHAIN,
        "an atomic add to a word that was just stored, and the store of its result: latency in a "
        "dependent chain through the word",
    ),
    "cas_throughput": (
        "cas_apart",
        "",
        _CHAIN,
        "a CAS that wins, on eight lines in turn, none needs another's result: throughput",
    ),
}
_FRONT_END: Loops = {
    "mispredict": (
        "branch_random", "branch_steady", 0.5,
        "a branch predicted wrongly, until what follows is under way again: twice the difference "
        "of one on a random bit, wrong half of the time, and one that is never taken",
    ),
    "jump": ("jumps", "", _CHAIN, "a jump to the next, a few bytes on: throughput"),
    "call": ("calls", "", _CHAIN, "a call of an empty function and its return: throughput"),
    "pause": ("pause", "", 1, "a turn of a spinning thread's wait, in a loop: throughput"),
}  # fmt: skip
_BEHIND_CAS: Loops = {
    f"cas_before_{access}": (
        op,
        "cas_once",
        1,
        f"what {what} behind a CAS adds to a turn of CAS and {what}: throughput",
    )
    for access, op, what in (
        ("store", "cas_store", "a store to another line"),
        ("load", "cas_reload", "a load of its word"),
        ("own", "cas_own", "a store to its word"),
    )
}


def of_loops(times: Times, loops: Loops) -> Found:
    """Figures of one loop each, or of the difference of two."""
    for name, (op, less, operations, text) in loops.items():
        turn = times(op)
        if less:
            turn = turn.minus(times(less))
        yield name, of_alone(turn.over(operations), text)


_APART = {  # operation of the kernel -> what it has 96 of
    "adds_apart": "additions",
    "muls_apart": "multiplications",
    "mixed_apart": "60 additions and 36 loads",
    "loads_apart": "loads of one word",
    "stores_apart": "stores to one word",
    "stores_lines": "stores to eight lines in turn",
}
_MANY = 96


def ports(times: Times) -> Found:
    """How many operations that do not need each other execute in a cycle."""
    for op, what in _APART.items():
        turn = times(op)
        rate = _MANY / turn.value
        text = f"{what} in a cycle, none of which needs another: throughput"
        yield op, Finding(rate, rate * turn.iqr / turn.value, text, "instructions/cycle")


def front_end(times: Times) -> Found:
    """Width, branches, pause."""
    turn = times("width")
    width = _NO_OPS / turn.value
    text = f"no-ops in a cycle, of {_NO_OPS} in a row: throughput"
    yield "width", Finding(width, width * turn.iqr / turn.value, text, "instructions/cycle")
    yield from of_loops(times, _FRONT_END)


_JUMPS = 200  # of kernel micro, behind a chain of divisions
_ALL_HIDES = 0.9  # share of the shorter from which on nothing bounds how much hides


def in_flight(times: Times) -> Found:
    """How many taken branches enter the window behind a chain of divisions that is not done."""
    chain, jumps, both = times("divisions"), times("jumps_many"), times("divisions_jumps")
    share, _ = hidden_share(chain, jumps, both)
    rate = _JUMPS / jumps.value
    hidden = max(0.0, chain.value + jumps.value - both.value)
    spread = chain.iqr + jumps.iqr + both.iqr
    text = (
        f"taken branches in the window at a time: what hides of {_JUMPS} jumps behind a chain of "
        "20 divisions, times jumps a cycle; 0: nearly all hides, so nothing bounds them"
    )
    value = (0.0, 0.0) if share > _ALL_HIDES else (hidden * rate, spread * rate)
    yield "branches_in_flight", Finding(*value, text, "branches")


_ENDS = (8, 16, 32, 64, 128, 256)  # turns of a loop
_ENDLESS = 4096  # turns of one whose end is lost in it
_MISSED = 0.25  # of a misprediction: a loop's end that costs as much more is not predicted


def longest_predicted(
    ends: Mapping[int, float], once: float, endless: float, mispredict: float
) -> int:
    """The longest of these loops whose end is predicted; 0: of none. `ends`: cycles of a loop of
    so many turns; `once`: of one turn; `endless`: of a turn of a loop without end.
    """
    return max(
        (
            turns
            for turns, cycles in ends.items()
            if cycles - once - (turns - 1) * endless < _MISSED * mispredict
        ),
        default=0,
    )


def history(times: Times) -> Found:
    """How many branches back the predictor looks: the end of a loop that runs again and again is
    known by those before it."""
    missed = times("branch_random").minus(times("branch_steady")).over(0.5)
    once, endless = times("branches", inner=1), times("branches", inner=_ENDLESS).over(_ENDLESS)
    ends = {turns: times("branches", inner=turns) for turns in _ENDS}

    def longest(of: str) -> int:
        cycles = {turns: getattr(end, of) for turns, end in ends.items()}
        return longest_predicted(
            cycles, getattr(once, of), getattr(endless, of), getattr(missed, of)
        )

    value = longest("value")
    text = (
        f"turns of the longest loop, of {', '.join(map(str, _ENDS))}, whose end is predicted: its "
        "branch takes less than a quarter of a misprediction beside the turns' own cycles"
    )
    yield "loop_predicted", Finding(value, abs(longest("median") - value), text, "branches")


def fences(times: Times) -> Found:
    """Each fence of the ISA alone, and what it adds behind one store and behind four."""
    for number, name in enumerate(ISAS[host_isa()].fences):
        for stores, suffix, words in (
            ("zero", "", "in a loop of nothing else"),
            ("one", "_behind_1", "behind a store"),
            ("four", "_behind_4", "behind stores to four lines"),
        ):
            added = times(f"fence_{number}", stores).minus(times("empty", stores))
            text = f"what {name.removeprefix('fence_')} adds to a turn {words}: throughput"
            yield f"{name}{suffix}", of_alone(added, text)


def hidden_share(alone: Estimate, work: Estimate, both: Estimate) -> tuple[float, float]:
    """The share, from 0 to 1, of the shorter of two things that hides behind the other, and its
    range; from cycles of each alone and of both in one loop."""
    shorter = min(alone.value, work.value)
    share = (alone.value + work.value - both.value) / shorter
    return min(1.0, max(0.0, share)), (alone.iqr + work.iqr + both.iqr) / shorter


_WORK = {  # what may hide: its loop, how many of what is wanted that has, what it is
    "adds": ("adds", 1, "a chain of 48 additions"),
    "loads": ("loads", 1, "a chain of 20 loads from the first level"),
    "result": (
        "adds",
        1,
        "48 additions that need its result, as the next CAS needs theirs",
    ),
    "reload_adds": (
        "adds",
        1,
        "48 additions that need a load of its word, as the next CAS needs theirs",
    ),
    "nops": ("width", 1, f"{_NO_OPS} no-ops"),
    "stores": ("stores_lines", 12, "8 stores to 8 lines"),
}


def passing(times: Times) -> Found:
    """How much other work hides behind a CAS and behind the full fence."""
    fence = ISAS[host_isa()].full_fence.removeprefix("fence_")
    for kind, title, op, works in (
        ("cas", "a CAS", "cas_once", _WORK),
        ("fence", fence, "fence_0", ("adds", "loads")),
    ):
        for work in works:
            loop, times_more, what = _WORK[work]
            alone, other, both = times(op), times(loop).over(times_more), times(f"{kind}_{work}")
            share, spread = hidden_share(alone, other, both)
            text = (
                f"share of the shorter of {title} and {what} behind it that takes no time of its "
                "own: 1, they pass it; 0, they wait"
            )
            yield f"{kind}_hides_{work}", Finding(share, spread, text, SHARE)
            if (kind, work) == ("fence", "adds"):
                hidden = (alone.value + other.value - both.value, alone.iqr + other.iqr + both.iqr)
                text = f"cycles of {title} and {what} behind it that are cycles of both"
                yield "fence_hidden", Finding(*hidden, text)


def all_alone(chased: Iterable[Level]) -> dict[str, Callable[[Times], Found]]:
    """The parts of one thread, by title."""
    return {
        **{level.title: partial(memory, level=level) for level in chased},
        "arithmetic, forwarding, atomics": partial(of_loops, loops=_ARITHMETIC),
        "ports": ports,
        "width and branches": front_end,
        "branches in flight": in_flight,
        "ends of loops": history,
        "fences": fences,
        "what passes a CAS or a fence": passing,
        "what follows a CAS": partial(of_loops, loops=_BEHIND_CAS),
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
_ALONE = "cycles of the thread that does it"
TRANSFER = "transfer"
OF_TWO = (  # what two threads measure
    TRANSFER,
    "load_dirty",
    "upgrade",
    "upgrade_after_dirty",
    "store_dirty_apart",
    "add_dirty_apart",
    "park",
    "unpark",
    "unpark_until_awake",
    "wake",
    "unpark_awake",
    "wake_awake",
    "falls_asleep",
    "unpark_long",
    "wake_long",
    "sleeps_long",
    "stop_by_handshake",
    "stop_by_signal",
    "membarrier_core",
    "membarrier_interrupt",
)


def pairs_of(cpus: Sequence[int], most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """Every pair of CPUs, or so many of them, evenly chosen."""
    every = list(combinations(cpus, 2))
    if len(every) <= most:
        return every
    return [every[i * len(every) // most] for i in range(most)]


def placement(programs: Programs, pair: Sequence[int]) -> float:
    """Cycles of a hand-over between two CPUs, as a probe of how far apart they are: what else runs
    only adds to it."""
    binary = programs.build("transfer")
    runs = [
        handover(programs.run(binary, pair, op="store", iterations=_TRANSFERS))
        for _ in range(_PROBES)
    ]
    return estimate(runs).value


def transfers(programs: Programs, cpus: Sequence[int]) -> dict[tuple[int, int], list[float]]:
    """Cycles of hand-overs of one line, of each pair of CPUs, a value a run."""
    run = partial(programs.run, programs.build("transfer"), op="store", iterations=_TRANSFERS)
    return {
        pair: [handover(run(cpus=pair)) for _ in range(PAIR_REPEATS)] for pair in pairs_of(cpus)
    }


def of_transfers(matrix: Mapping[tuple[int, int], list[float]]) -> Finding:
    """The median over all pairs. The spread is that of one pair's runs, not that of the matrix."""
    over = f"the median of {len(matrix)} pairs of CPUs" if len(matrix) > 1 else "of the only pair"
    text = (
        "a line handed to another CPU, which waits for it in a loop and hands it back by a store: "
        f"{over}, half of a round trip"
    )
    each = [of_both(values, text) for values in matrix.values()]
    middle, spread = (
        median(getattr(finding, of) for finding in each) for of in ("value", "spread")
    )
    return replace(each[0], value=middle, spread=spread)


def _sharing(
    programs: Programs, cpus: Sequence[int], op: str, **more: int
) -> tuple[list[float], list[float]]:
    """Cycles of what kernel sharing measures first and second, of each line, a value a
    round. With one CPU two threads share it."""
    binary = programs.build("sharing", scheduled=len(cpus) == 1)
    run = partial(programs.run, binary, cpus, op=op, times=_LINES, rounds=_RECORDED, **more)
    rounds = [measured_phases(run()) for _ in range(_RUNS)]
    first, second = (
        [cycles / _LINES for measured in rounds for cycles in measured[place]] for place in (0, 1)
    )
    return first, second


def lines(programs: Programs, pair: Sequence[int]) -> Found:
    """Single accesses to lines that another CPU has."""
    loads, after = _sharing(programs, pair, "dirty")
    own, shared = _sharing(programs, pair, "upgrade")
    chain = f"one after the other, {_LINES} lines in an unforeseeable order: latency"
    yield "load_dirty", of_both(loads, f"a load of a line that another CPU has written, {chain}")
    base = median(own)
    text = "what an atomic add to a line costs more than to one that the core owns, when"
    when = "another CPU has read it since, and then this one"
    yield "upgrade", of_both([cycles - base for cycles in shared], f"{text} {when}: {chain}")
    when = "this one has just read it as another CPU had written it"
    added = of_both([cycles - base for cycles in after], f"{text} {when}: {chain}")
    yield "upgrade_after_dirty", replace(added, beside=median(loads))
    stored, added_apart = _sharing(programs, pair, "stores")
    text = f"to lines that another CPU has written, {_LINES} of which none needs another: cycles of"
    yield "store_dirty_apart", of_both(stored, f"stores {text} each, until the core has the lines")
    yield "add_dirty_apart", of_both(added_apart, f"atomic adds {text} each")


def parking(programs: Programs, pair: Sequence[int]) -> Found:
    """By futex, between two CPUs that have nothing else to do."""
    sleep, _ = _sharing(programs, pair, "sleep")
    text = "what a thread does in order to park, entering and leaving the kernel (futex), without"
    yield "park", of_both(sleep, f"{text} the sleep itself: {_ALONE}")
    binary = programs.build("sharing")
    run = partial(programs.run, binary, pair, op="unpark", times=1, rounds=_RECORDED)
    yield from waking(
        [wakings(run(delay=turns, lead=_LEAD)) for turns in _ENTERING],
        [each for _ in range(_RUNS) for each in wakings(run(delay=_ASLEEP))],
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

    def threshold(self, text: str) -> Finding:
        """From which cycle on."""
        text = (
            f"cycles since a thread began to park, from which on it {text}: between "
            f"{self.begins:.0f} and {self.ends:.0f}"
        )
        middle, spread = (self.begins + self.ends) / 2, (self.ends - self.begins) / 2
        return Finding(middle, spread, text, alone=False)


def waking(
    entering: Sequence[Sequence[Waking]],
    asleep: Sequence[Waking],
    lasting: Sequence[Sequence[Waking]],
    park: float,
) -> Found:
    """What waking takes, by how long the thread has slept: of runs that meet it while it enters the
    kernel, of one that sleeps, and of runs in which it sleeps ever longer. `park`: what it takes
    not to sleep."""
    awake = _otherwise(entering, asleep, 0, "call")
    long = _otherwise(lasting, asleep, -1, "until")
    text = "waking a thread that sleeps on another CPU (futex)"
    call = of_both([each.call for each in asleep], f"{text}: {_ALONE}")
    yield "unpark", call
    total = of_both([each.until for each in asleep], f"{text}, until it runs: latency")
    yield "unpark_until_awake", total
    # Without a thread that does not sleep yet, the permit is given behind the least of the calls.
    before = 0.0 if awake else min(call.value, *(median(x.call for x in r) for r in lasting))
    text = "what waking takes from the permit on: unpark_until_awake" + (
        "" if awake else ", less the call that wakes"
    )
    yield "wake", replace(total, value=max(0.0, total.value - before), meaning=text)
    if awake:
        text = "of a thread that does not sleep yet"
        calls = [each.call for each in awake.rounds]
        yield "unpark_awake", of_both(calls, f"unpark {text}: {_ALONE}")
        text = f"wake {text}: what its park takes longer than one that finds the permit"
        parks = of_both([each.parked + each.until for each in awake.rounds], text)
        yield "wake_awake", replace(parks, value=max(0.0, parks.value - park), beside=parks.value)
        yield "falls_asleep", awake.threshold("sleeps")
    if long:
        text = "of a thread that has slept for long"
        calls = [each.call for each in long.rounds]
        yield "unpark_long", of_both(calls, f"unpark {text}: {_ALONE}")
        until = of_both([each.until for each in long.rounds], f"wake {text}: latency")
        yield "wake_long", replace(until, value=max(0.0, until.value - before))
        yield "sleeps_long", long.threshold("has slept for long")


def _otherwise(
    runs: Sequence[Sequence[Waking]], asleep: Sequence[Waking], end: int, by: str
) -> _Sleep | None:
    """The rounds that tell of another state than the usual one by a figure, if those of the first
    run do (`end` 0), or of the last (-1), by when the thread had begun to park."""
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
    """The cycle that parts best those of which the second is true from those of which it is not: a
    few of either are met on the other side, however long the thread has been there. One that is
    not true but early counts `weight` times one that is true but late: with 3, up to there no more
    than a quarter are not true."""
    late = sum(told for _, told in met)
    costs = [float(late)]
    for _, told in met:
        costs.append(costs[-1] + (-1 if told else weight))
    first = min(range(len(costs)), key=costs.__getitem__)
    around = [cycles for cycles, _ in met[max(0, first - 1) : first + 1]]
    return sum(around) / len(around)


def stopping(programs: Programs, pair: Sequence[int]) -> Found:
    """One thread stops another that runs on another CPU."""
    stops, _ = _sharing(programs, pair, "stop")
    text = "stopping a running thread at its next safepoint and letting it go on, a handshake"
    yield "stop_by_handshake", of_both(stops, f"{text}: {_ALONE}")
    binary = programs.build("rounds", "reservation", "signal")
    stops = []
    for _ in range(_RUNS):
        line = programs.run(binary, pair, objects=_OBJECTS, rounds=2 * _HALF_PERIOD)
        phases = phase_metrics([line])
        cancels, after = (phases[f"phase_{n}_cycles"][0] for n in (_CANCELS, _AFTER))
        stops.append((cancels - after) / _OBJECTS)
    text = (
        "interrupting a running thread by a signal until its handler has cancelled a lock: round 4 "
        "of workload rounds less round 5, of each object"
    )
    yield "stop_by_signal", of_both(stops, text)


def switching(programs: Programs, cpu: int) -> Found:
    """Two threads of the M:N runtime share one core."""
    turns, _ = _sharing(programs, [cpu], "turn", threads=2, cores=1)
    text = "a thread library's switch from one thread that waits to the next on the same core"
    yield "switch", of_both([cycles / 2 for cycles in turns], text)


BARRIERS = {
    "membarrier": "a process-wide barrier of the kernel (membarrier, PRIVATE_EXPEDITED)",
    "signal": "a signal to each other thread, until all handlers have answered",
    "poll": "a word of each other thread, which it polls and answers behind a full fence",
}
BASE, EACH, LOST = "membarrier_1", "membarrier_core", "membarrier_interrupt"
_BARRIERS = {"rounds": 10, "times": 40}
_BARRIER_RUNS = 9
_MOST_THREADS = 64


def thread_counts(cpus: int) -> list[int]:
    """How many threads run: every number up to 8, then each a third higher, and the last."""
    most = min(cpus, _MOST_THREADS)
    counts = list(range(1, min(most, 8) + 1))
    while counts[-1] < most:
        counts.append(min(most, counts[-1] * 4 // 3))
    return counts


def barriers(programs: Programs, cpus: Sequence[int]) -> Found:
    """What it takes one thread to make all others execute a fence, by how many run, and what that
    takes from each of these."""
    binary = programs.build("interrupts")
    each: dict[str, Finding] = {}
    for threads in thread_counts(len(cpus)):
        for op, words in BARRIERS.items():
            runs = [
                programs.run(binary, cpus[:threads], op=op, **_BARRIERS)
                for _ in range(_BARRIER_RUNS)
            ]
            cycles = [one for run in runs for one in _of_rounds(run)]
            text = f"{words}; {threads} {'thread runs' if threads == 1 else 'threads run'}"
            each[f"{op}_{threads}"] = of_both(cycles, f"{text}: {_ALONE}")
            if op == "membarrier" and threads > 1:
                scales = [cycles_per_tick(run, run["host"]["threads"][1]) for run in runs]
                lost = [run["extra"]["lost"] * s for run, s in zip(runs, scales, strict=True)]
                text = "what a thread loses by a process-wide barrier of another"
                each[LOST] = of_both(lost, f"{text}, with {threads} threads")
    most = thread_counts(len(cpus))[-1]
    if most > 1:
        first, last = each[BASE], each[f"membarrier_{most}"]
        more = (last.value - first.value) / (most - 1)
        text = f"what a process-wide barrier takes longer for each other thread, of {most - 1}"
        each[EACH] = Finding(more, last.spread / (most - 1), text, alone=False)
    yield from each.items()


def _of_rounds(line: Line) -> list[float]:
    """Cycles of each round of kernel interrupts, of one barrier."""
    thread = line["host"]["threads"][0]
    scale = cycles_per_tick(line, thread) / _BARRIERS["times"]
    marks = thread["phases"]
    return [
        (end - start) * scale for (_, start), (_, end) in zip(marks[::2], marks[1::2], strict=True)
    ]
