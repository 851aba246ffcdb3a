"""The options that say what is simulated: qemu-timing/src/base/options.def, which the plugin reads,
too. Machine files give most of them; a value outside of their bounds is refused by both."""

import re
from dataclasses import dataclass
from functools import cache

from results.errors import LockcrossError
from sweeps.support.paths import OPTIONS_DEF

_ENTRY = re.compile(r'^([A-Z_]+)\(((?:[^"()]|"[^"]*")*)\)', re.MULTILINE)
_MEANING = re.compile('"[^"]*"')


@dataclass(frozen=True)
class Option:
    """One option: its default and bounds, both of them allowed. `names`: of its values from 0 on,
    where machine files use names instead. `power_of_two`: it must be one, or 0 where that is
    allowed."""

    name: str
    default: int
    low: int
    high: int
    names: tuple[str, ...] = ()
    power_of_two: bool = False


@cache
def options() -> dict[str, Option]:
    """Every option by its name, in the table's order. Raises LockcrossError (1) where the table
    cannot be read."""
    try:
        text = OPTIONS_DEF.read_text(encoding="utf-8")
    except OSError as error:
        raise LockcrossError(f"{OPTIONS_DEF.name}: {error.strerror}", exit_code=1) from None
    bounds = {"SWITCH": [0, 1]}
    known: dict[str, Option] = {}
    for kind, arguments in _ENTRY.findall(text):
        name, *values = re.findall(r"[\w']+", _MEANING.sub("", arguments))
        if kind == "CHOICE":
            default, *names = values
            known[name] = Option(name, names.index(default), 0, len(names) - 1, tuple(names))
            continue
        numbers = [int(value.replace("'", "")) for value in values]  # C++ has marks in them
        if kind == "BOUND":
            bounds["LATENCY"] = [0, *numbers]
        else:
            default, low, high = [*numbers, *bounds.get(kind, [])]
            known[name] = Option(name, default, low, high, power_of_two=kind == "POWER_OF_TWO")
    return known
