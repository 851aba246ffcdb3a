"""Engines by name. An engine is imported when it is asked for."""

from functools import cache

from results.errors import LockcrossError
from sweeps.engines.base import Engine

ENGINES = ("qemu", "gem5/timing", "gem5/minor", "gem5/o3")


@cache
def load_engine(name: str) -> Engine:
    """The adapter of an engine. Raises LockcrossError for an unknown name."""
    if name in ("qemu", "qemu/events"):
        from sweeps.engines.qemu.engine import QemuEngine

        return QemuEngine(events=name == "qemu/events")
    if name.partition("/")[0] == "gem5":
        from sweeps.engines.gem5.engine import Gem5Engine

        return Gem5Engine(name)
    raise LockcrossError(f"engine {name!r} is unknown; known are {', '.join(ENGINES)}")
