"""The kernels' descriptions: the comment at the head of each file in workloads/kernels/."""

import re

from results.errors import LockcrossError
from sweeps.support.paths import KERNELS

_HEAD = re.compile(r"\A/\*[\s*]*(\w+): (.*?)\*/", re.DOTALL)


def description(workload: str) -> str:
    """A kernel's comment, paragraphs apart. Raises LockcrossError if it has none."""
    path = KERNELS / f"{workload}.c"
    found = _HEAD.match(path.read_text(encoding="utf-8"))
    if found is None or found[1] != workload:
        raise LockcrossError(f"{path.name}: does not begin with a comment '{workload}: ...'", 1)
    text = re.sub(r"^ \* ?", "", found[2], flags=re.MULTILINE)
    return text.strip()


def first_sentence(workload: str) -> str:
    """In one line."""
    text = " ".join(description(workload).partition("\n\n")[0].split())
    end = re.search(r"(?<!Fig)(?<!al)(?<!et)(?<!\d)[.:](?= [A-Z`]|$)", text)
    return text[: end.end()].rstrip(".:") if end else text
