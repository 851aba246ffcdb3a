"""The CPU time of a log's program, without anything that is not the program's.

Let n be the acquisitions, nested ones too, and T the CPU time of all threads, compiler and
collector with them.

1. With `--compare`, T is that of the run without recording, and n counts those behind the end of
   a log that was cut, too. Nothing has to be taken off.
2. Else T is the recorded time less n times the cost of recording a pair, which was measured on that
   host and is known between a least and a most. It is not known which of the two: a JVM takes ten
   times as long for the first as for the millionth. So where the rest may be twice as much as it
   may be else, or recording took most of the time, nothing can be told (`untold`).
3. T / n is the program's work for each acquisition, with the lock that its runtime has. That lock
   is taken off by its cost in the runs of the same use on the machine nearest to this host:
   work = T / n - own.
   Where nothing is left, its JVM joins locks or leaves them out, and nothing can be told.
4. A lock that costs c there has the share c / (work + c) of the time, which is less than 1.
5. The work between two sections is that of step 3 without the JVM's start, in which nobody locks:
   (T - start) / n - own. A recorded T has none: recording begins behind it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sweeps.lock_logs.log import EventLog, Totals

# Of a log that does not say what recording cost: nanoseconds a pair, at most what was measured
# where the compiler had not come to it yet. Nothing is taken off.
_UNMEASURED = (0.0, 0.0, 1000.0)
_TWICE = 2.0  # what is left may be so many times as much as it may be else
_MOSTLY = 0.5  # of the recorded time: there recording is most of it
_WHOLE_START = 0.9  # of the time, at most: a program that does nothing else is not asked about


@dataclass(frozen=True)
class RecordedProgram:
    """A recorded program."""

    per_second: float  # acquisitions, nested ones too, by its CPU time
    plain: bool  # that time is known from a run without recording
    recording: tuple[float, float] = (
        0.0,
        0.0,
    )  # else the least and greatest share taken off for it
    untold: str = ""  # why nothing can be told of it
    start: float = 0.0  # the share of the time in which a JVM started
    runtime: str = ""  # the lock that it was run with
    own: float = 0.0  # seconds that a pair of it takes

    @property
    def work(self) -> float:
        """Return seconds of work for each acquisition, without the lock."""
        return max(1 / self.per_second - self.own, 0.0)

    @property
    def between(self) -> float:
        """Return seconds from one acquisition to the next, without the lock."""
        return max((1 - self.start) / self.per_second - self.own, 0.0)


def program_of(log: "EventLog") -> RecordedProgram | None:
    """Return the CPU time of a log's program; None where the log says nothing of it."""
    totals = log.totals
    if totals is None or not totals.cpu_seconds or not totals.acquisitions:
        return None
    runtime = log.runtime_lock
    acquisitions = totals.acquisitions + totals.left_out
    if totals.cpu_plain and (totals.end == "exit" or totals.counted is not None):
        acquisitions += totals.counted or 0
        start = min(totals.start_cpu / totals.cpu_plain, _WHOLE_START)
        return RecordedProgram(acquisitions / totals.cpu_plain, True, start=start, runtime=runtime)
    least, middle, most = _shares_of_recording(totals)
    recording = min(least, 1.0), min(most, 1.0)
    # A recorder of pthread mutexes says the time of the whole process, whenever its log ended.
    cut = totals.end != "exit" and log.about.get("log") == "pthread"
    if cut or middle > _MOSTLY or 1 - least > _TWICE * (1 - most):
        words = _untold(totals, recording, cut)
        return RecordedProgram(1.0, False, recording, words, runtime=runtime)
    left = totals.cpu_seconds * (1 - middle)
    return RecordedProgram(acquisitions / left, False, recording, runtime=runtime)


def without_own_lock(program: RecordedProgram, cycles: float, clock_mhz: float) -> RecordedProgram:
    """Return the same, with its runtime's lock known by the cost of a pair on a processor of a
    clock."""
    own = cycles / clock_mhz / 1e6
    untold = ""
    if own >= 1 / program.per_second:
        untold = (
            f"cannot tell: the program takes {1e9 / program.per_second:.1f} ns for each "
            f"acquisition, and its lock alone would take {1e9 * own:.1f}: its runtime joins locks "
            "or leaves them out, or has another one"
        )
    return replace(program, own=own, untold=untold)


def _shares_of_recording(totals: "Totals") -> tuple[float, float, float]:
    """Return the least, the middle and the most of the recorded CPU time that was recording's. An
    object outside the sample costs something between nothing and a pair."""
    assert totals.cpu_seconds
    least, middle, most = totals.recording or _UNMEASURED
    sample, total = totals.acquisitions, totals.acquisitions + totals.left_out
    ns = totals.cpu_seconds * 1e9
    return sample * least / ns, (sample + total) / 2 * middle / ns, total * most / ns


def _untold(totals: "Totals", recording: tuple[float, float], cut: bool) -> str:
    least, most = (round(100 * share) for share in recording)
    if cut:
        why = "the log ends before the program, whose time is known as a whole alone"
    elif totals.recording is None:
        why = f"recording took up to {most} % of the time, how much is not in this log"
    elif least == most:
        why = "recording took nearly all of the time"
    else:
        why = f"recording took {least} to {most} % of the time"
    if totals.cpu_plain:
        return (
            f"cannot tell: {why}, and what --compare measured is of more than the log, which ended "
            "at its limit; record with a larger --most"
        )
    return f"cannot tell: {why}; record with --compare"
