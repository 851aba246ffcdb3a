"""What two threads measure: lines that move between CPUs, and stopping, parking and waking."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median

from sweeps.engines.native.measure.finding import Finding, of_both
from sweeps.engines.native.measure.programs import (
    Arguments,
    Programs,
    handover,
    measured_phases,
    wakes,
)
from sweeps.engines.native.output import phase_metrics

MOST_PAIRS = 66  # of CPUs: all of twelve
PAIR_REPEATS = 16
REPEATS = 12
_TRANSFERS = 4000  # of each thread, in a run
_LINES = 200
_RECORDED = 20  # rounds of a run, all of whose phases are recorded
_OBJECTS = 100  # of workload rounds
_HALF_PERIOD = 3  # rounds of a turn there
_CANCELS, _AFTER = 4, 5  # its rounds: in the fourth every reservation is cancelled
_DELAY = 100_000  # turns of a loop until a parked thread sleeps
_ALONE = "cycles of the thread that does it"
TRANSFER = "transfer"
NAMES = (
    TRANSFER, "load_dirty", "upgrade", "upgrade_after_dirty", "park", "unpark",
    "unpark_until_awake", "wake", "stop_by_handshake", "stop_by_signal",
)  # fmt: skip


def pairs_of(cpus: Sequence[int], most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """Every pair of CPUs, or so many of them, evenly chosen."""
    every = list(combinations(cpus, 2))
    if len(every) <= most:
        return every
    return [every[i * len(every) // most] for i in range(most)]


def transfers(programs: Programs, cpus: Sequence[int]) -> dict[tuple[int, int], list[float]]:
    """Cycles of hand-overs of one line, of each pair of CPUs, a value a run."""
    binary = programs.build("transfer")
    return {
        pair: [
            handover(programs.run(binary, {"op": "store", "iterations": _TRANSFERS}, pair))
            for _ in range(PAIR_REPEATS)
        ]
        for pair in pairs_of(cpus)
    }


def of_transfers(found: dict[tuple[int, int], list[float]]) -> Finding:
    """The median over all pairs. The spread is that of one pair's runs, not that of the matrix."""
    each = [of_both(values, "") for values in found.values()]
    over = f"the median of {len(each)} pairs of CPUs" if len(each) > 1 else "of the only pair"
    text = (
        "a line handed to another CPU, which waits for it in a loop and hands it back by a store: "
        f"{over}, half of a round trip"
    )
    return Finding(
        median(one.value for one in each), median(one.spread for one in each), text, alone=False
    )


def _sharing(
    programs: Programs, pair: Sequence[int], op: str, times: int
) -> tuple[list[float], list[float]]:
    """Cycles of what is measured first and second, of each of `times`, a value a round."""
    binary = programs.build("sharing")
    keys: Arguments = {"op": op, "times": times, "rounds": _RECORDED}
    first: list[float] = []
    second: list[float] = []
    for _ in range(REPEATS):
        one, other = measured_phases(programs.run(binary, keys, pair))
        first += [cycles / times for cycles in one]
        second += [cycles / times for cycles in other]
    return first, second


def lines(programs: Programs, pair: Sequence[int]) -> Iterator[tuple[str, Finding]]:
    """Single accesses to lines that another CPU has."""
    loads, after = _sharing(programs, pair, "dirty", _LINES)
    own, shared = _sharing(programs, pair, "upgrade", _LINES)
    chain = f"one after the other, {_LINES} lines in an unforeseeable order: latency"
    yield "load_dirty", of_both(loads, f"a load of a line that another CPU has written, {chain}")
    base = of_both(own, "").value
    text = "what an atomic add to a line costs more than to one that the core owns,"
    yield (
        "upgrade",
        of_both(
            [cycles - base for cycles in shared],
            f"{text} when another CPU has read it since: {chain}",
        ),
    )
    yield (
        "upgrade_after_dirty",
        of_both(
            [cycles - base for cycles in after],
            f"{text} when this one has just read it as another CPU had written it: {chain}",
        ),
    )


def parking(programs: Programs, pair: Sequence[int]) -> Iterator[tuple[str, Finding]]:
    """By futex, between two CPUs that have nothing else to do."""
    sleep, _ = _sharing(programs, pair, "sleep", _LINES)
    text = "what a thread does in order to park, entering and leaving the kernel (futex), without"
    yield "park", of_both(sleep, f"{text} the sleep itself: {_ALONE}")
    binary = programs.build("sharing")
    keys: Arguments = {"op": "unpark", "times": 1, "rounds": _RECORDED, "delay": _DELAY}
    found = [each for _ in range(REPEATS) for each in wakes(programs.run(binary, keys, pair))]
    text = "waking a thread that sleeps on another CPU (futex)"
    call = of_both([call for call, _ in found], f"{text}: {_ALONE}")
    yield "unpark", call
    total = of_both([until for _, until in found], f"{text}, until it runs: latency")
    yield "unpark_until_awake", total
    # Where the woken thread runs before the call returns, nothing is left.
    text = "what waking takes longer than the call that wakes: unpark_until_awake less unpark"
    yield "wake", replace(total, value=max(0.0, total.value - call.value), meaning=text)


def stopping(programs: Programs, pair: Sequence[int]) -> Iterator[tuple[str, Finding]]:
    """One thread stops another that runs on another CPU."""
    stops, _ = _sharing(programs, pair, "stop", _LINES)
    text = "stopping a running thread at its next safepoint and letting it go on, a handshake"
    yield "stop_by_handshake", of_both(stops, f"{text}: {_ALONE}")
    binary = programs.build("rounds", "reservation", "signal")
    keys = {"objects": _OBJECTS, "rounds": 2 * _HALF_PERIOD}
    found = []
    for _ in range(REPEATS):
        phases = phase_metrics([programs.run(binary, keys, pair)])
        cancels, after = (phases[f"phase_{n}_cycles"][0] for n in (_CANCELS, _AFTER))
        found.append((cancels - after) / _OBJECTS)
    text = "interrupting a running thread by a signal until its handler has cancelled a lock"
    yield (
        "stop_by_signal",
        of_both(found, f"{text}: round 4 of workload rounds less round 5, of each object"),
    )


def switching(programs: Programs, cpu: int) -> Iterator[tuple[str, Finding]]:
    """Two threads of the M:N runtime share one core."""
    binary = programs.build("sharing", scheduled=True)
    keys: Arguments = {"op": "turn", "times": _LINES, "rounds": _RECORDED, "threads": 2, "cores": 1}
    found = []
    for _ in range(REPEATS):
        rounds, _ = measured_phases(programs.run(binary, keys, [cpu]))
        found += [cycles / (2 * _LINES) for cycles in rounds]
    text = "a thread library's switch from one thread that waits to the next on the same core"
    yield "switch", of_both(found, text)
