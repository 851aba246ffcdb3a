"""`lockcross workloads`: the registry, and the comment at the head of each kernel."""

import re
from collections.abc import Iterator
from typing import Annotated

from results.errors import LockcrossError, check_known
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import options
from sweeps.model.workloads import WORKLOADS, Let, Workload, in_words
from sweeps.support.paths import KERNELS

_HEAD = re.compile(r"\A/\*[\s*]*(\w+): (.*?)\*/", re.DOTALL)
_CORES = {
    "OWN_CORES": "a core for each thread",
    "ANY_CORES": "a core for each thread, or shared cores",
    "SHARED_CORES": "shared cores",
}


def description(workload: str) -> str:
    """Return the kernel's head comment, with its line breaks. Raises LockcrossError."""
    path = KERNELS / f"{workload}.c"
    head = _HEAD.match(path.read_text(encoding="utf-8"))
    if head is None or head[1] != workload:
        raise LockcrossError(f"{path.name}: does not begin with a comment '{workload}: ...'", 1)
    return re.sub(r"^ \* ?", "", head[2], flags=re.MULTILINE).strip()


def first_sentence(workload: str) -> str:
    text = " ".join(description(workload).partition("\n\n")[0].split())
    end = re.search(r"(?<!Fig)(?<!al)(?<!et)(?<!\d)[.:](?= [A-Z`]|$)", text)
    return text[: end.end()].rstrip(".:") if end else text


def workloads(
    name: Annotated[
        str | None, options.argument("Show all of this one.", options.workloads)
    ] = None,
    form: Format = Form.TABLE,
) -> None:
    """List the workloads, or one with its keys, defaults, bounds and rules."""
    if name is None:
        print_parts(
            form,
            Rows(
                [
                    {
                        "workload": known,
                        "threads": int(kind.threads) if kind.threads.isdecimal() else kind.threads,
                        "in a sentence": first_sentence(known),
                    }
                    for known, kind in WORKLOADS.items()
                ]
            ),
        )
        return
    check_known("workload", [name], WORKLOADS)
    if form == Form.TABLE:
        from results.text.terminal import say

        # Sentences fill the terminal's lines; what is indented, as a list is, stays as it is.
        say(re.sub(r"(?<=\S)\n(?=\S)", " ", f"{name}: {description(name)}") + "\n")
    print_parts(form, *details(WORKLOADS[name]))


def details(kind: Workload) -> Iterator[Rows | str]:
    """Yield the registry's entry of a workload: threads, keys, rules, metrics."""
    locks = f"; built with lock {', '.join(kind.locks)} only" if kind.locks else ""
    yield f"Threads: {kind.threads}, on {_CORES[kind.cores]}{locks}.\n"
    yield Rows(
        [
            {"key": name, "default": key.default, "allowed": key.allowed}
            for name, key in kind.keys.items()
        ]
    )
    rules = []
    for row in kind.rules:
        if isinstance(row, Let):
            rules.append((f"{row.name} = {in_words(row.expression, kind.constants)}", ""))
        else:
            rules.append((in_words(row.condition, kind.constants), row.message))
    if rules:
        yield ""
        yield Rows([{"rule": rule, "if it does not hold": message} for rule, message in rules])
    if kind.metrics:
        yield ""
        yield Rows([{"metric": name, "unit": unit} for name, unit in kind.metrics.items()])
