"""A mutant: one change of one header of lockimpl/ that makes a lock wrong, or should."""

from dataclasses import dataclass

from results.errors import LockcrossError
from results.paths import ROOT

HEADERS = ROOT / "lockimpl"
KINDS = ("order", "logic")


@dataclass(frozen=True)
class Mutant:
    """`old` stands once in the header (`file`, below lockimpl/), and `new` takes its place.

    `where` names the function, or the part of the algorithm. `targets` are the locks (with a colon
    and a variant, if it is not the default) in whose programs the mutant is looked for.
    """

    name: str
    kind: str
    file: str
    where: str
    change: str  # in words
    line: int
    start: int  # of `old`, in characters
    old: str
    new: str
    targets: tuple[str, ...]
    expected: str = ""  # what should catch it: conformance or checker

    def text(self) -> str:
        """The header with the change."""
        source = source_of(self.file)
        found = source[self.start : self.start + len(self.old)]
        if found != self.old:
            raise LockcrossError(f"mutant {self.name}: lockimpl/{self.file} has changed meanwhile")
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def source_of(file: str) -> str:
    """A header of lockimpl/, by its path there."""
    return (HEADERS / file).read_text(encoding="utf-8")


def line_of(source: str, position: int) -> int:
    """The number of the line, from 1, in which a character stands."""
    return source.count("\n", 0, position) + 1
