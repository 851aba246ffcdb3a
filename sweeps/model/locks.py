"""The locks of the study, read from lockimpl/locks.def, their only registry."""

import re
from dataclasses import dataclass
from functools import cache

from results.errors import LockcrossError
from sweeps.model.isa import FENCE_KINDS
from sweeps.support.paths import LOCKS_DEF

_ENTRY = re.compile(
    r"""^LOCK\(\s*(?P<name>\w+)\s*,\s*"(?P<paper>[^"]*)"\s*,\s*"(?P<source>[^"]*)"\s*,
        \s*(?P<java>[01])\s*,\s*(?P<fences>FENCE_\w+(?:\s*\|\s*FENCE_\w+)*)\s*,
        \s*"(?P<variants>[^"]*)"\s*,\s*(?P<threads>\d+)\s*,\s*(?P<words>\d+)\s*,
        \s*"(?P<summary>[^"]*)"\s*\)\s*$""",
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True)
class Lock:
    """One line of locks.def. `java`: has wait and notify. `fence_kinds`: those it is built with.

    `variants`: their names, the default first; none for most. `threads`: the most that can use an
    object, 0 for any number. `words`: 8-byte words of the object header behind lock and flag.
    """

    name: str
    paper_name: str
    source: str
    java: bool
    fence_kinds: tuple[str, ...]
    variants: tuple[str, ...]
    threads: int
    words: int
    summary: str

    def variant_invalid_reason(self, variant: str) -> str:
        """Why this lock has no such variant ("": the default), or nothing."""
        if not variant or variant in self.variants[1:]:
            return ""
        if not self.variants:
            return f"{variant!r}: lock {self.name} has no variants"
        return f"{variant!r}: lock {self.name} has {', '.join(self.variants)} only"


def parse_locks(text: str) -> dict[str, Lock]:
    """Reads the text of a registry, in its order. Raises LockcrossError for a line it cannot."""
    # Comments, preprocessor lines, and the joins of entries that were broken over lines.
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*(#|//).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r",\s*\n\s*", ", ", text)
    text = re.sub(r'"\s*\n\s*"', "", text)
    locks: dict[str, Lock] = {}
    for entry in _ENTRY.finditer(text):
        fences = tuple(f.strip().removeprefix("FENCE_").lower() for f in entry["fences"].split("|"))
        if unknown := [fence for fence in fences if fence not in FENCE_KINDS]:
            raise LockcrossError(
                f"lockimpl/locks.def: {entry['name']}: fence kind {unknown[0]!r} is unknown; "
                f"allowed are {', '.join(FENCE_KINDS)}"
            )
        locks[entry["name"]] = Lock(
            entry["name"], entry["paper"], entry["source"], entry["java"] == "1", fences,
            tuple(entry["variants"].split()), int(entry["threads"]), int(entry["words"]),
            entry["summary"],
        )  # fmt: skip
    if rest := _ENTRY.sub("", text).strip():
        raise LockcrossError(f"lockimpl/locks.def: not an entry: {rest.splitlines()[0]}")
    return locks


@cache
def load_locks() -> dict[str, Lock]:
    """All locks by name, in the registry's order. Raises LockcrossError if it cannot be read."""
    try:
        return parse_locks(LOCKS_DEF.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockcrossError(f"lockimpl/locks.def: {error.strerror}", exit_code=1) from None
