"""Compare the cost of a revocation, by the state of the owner, with the JVM of this host:
`./lockcross python -m tests.java_programs.owners MACHINE [MODE...]` prints the table of
docs/java.md, some ten minutes. Needs JDK 17 and a program of java-programs/alone, Owners.

Each mode runs with biased locking and without, in turn. The difference in an acquisition's time
stands beside the one that `advise` predicts from a log of the same program, which says in which
state the owners were: of three logs, since the host's other work decides who meets whom, the one in
the middle. Nothing is fitted.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from results.errors import LockcrossError
from sweeps.lock_logs.log import Kind, read_events
from sweeps.lock_logs.owners import owners
from sweeps.model.machine import Machine, load_machine
from tests.java_programs.against_jvm import BIASED, KEEP_ALL, NOT_BIASED, lockcross
from tests.java_programs.programs import FOLDER, build, environment

_TITLES = {
    "builders": "four builders that end",
    "pool": "a pool's workers, which wait for work",
    "pipeline": "a pipeline, whose queue parks",
    "monitor": "a queue at a monitor, whose maker waits",
    "ring": "a ring, whose maker runs on",
    "dead": "a thread that has ended",
    "park": "a thread that is parked",
    "plain": "a thread that computes",
    "lock": "a thread that locks another object",
}
_CLASS = 16  # objects of a class, fewer than HotSpot's bulk rebias takes
_FIRST, _TAKEN, _ROUNDS = 20, 2, 300  # acquisitions by the owner and by another; rounds
_TIMES = 7  # runs in each locking mode, in turn
_LOGS = 3  # recordings of a mode
_STATES = ("running", "blocked", "ended", "untold")
_HEADS = (
    "the owner", *_STATES, "measured, ns a pair", "predicted, ns a pair", "with this host's CPUs",
    "both, over measured",
)  # fmt: skip
_FEW = 2  # CPUs with which HotSpot's requester sleeps: the machine's dearest cancellation


def command(mode: str, *options: str) -> list[str]:
    """Return the command of a mode."""
    words = (mode, str(_CLASS), str(_FIRST), str(_ROUNDS))
    return ["java", KEEP_ALL, *options, "-cp", str(FOLDER / "alone"), "Owners", *words]


def measured(mode: str) -> tuple[float, float]:
    """Return the extra ns of an acquisition with biased locking, of the pairs of runs: the median,
    and the lower quarter, since other work only adds. Raises CalledProcessError."""
    differences = sorted(_ns(mode, *BIASED) - _ns(mode, *NOT_BIASED) for _ in range(_TIMES))
    return median(differences), differences[len(differences) // 4]


def _ns(mode: str, *options: str) -> float:
    said = subprocess.check_output(command(mode, *options), env=environment(), text=True)
    return float(said.split()[-1])


def predicted(
    advice: Mapping[str, Any], clock_mhz: float, acquisitions: int
) -> tuple[float, float, float]:
    """Return the same as `advise` says it of all acquisitions of a log, and its ends as far as the
    machine leaves open the cost of a revocation."""
    biased, stack = (
        next(row for row in advice["locks"] if row["label"].startswith(name))
        for name in ("biased", "hotspot_stack")
    )
    ends = biased["cancelling"] or (biased["cost"], biased["cost"])
    each = acquisitions / (_ROUNDS * _CLASS * (_FIRST + _TAKEN)) * 1e3 / clock_mhz
    value, low, high = ((cost - stack["cost"]) * each for cost in (biased["cost"], *ends))
    return value, low, high


def here(machine: Machine, states: Mapping[str, float]) -> int:
    """Return the cost of a revocation on a machine, in cycles, by the CPUs that this host has."""
    running = machine.charges.figure("stop_running")
    stop = running.interval[1] if os.cpu_count() == _FEW else running.number
    rest = (states[name] * machine.charges.number(f"stop_{name}") for name in ("blocked", "ended"))
    return round((states["running"] + states["untold"]) * stop + sum(rest))


def row(mode: str, machine: str) -> list[str]:
    """Record, advise and measure a mode, and return its row of the table."""
    described = load_machine(machine)
    with tempfile.TemporaryDirectory() as name:
        logs = [Path(name, f"{number}.locks") for number in range(_LOGS)]
        for each in logs:
            lockcross("record", "--output", each, "--", *command(mode))
        stops = {here(described, owners(read_events(each))): each for each in logs}
        stop = sorted(stops)[len(stops) // 2]
        log, database = stops[stop], Path(name, "advice.db")
        use = ("--think", 0, "--threads", 2, "--class-objects", _CLASS)
        how = ("--locks", "biased,hotspot_stack", "--ranking", "--format", "json", "--db", database)
        events = read_events(log)
        states = owners(events)
        asked = ("advise", "--log", log, "--machines", machine, *use, *how)
        answers = [lockcross(*asked), lockcross(*asked, "--cancel-latency", stop)]
    clock, taken = described.clock_mhz.number, int((events.events["kind"] == Kind.ACQUIRED).sum())
    (value, low, high), (expected, *_) = (
        predicted(json.loads(one), clock, taken) for one in answers
    )
    found, quarter = measured(mode)
    return [
        _TITLES[mode],
        *(f"{100 * states[state]:.0f} %" for state in _STATES),
        f"{found:+.1f} ({quarter:+.1f})",
        f"{value:+.1f} ({low:+.1f} to {high:+.1f})",
        f"{expected:+.1f}",
        f"{value / found:.2f}; {expected / found:.2f}",
    ]


def main(machine: str, *modes: str) -> None:
    """Print the table of some modes, or of all, with the load that the host had."""
    load_machine(machine)  # a name that is wrong is said at once
    build(libraries=False)
    print(f"| {' | '.join(_HEADS)} |\n|{'---|' * len(_HEADS)}")
    for mode in modes or _TITLES:
        print(f"| {' | '.join(row(mode, machine))} |", flush=True)
    print(f"\nMachine {machine}; load {os.getloadavg()[1]:.1f} on {os.cpu_count()} CPUs.")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except LockcrossError as error:
        sys.exit(error.message)
