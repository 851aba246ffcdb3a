"""Mutants of the locks: each ordering primitive weakened by itself (weakened.toml), and steps of an
algorithm left out or changed by hand (logic/*.toml)."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import RootModel

from proofs.files import Entry, registry
from proofs.programs import headers, stated
from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.locks import MEMBARRIER, LockLabel, load_locks

HEADERS = ROOT / "lockimpl"
FOLDERS = ("locks", "monitor", "parts")
WEAKENED_HEADER = "proofs/mutants/weakened.h"
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """`old` stands once in the header (`file`, below lockimpl/), and `new` takes its place.

    `targets` are the locks (with a colon and a variant, if it is not the default) in whose programs
    the mutant is looked for.
    """

    name: str
    kind: str  # order, logic or operator
    file: str
    change: str  # in words
    start: int  # of `old`, in characters
    old: str
    new: str
    targets: tuple[str, ...]

    @property
    def line(self) -> int:
        """The number of the line, from 1, in which the change begins."""
        return source_of(self.file).count("\n", 0, self.start) + 1

    def text(self) -> str:
        """The header with the change."""
        source = source_of(self.file)
        if source[self.start : self.start + len(self.old)] != self.old:
            raise LockcrossError(f"mutant {self.name}: lockimpl/{self.file} has changed meanwhile")
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def source_of(file: str) -> str:
    """A header of lockimpl/, by its path there."""
    return (HEADERS / file).read_text(encoding="utf-8")


class _Change(Entry):
    old: str
    new: str


class Step(_Change):
    """A step of an algorithm that is changed: `old` stands once in the header; `why` says what goes
    wrong, `by` what is expected to catch it first."""

    name: str
    why: str
    by: Literal["conformance", "checker"]
    targets: tuple[str, ...] = ()


class Header(Entry):
    """What the mutants of a header need.

    `targets`: the locks in whose programs they are looked for; else a lock's own header is for it
    alone, and a part is for every lock that includes it. `not_modelled`: a condition of the
    preprocessor that holds in no program of a model. `few`: macros, for programs of the conformance
    kernel with small pools, so that what is in them goes from object to object.
    `smaller`: text that is changed in every copy, for what clients do not come to otherwise.
    """

    file: str
    targets: tuple[str, ...] | None = None
    not_modelled: str = ""
    few: dict[str, int] = {}
    smaller: _Change | None = None
    mutant: tuple[Step, ...] = ()


@cache
def known_headers() -> dict[str, Header]:
    """What logic/*.toml say, by header."""
    kind = RootModel[dict[Literal["header"], tuple[Header, ...]]]
    files = sorted((_HERE / "logic").glob("*.toml"))
    return {header.file: header for file in files for header in registry(kind, file).root["header"]}


def mutated(command: Sequence[str], mutant: Mutant | None, folder: Path) -> list[str]:
    """The command of a compiler, which runs in the root of the tree, for a mutant (None: the lock
    as it is) that is put into `folder`. It may leave a variable unused, so there are no warnings.
    """
    copy = folder / "lockimpl"
    if not copy.exists():
        shutil.copytree(HEADERS, copy)
        for file in known_headers():
            _write_smaller(copy, file, source_of(file))
    changed = [*(f"-I{copy}" if word == "-Ilockimpl" else word for word in command), "-w"]
    if mutant:
        _write_smaller(copy, mutant.file, mutant.text())
        if "weakened_" in mutant.new:
            changed += ["-include", WEAKENED_HEADER]
        if "defined(LOCKCROSS_NATIVE)" in conditions_at(source_of(mutant.file), mutant.start):
            changed += ["-DLOCKCROSS_NATIVE=1", "-include", "proofs/mutants/sleep.h"]
    return changed


def _write_smaller(copy: Path, file: str, text: str) -> None:
    header = known_headers().get(file)
    if header and header.smaller:
        text = text.replace(header.smaller.old, header.smaller.new)
    (copy / file).write_text(text, encoding="utf-8")


_DIRECTIVE = re.compile(r"^\s*#(if|ifdef|ifndef|elif|else|endif)\b(.*)", re.MULTILINE)
_CONDITIONS = {"ifdef": "defined {0}", "ifndef": "not defined {0}", "else": "not {1}"}


def conditions_at(source: str, position: int) -> tuple[str, ...]:
    """The preprocessor's conditions that a place is under, the outermost first; `not ...` for what
    stands behind an #else."""
    stack: list[str] = []
    for word, rest in _DIRECTIVE.findall(source[:position]):
        before = stack.pop() if word in ("elif", "else", "endif") else ""
        if word != "endif":
            stack.append(_CONDITIONS.get(word, "{0}").format(rest.strip(), before))
    return tuple(stack)


def targets_of(file: str, source: str, position: int) -> tuple[str, ...]:
    """Locks, with the variant behind a colon; none where no program of a model has the code."""
    header = known_headers().get(file) or Header(file=file)
    conditions = conditions_at(source, position)
    outside = {"defined LOCKCROSS_SCHEDULER"}  # threads that share processors
    if header.not_modelled:
        outside |= {header.not_modelled, f"not !{header.not_modelled}"}
    if not outside.isdisjoint(conditions):
        return ()
    locks = users_of(file) if header.targets is None else header.targets
    if not {"FENCE_IS_ASYMMETRIC", "not !FENCE_IS_ASYMMETRIC"}.isdisjoint(conditions):
        return tuple(
            LockLabel.of(label.lock, label.variant, MEMBARRIER)
            for label in map(LockLabel, locks)
            if MEMBARRIER in load_locks()[label.lock].fence_kinds
        )
    variants = (re.match(r"^LOCKCROSS_VARIANT_(\w+)$", condition) for condition in conditions)
    if variant := next(filter(None, variants), None):
        return tuple(f"{lock}:{variant[1].lower()}" for lock in locks)
    return locks


@cache
def users_of(file: str) -> tuple[str, ...]:
    """The locks that a header is of, or that include it."""
    own = file.removeprefix("locks/").removesuffix(".h")
    if own in load_locks():
        return (own,)
    return tuple(
        name
        for name in load_locks()
        if name not in stated().refused and file in headers(LockLabel.of(name))
    )


@cache
def weakened() -> dict[str, dict[str, str]]:
    """Of each primitive: what is taken away, and what is left."""
    return registry(RootModel[dict[str, dict[str, str]]], _HERE / "weakened.toml").root


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"^(?:#define )?[A-Za-z_].*?\b(\w+)\(", re.MULTILINE)
_NO_NAMES = ("__attribute__", "aligned", "always_inline", "defined", "_Static_assert")


def without_comments(source: str) -> str:
    """The source with blanks for comments, so that places are the same."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source)


@cache
def _heads(code: str) -> list[tuple[int, str]]:
    """Functions and macros, by where their heads begin."""
    found = [(head.start(), head[1]) for head in _FUNCTION.finditer(code)]
    return [(at, name) for at, name in found if name not in _NO_NAMES]


def function_at(code: str, position: int) -> str:
    """The function or macro that a place is in; "" before the first."""
    names = [name for at, name in _heads(code) if at < position]
    return names[-1] if names else ""


def files_of_code() -> Iterator[tuple[str, str]]:
    """The headers that mutants are made of, by their paths below lockimpl/, and their text."""
    for folder in FOLDERS:
        for path in sorted((HEADERS / folder).glob("*.h")):
            yield f"{folder}/{path.name}", source_of(f"{folder}/{path.name}")


def _weakened_calls(file: str, source: str) -> Iterator[Mutant]:
    code = without_comments(source)
    primitives = "|".join(sorted(weakened(), key=len, reverse=True))
    seen: Counter[str] = Counter()
    for call in re.finditer(rf"\b({primitives})(_u\d+)?(?=\()", code):
        place = f"{file.removesuffix('.h')}:{function_at(code, call.start())}:{call[0]}"
        seen[place] += 1
        number = f"#{seen[place]}" if seen[place] > 1 else ""
        targets = targets_of(file, source, call.start())
        for lost, left in weakened()[call[1]].items():
            width = "" if left.startswith("weakened") else call[2] or ""
            yield Mutant(
                f"{place}{number}:no-{lost}",
                "order",
                file,
                f"{call[0]} without its {lost}",
                call.start(),
                call[0],
                left + width,
                targets,
            )


@cache
def order_mutants() -> tuple[Mutant, ...]:
    """All of them, by file and place."""
    return tuple(one for file, source in files_of_code() for one in _weakened_calls(file, source))


def changed_step(file: str, step: Step) -> Mutant:
    """A mutant of logic/*.toml. Raises LockcrossError for one that no longer applies."""
    source, old, new = source_of(file), step.old.strip("\n"), step.new.strip("\n")
    name = f"{file.removesuffix('.h')}:{step.name}"
    if (count := source.count(old)) != 1:
        raise LockcrossError(
            f"mutant {name}: its text stands {count} times in lockimpl/{file}, not once; mend "
            "logic/*.toml, or take the mutant out if the step is gone"
        )
    start = source.index(old)
    targets = step.targets or targets_of(file, source, start)
    return Mutant(name, "logic", file, step.why, start, old, new, targets)


@cache
def logic_mutants() -> tuple[Mutant, ...]:
    """All of them. Raises LockcrossError for one that no longer applies."""
    known = known_headers()
    return tuple(changed_step(file, step) for file in known for step in known[file].mutant)
