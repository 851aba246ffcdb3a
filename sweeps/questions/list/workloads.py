"""What `lockcross workloads` prints: the registry, and the comment at the head of each kernel."""

import re
from collections.abc import Iterator

from results.errors import LockcrossError
from results.text.rows import Rows
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


def overview() -> Iterator[Rows]:
    """A row a workload."""
    records = []
    for name, kind in WORKLOADS.items():
        threads = int(kind.threads) if kind.threads.isdecimal() else kind.threads
        row = {"workload": name, "threads": threads, "in a sentence": first_sentence(name)}
        records.append(row)
    yield Rows(records)


def details(kind: Workload) -> Iterator[Rows | str]:
    """What the registry says of a workload: threads, keys, rules, metrics."""
    locks = f"; built with lock {', '.join(kind.locks)} only" if kind.locks else ""
    yield f"Threads: {kind.threads}, on {_CORES[kind.cores]}{locks}.\n"
    yield Rows([
        {"key": name, "default": key.default, "allowed": key.allowed}
        for name, key in kind.keys.items()
    ])  # fmt: skip
    if kind.rules:
        yield ""
        yield Rows([
            {"rule": f"{row.name} = {in_words(row.expression, kind.constants)}",
             "if it does not hold": ""}
            if isinstance(row, Let)
            else {"rule": in_words(row.condition, kind.constants),
                  "if it does not hold": row.message}
            for row in kind.rules
        ])  # fmt: skip
    if kind.metrics:
        yield ""
        yield Rows([{"metric": name, "unit": unit} for name, unit in kind.metrics.items()])
