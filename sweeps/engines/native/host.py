"""The host: its processor, its CPUs and how they are related."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sweeps.model.isa import host_isa

_SYSTEM = Path("/sys/devices/system/cpu")
_CPUINFO = Path("/proc/cpuinfo")
# Lines of /proc/cpuinfo that tell one kind of processor from another, by ISA.
_KIND = {
    "x86_64": ("vendor_id", "cpu family", "model", "stepping"),
    "aarch64": ("CPU implementer", "CPU variant", "CPU part", "CPU revision"),
    "ppc64le": ("cpu", "revision"),
}
_UNKNOWN = "unknown"
_STEADY = "constant_tsc"


@dataclass(frozen=True)
class Cpu:
    """A CPU as the kernel counts them: a hardware thread. `sibling`: its place among those of its
    core, from 0. `cache`: the least CPU with which it shares its last-level cache."""

    number: int
    sibling: int
    cache: int


@dataclass(frozen=True)
class Cache:
    """A data cache of a CPU: sizes in bytes."""

    level: int
    size: int
    ways: int
    line: int


@cache
def facts() -> Mapping[str, str]:
    """Return the first processor's lines of /proc/cpuinfo; none where there is no such file."""
    return parse_cpuinfo(_read(_CPUINFO))


def parse_cpuinfo(text: str) -> dict[str, str]:
    """Return values by name; the first of a name that stands several times."""
    values: dict[str, str] = {}
    for name, value in re.findall(r"^([^\n:]*\S)[ \t]*:[ \t]*(.*)$", text, flags=re.MULTILINE):
        values.setdefault(name, value.strip())
    return values


def processor() -> str:
    """Return the kind of processor, as the kernel names it: machine files name it too."""
    known = facts()
    kind = [f"{name} {known[name]}" for name in _KIND.get(host_isa(), ()) if name in known]
    return ", ".join(kind) or _UNKNOWN


def model() -> str:
    return facts().get("model name", "") or facts().get("cpu", "") or processor()


def features() -> frozenset[str]:
    known = facts()
    return frozenset((known.get("flags") or known.get("Features") or "").split())


def identity() -> str:
    """Return all about the host that can change a time."""
    microcode = facts().get("microcode", _UNKNOWN)
    # How the kernel sets the frequency, where that is its business.
    governor = _read(_SYSTEM / "cpu0" / "cpufreq" / "scaling_governor") or "none"
    virtual = ", virtual machine" if "hypervisor" in features() else ""
    return (
        f"{processor()} ({model()}){virtual}, microcode {microcode}, "
        f"{platform.system()} {platform.release()}, frequency governor {governor}"
    )


def no_clock() -> str:
    """Return why core cycles cannot be told on this host, or nothing."""
    if host_isa() == "x86_64" and features() and _STEADY not in features():
        return "the time-stamp counter of this processor has no constant rate"
    return ""


def cpus(folder: Path = _SYSTEM, allowed: frozenset[int] | None = None) -> list[Cpu]:
    """Return the CPUs that this process may use, in the order in which threads get them: cores
    before further hardware threads of a core, one last-level cache before the next."""
    if allowed is None:
        allowed = frozenset(os.sched_getaffinity(0))
    usable = []
    for number in sorted(allowed):
        here = folder / f"cpu{number}"
        names = ("core_cpus_list", "thread_siblings_list")  # the latter of older kernels
        siblings = next(filter(None, (_read(here / "topology" / name) for name in names)), "")
        core = [cpu for cpu in _list(siblings) if cpu in allowed] or [number]
        levels = {_read(index / "level"): index for index in (here / "cache").glob("index*")}
        shared = _read(levels[max(levels)] / "shared_cpu_list") if levels else ""
        cache = min(_list(shared), default=number)
        usable.append(Cpu(number, sorted(core).index(number), cache))
    return sorted(usable, key=lambda cpu: (cpu.sibling, cpu.cache, cpu.number))


def caches(folder: Path = _SYSTEM / "cpu0" / "cache") -> list[Cache]:
    """Return the first CPU's data caches, the nearest first, as far as the system says."""
    data_caches = []
    for index in sorted(folder.glob("index*")):
        kind, size = _read(index / "type"), _read(index / "size")
        names = ("level", "ways_of_associativity", "coherency_line_size")
        numbers = [_read(index / name) for name in names]
        match = re.fullmatch(r"(\d+)([KM]?)", size)
        if kind in ("Data", "Unified") and match and all(number.isdecimal() for number in numbers):
            level, ways, line = map(int, numbers)
            bytes_ = int(match[1]) * {"": 1, "K": 2**10, "M": 2**20}[match[2]]
            data_caches.append(Cache(level, bytes_, ways, line))
    return sorted(data_caches, key=lambda cache: cache.level)


def _list(text: str) -> list[int]:
    """Return a list of CPUs as the kernel writes it: 0-3,8."""
    numbers: list[int] = []
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers += range(int(low), int(high or low) + 1)
    return numbers


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
