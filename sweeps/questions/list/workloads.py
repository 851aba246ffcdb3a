"""What `lockcross workloads` prints: the registry, and the comment at the head of each kernel."""

import re
from collections.abc import Iterator

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from results.errors import LockcrossError
from sweeps.model.workloads import WORKLOADS, Let, Workload, in_words
from sweeps.support.paths import KERNELS

_HEAD = re.compile(r"\A/\*[\s*]*(\w+): (.*?)\*/", re.DOTALL)
_CORES = {
    "OWN_CORES": "a core for each thread",
    "ANY_CORES": "a core for each thread, or shared cores",
    "SHARED_CORES": "shared cores",
}


def description(workload: str) -> str:
    """The kernel's head comment, with its line breaks. Raises LockcrossError if there is none."""
    path = KERNELS / f"{workload}.c"
    found = _HEAD.match(path.read_text(encoding="utf-8"))
    if found is None or found[1] != workload:
        raise LockcrossError(f"{path.name}: does not begin with a comment '{workload}: ...'", 1)
    text = re.sub(r"^ \* ?", "", found[2], flags=re.MULTILINE)
    return text.strip()


def first_sentence(workload: str) -> str:
    """The first sentence of the description, in one line."""
    text = " ".join(description(workload).partition("\n\n")[0].split())
    end = re.search(r"(?<!Fig)(?<!al)(?<!et)(?<!\d)[.:](?= [A-Z`]|$)", text)
    return text[: end.end()].rstrip(".:") if end else text


def overview() -> Iterator[Table]:
    """A row a workload."""
    table = Table("workload", "threads", "in a sentence", box=None)
    for name, kind in WORKLOADS.items():
        table.add_row(name, kind.threads, Text(first_sentence(name)))
    yield table


def details(kind: Workload) -> Iterator[Table | Text | Padding]:
    """What the registry says of a workload: threads, keys, rules, metrics."""
    locks = f"; built with lock {', '.join(kind.locks)} only" if kind.locks else ""
    yield Text(f"Threads: {kind.threads}, on {_CORES[kind.cores]}{locks}.\n")
    keys = Table("key", "default", "allowed", box=None)
    for name, key in kind.keys.items():
        keys.add_row(name, str(key.default), key.allowed)
    yield keys
    if kind.rules:
        rules = Table("rule", "if it does not hold", box=None)
        for row in kind.rules:
            if isinstance(row, Let):
                rules.add_row(f"{row.name} = {in_words(row.expression, kind.constants)}", "")
            else:
                rules.add_row(in_words(row.condition, kind.constants), row.message)
        yield Padding(rules, (1, 0, 0, 0))
    if kind.metrics:
        metrics = Table("metric", "unit", box=None)
        for name, unit in kind.metrics.items():
            metrics.add_row(name, unit)
        yield Padding(metrics, (1, 0, 0, 0))
