"""What sst.json says, checked: every value is known, present, and within what can be built."""

from dataclasses import dataclass
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
    """sst.json. `place`: the node of each core; on a bus, none."""

    numbers: dict[str, int]
    files: dict[str, str]
    topology: str
    figures: dict[str, int]
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
        return self.figures["columns"] * self.figures["rows"]

    @property
    def lines(self) -> int:
        return MEMORY // self.numbers["line"]


def check(given: Any) -> Settings:
    """Raises ValueError with what is wrong, in one line."""
    known = {*NUMBERS, *FILES, "sst", "place", "guest"}
    if not isinstance(given, dict) or not isinstance(given.get("sst", {}), dict):
        raise ValueError("sst.json: an object with an object sst is expected")
    _names("sst.json", given, known - {"place"}, known)
    figures = dict(given["sst"])
    topology = figures.pop("topology", None)
    if topology not in OF_TOPOLOGY:
        raise ValueError(f"sst.topology: {topology!r} is none of {', '.join(OF_TOPOLOGY)}")
    least = FIGURES | OF_TOPOLOGY[topology]
    _names(f"sst ({topology})", figures, set(least), set(least))
    _numbers("sst.", figures, least)
    numbers = {name: given[name] for name in NUMBERS}
    _numbers("", numbers, NUMBERS)
    settings = Settings(
        numbers,
        {name: str(given[name]) for name in FILES},
        topology,
        figures,
        list(given.get("place", [])),
        [str(word) for word in given["guest"]],
    )
    _check_caches(settings)
    if topology == "bus":
        _check_bus(settings)
    else:
        _check_network(settings)
    return settings


def _names(where, given, needed, known):
    if missing := sorted(needed - set(given)):
        raise ValueError(f"{where}: {', '.join(missing)} not set")
    if unknown := sorted(set(given) - known):
        raise ValueError(f"{where}: {', '.join(unknown)} cannot be used")


def _numbers(where, given, least):
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least[name]:
            raise ValueError(
                f"{where}{name}: {value!r}, a whole number from {least[name]} is needed"
            )


def _check_caches(settings):
    line = settings.numbers["line"]
    if line & (line - 1):
        raise ValueError(f"line: {line} bytes, a power of two is needed")
    for what, size, ways in (
        ("l1", settings.numbers["l1_size"], settings.numbers["l1_ways"]),
        ("sst.slice", settings.figures["slice_size"], settings.figures["slice_ways"]),
    ):
        sets, left = divmod(size, line * ways)
        if left or sets < 1:
            raise ValueError(
                f"{what}_size: {size} bytes are no whole sets of {ways} x {line} bytes"
            )


def _check_bus(settings):
    if settings.figures["slices"] != 1:
        raise ValueError(
            f"sst.slices: {settings.figures['slices']}, but a bus has one shared cache"
        )
    if settings.place:
        raise ValueError("place: cores on a bus have no place")


def _check_network(settings):
    cores, nodes = settings.numbers["cores"], settings.nodes
    if settings.topology == "ring" and settings.figures["rows"] != 1:
        raise ValueError(f"sst.rows: {settings.figures['rows']}, but a ring has one row")
    if nodes < 2:
        raise ValueError("sst.columns, sst.rows: a network needs two nodes")
    if cores > nodes:
        raise ValueError(f"cores: {cores}, but the {settings.topology} has {nodes} nodes")
    columns, rows = settings.figures["columns"], settings.figures["rows"]
    edge = nodes - max(0, columns - 2) * max(0, rows - 2)
    for name, most in (("slices", nodes), ("memory_controllers", edge)):
        if settings.figures[name] > most:
            raise ValueError(
                f"sst.{name}: {settings.figures[name]}, but it has {most} nodes for them"
            )
    place = settings.place
    if len(place) != cores:
        raise ValueError(f"place: {len(place)} nodes for {cores} cores")
    if wrong := [one for one in place if not isinstance(one, int) or not 0 <= one < nodes]:
        raise ValueError(f"place: {wrong[0]!r} is no node from 0 to {nodes - 1}")
    if twice := [one for one in place if place.count(one) > 1]:
        raise ValueError(f"place: two cores at node {twice[0]}")
