"""The whole measurement of a host, part by part."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from results.errors import LockcrossError
from sweeps.engines.native import host
from sweeps.engines.native.measure import parts, stopping
from sweeps.engines.native.measure.programs import Finding, Programs
from sweeps.engines.native.sample import MOVED, ROUNDS, take_priority

_MEMINFO = Path("/proc/meminfo")
# What a container may use, and what it uses: in bytes, by the two versions of control groups.
_GROUPS = Path("/sys/fs/cgroup")
_LIMITS = (
    (_GROUPS / "memory.max", _GROUPS / "memory.current"),
    (_GROUPS / "memory/memory.limit_in_bytes", _GROUPS / "memory/memory.usage_in_bytes"),
)
_SHARE = 4  # of the free memory, at most one in so many bytes is chased through
AGAIN = 3  # times that parts are measured again when the CPUs have moved
_BUSY = 0.5  # of the load that all CPUs can take
CLOCK = "clock_mhz"
Part = Callable[[], parts.Found]


@dataclass
class Measurement:
    """The findings on a host: figures by name, and the reasons of those that were left out.
    `matrix`: cycles of a line's hand-over between two CPUs, a value a run. `stops`: the cost of
    stopping a thread, in ns. `notes`: things that this host cannot do."""

    processor: str
    caches: Sequence[host.Cache]
    cpus: Sequence[int]
    found: dict[str, Finding] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    matrix: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    stops: list[stopping.Stop] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, finding: Finding) -> bool:
        """Keep a finding, or say why not. Return whether it was kept."""
        self.found.pop(name, None)
        self.left_out.pop(name, None)
        if why := finding.trouble():
            self.left_out[name] = f"too noisy: {why}"
            return False
        self.found[name] = finding
        return True

    def take(self, part: Part) -> None:
        """Run a part again while something in it is too noisy, as often as the sampler does."""
        for _ in range(ROUNDS):
            anew = [(name, finding) for name, finding in part() if name not in self.found]
            good = [self.add(name, finding) for name, finding in anew]
            if all(good):
                return

    def forget(self, names: Collection[str]) -> None:
        """Drop the findings of these, and the reasons why they were left out."""
        for name in names:
            self.found.pop(name, None)
            self.left_out.pop(name, None)

    def take_in_place(
        self, group: Mapping[str, Part], apart: Callable[[], float], say: Callable[[str], None]
    ) -> None:
        """Run parts that hold together, and all of them again when the CPUs have moved since the
        first. `apart`: cycles of a hand-over between two of them, now.

        Raises LockcrossError (exit code 1) when they moved every time.
        """
        known = {*self.found, *self.left_out}
        for _ in range(1 + AGAIN):
            before = apart()
            for title, part in group.items():
                say(title)
                self.take(part)
                after = apart()
                if max(before, after) > MOVED * min(before, after):
                    self.forget({*self.found, *self.left_out} - known)
                    break
            else:
                return
        raise LockcrossError(
            f"the CPUs do not stay where they are: a hand-over between two of them took "
            f"{before:.0f} cycles before and {after:.0f} after measuring {title}, and so {AGAIN} "
            "times again; a hypervisor moves them, or much else runs here: measure later, or on a "
            "host whose CPUs are pinned",
            exit_code=1,
        )


def measure(say: Callable[[str], None], javas: Sequence[str] = ()) -> Measurement:
    """Measure this host; `say` hears of every part as it begins. `javas`: JVMs beside those that
    are found.

    Raises LockcrossError (exit code 1) where cycles cannot be told, or a program fails.
    """
    jvms = stopping.jvms(javas)
    _prepare()
    cpus = [cpu.number for cpu in host.cpus()]
    measured = Measurement(host.processor(), host.caches(), cpus)
    levels = parts.levels(measured.caches, free_kib(_MEMINFO, _LIMITS) // _SHARE)
    if not any(level.name == parts.MEMORY for level in levels):
        measured.left_out[parts.MEMORY] = (
            "a chase through twice the last cache takes more memory than the quarter of what is "
            f"free, or than {parts.MOST_KIB} KiB, or the system does not say how large the cache is"
        )
    # What the CPUs that this process may use do not allow.
    if len(cpus) < (all_cpus := os.cpu_count() or len(cpus)):
        measured.notes.append(
            f"this process may use {len(cpus)} of {all_cpus} CPUs (a CPU set, as containers have); "
            "the others were not measured"
        )
    if len(cpus) < 2:
        measured.notes.append("with one CPU nothing between two threads can be measured")
        why = "it takes two CPUs, and this process may use one"
        measured.left_out |= dict.fromkeys(parts.OF_TWO, why)
    programs = Programs()
    apart = partial(parts.placement, programs, cpus[:2]) if len(cpus) > 1 else lambda: 1.0
    for group in _groups(programs, levels, measured):
        measured.take_in_place(group, apart, say)
    _stops(programs, jvms, measured, say)
    clock = programs.clock_mhz()
    text = (
        "core cycles in a microsecond, by chains of dependent additions before and after each run"
    )
    measured.add(CLOCK, Finding(clock.value, clock.iqr, text, "MHz"))
    return measured


def measure_stops(say: Callable[[str], None], javas: Sequence[str] = ()) -> Measurement:
    """Measure the cost of stopping a thread on this host, and its clock alone. As `measure`."""
    jvms = stopping.jvms(javas)
    _prepare()
    measured = Measurement(host.processor(), host.caches(), [cpu.number for cpu in host.cpus()])
    if len(measured.cpus) < 2:
        raise LockcrossError("it takes two CPUs, and this process may use one", exit_code=1)
    programs = Programs()
    parts.placement(programs, measured.cpus[:2])  # the clock follows from its runs
    _stops(programs, jvms, measured, say)
    return measured


def _prepare() -> None:
    """Take a fixed priority, if that may be had. Raises LockcrossError (exit code 1) where cycles
    cannot be told, or the host is busy."""
    if why := host.no_clock():
        raise LockcrossError(f"this host cannot be measured: {why}", exit_code=1)
    if not take_priority() and (load := os.getloadavg()[0]) > _BUSY * (os.cpu_count() or 1):
        raise LockcrossError(
            f"this host is busy (a load of {load:.1f}), and a fixed priority is not allowed: stop "
            "what else runs here, or run it with one, as root: chrt -r 5 ./lockcross measure ...",
            exit_code=1,
        )


def _stops(
    programs: Programs,
    jvms: Sequence[stopping.Jvm],
    measured: Measurement,
    say: Callable[[str], None],
) -> None:
    """Measure the cost of stopping a thread, by every mechanism: each once, since the quietest of
    its runs counts. A mechanism that a JVM lacks is a note."""
    cpus = measured.cpus
    if len(cpus) < 2:
        return
    apart = partial(parts.placement, programs, cpus[:2])
    ways = {name: partial(stopping.by_program, name, cpus, apart) for name in stopping.MECHANISMS}
    ways |= {jvm.title: partial(jvm.stops, cpus, apart) for jvm in jvms}
    if not jvms:
        measured.notes.append(stopping.NO_JVM)
    for title, way in ways.items():
        say(f"stopping by {title}")
        try:
            for stop in way():
                measured.stops.append(stop)
                measured.add(stop.name, stop.finding(programs.clock_mhz().value))
        except LockcrossError as error:
            measured.notes.append(f"stopping by {title} was not measured: {error}")


def _groups(
    programs: Programs, levels: Sequence[parts.Level], measured: Measurement
) -> Iterator[dict[str, Part]]:
    """Yield every part by its title, in the order in which they run. Those between CPUs hold
    together: their figures are compared with one another, so the CPUs must be where they were."""
    cpus = measured.cpus
    times = partial(parts.run_loop, programs, programs.build("micro"), cpus[0])

    def alone(part: Callable[[parts.Times], parts.Found]) -> parts.Found:
        # A loop that others are compared with runs once in a part; a part that is repeated runs it
        # anew.
        return part(cache(times))

    def transfers() -> parts.Found:
        measured.matrix = parts.transfers(programs, cpus)
        pairs = len(cpus) * (len(cpus) - 1) // 2
        note = (
            f"transfers were measured between {len(measured.matrix)} of {pairs} pairs of CPUs, "
            "evenly chosen"
        )
        if len(measured.matrix) < pairs and note not in measured.notes:
            measured.notes.append(note)
        yield parts.TRANSFER, parts.of_transfers(measured.matrix)

    for title, part in parts.all_alone(levels).items():
        yield {title: partial(alone, part)}
    yield {"switches of a thread library": partial(parts.switching, programs, cpus[0])}
    yield {"process-wide barriers": partial(parts.barriers, programs, cpus)}
    if len(cpus) > 1:
        pair = cpus[:2]
        yield {
            "transfers between CPUs": transfers,
            "lines of another CPU": partial(parts.lines, programs, pair),
            "parking": partial(parts.parking, programs, pair),
            "stopping": partial(parts.stopping, programs, pair),
        }


def free_kib(meminfo: Path, limits: Sequence[tuple[Path, Path]] = ()) -> int:
    """Return KiB of memory that the system, or the container, can give; 0 where the system does not
    say. `limits`: files of a limit and of its use."""
    try:
        known = host.parse_cpuinfo(meminfo.read_text(encoding="utf-8", errors="replace"))
        free = int(known["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError, IndexError):
        return 0
    for limit, used in limits:
        try:
            left = int(limit.read_text(encoding="utf-8")) - int(used.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # there is no such file, or no limit
            continue
        free = min(free, max(0, left) // 1024)
    return free
