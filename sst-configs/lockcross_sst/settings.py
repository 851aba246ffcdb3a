"""What sst.json says, checked: every value is known, present, and within what can be built."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

# Figures that every topology has, and those of some alone. The rest is refused by name.
FIGURES = {
    "slices": 1, "slice_size": 1, "slice_ways": 1, "lat_slice": 1, "lat_memory_access": 1,
    "l1_mshrs": 2, "slice_mshrs": 2,
}  # fmt: skip
NETWORK = {
    "columns": 1, "rows": 1, "memory_controllers": 1, "lat_directory": 1, "link_bytes": 1,
    "lat_link": 1, "lat_router": 1,
}  # fmt: skip
OF_TOPOLOGY = {"bus": {"bus_latency": 1}, "ring": NETWORK, "mesh": NETWORK}

# Name -> smallest value. An L1 looks its tags up in the cycle after the core asks, and has the data
# one later at the earliest.
NUMBERS = {
    "clock_mhz": 1, "line": 8, "cores": 1, "lat_l1": 2, "l1_size": 1, "l1_ways": 1,
    "oldest_request": 1,
}  # fmt: skip
FILES = ("guest_stdout", "guest_stderr", "statistics", "record")
MEMORY = 512 << 20  # bytes: what a guest may touch, lines numbered from 0


@dataclass(frozen=True)
class Settings:
    """sst.json. `numbers`: its own, and with them the figures of its object sst; `place`: the node
    of each core; on a bus, none."""

    topology: str
    numbers: dict[str, int]
    files: dict[str, str]
    place: list[int]
    guest: list[str]

    @property
    def period(self) -> int:
        """Picoseconds of a cycle: a multiple of 4, so that its halves and quarters are whole."""
        return 4 * max(1, round(250_000 / self.numbers["clock_mhz"]))

    @property
    def frequency(self) -> str:
        """That of the period: not every part of SST takes a period."""
        return f"{10**12 / self.period:.6f}Hz"

    @property
    def nodes(self) -> int:
        return self.numbers["columns"] * self.numbers["rows"]

    @property
    def lines(self) -> int:
        return MEMORY // self.numbers["line"]


def check(given: Any) -> Settings:
    """Raises ValueError with what is wrong, in one line."""
    known = {*NUMBERS, *FILES, "sst", "place", "guest"}
    if not isinstance(given, dict) or not isinstance(given.get("sst", {}), dict):
        raise ValueError("sst.json: an object with an object sst is expected")
    _check_names("sst.json", given, known - {"place"}, known)
    figures = dict(given["sst"])
    topology = figures.pop("topology", None)
    if topology not in OF_TOPOLOGY:
        raise ValueError(f"sst.topology: {topology!r} is none of {', '.join(OF_TOPOLOGY)}")
    least = FIGURES | OF_TOPOLOGY[topology]
    _check_names(f"sst ({topology})", figures, set(least), set(least))
    numbers = {name: given[name] for name in NUMBERS}
    for where, values, smallest in (("sst.", figures, least), ("", numbers, NUMBERS)):
        for name, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < smallest[name]:
                needed = f"a whole number from {smallest[name]} is needed"
                raise ValueError(f"{where}{name}: {value!r}, {needed}")
    files = {name: str(given[name]) for name in FILES}
    guest = [str(word) for word in given["guest"]]
    settings = Settings(topology, numbers | figures, files, list(given.get("place", [])), guest)
    mistakes = _of_a_bus(settings) if topology == "bus" else _of_a_network(settings)
    if mistake := next(chain(_of_caches(settings), mistakes), None):
        raise ValueError(mistake)
    return settings


def _check_names(where, given, needed, known):
    if missing := sorted(needed - set(given)):
        raise ValueError(f"{where}: {', '.join(missing)} not set")
    if unknown := sorted(set(given) - known):
        raise ValueError(f"{where}: {', '.join(unknown)} cannot be used")


def _of_caches(settings):
    """What is wrong with the caches."""
    numbers = settings.numbers
    line = numbers["line"]
    if line & (line - 1):
        yield f"line: {line} bytes, a power of two is needed"
    for name, cache in (("l1", "l1"), ("sst.slice", "slice")):
        size, ways = numbers[f"{cache}_size"], numbers[f"{cache}_ways"]
        sets, left = divmod(size, line * ways)
        if left or sets < 1:
            yield f"{name}_size: {size} bytes are no whole sets of {ways} x {line} bytes"


def _of_a_bus(settings):
    if (slices := settings.numbers["slices"]) != 1:
        yield f"sst.slices: {slices}, but a bus has one shared cache"
    if settings.place:
        yield "place: cores on a bus have no place"


def _of_a_network(settings):
    numbers, nodes, place = settings.numbers, settings.nodes, settings.place
    cores, columns, rows = (numbers[name] for name in ("cores", "columns", "rows"))
    if settings.topology == "ring" and rows != 1:
        yield f"sst.rows: {rows}, but a ring has one row"
    if nodes < 2:
        yield "sst.columns, sst.rows: a network needs two nodes"
    if cores > nodes:
        yield f"cores: {cores}, but the {settings.topology} has {nodes} nodes"
    edge = nodes - max(0, columns - 2) * max(0, rows - 2)
    for name, most in (("slices", nodes), ("memory_controllers", edge)):
        if numbers[name] > most:
            yield f"sst.{name}: {numbers[name]}, but it has {most} nodes for them"
    if len(place) != cores:
        yield f"place: {len(place)} nodes for {cores} cores"
    if wrong := [one for one in place if not isinstance(one, int) or not 0 <= one < nodes]:
        yield f"place: {wrong[0]!r} is no node from 0 to {nodes - 1}"
    if twice := [one for one in place if place.count(one) > 1]:
        yield f"place: two cores at node {twice[0]}"
