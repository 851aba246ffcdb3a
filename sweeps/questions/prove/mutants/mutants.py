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

from results.errors import LockcrossError
from results.paths import ROOT
from sweeps.model.locks import MEMBARRIER, LockLabel, load_locks
from sweeps.questions.prove.proofs.programs import PROOFS, assumptions, headers
from sweeps.support.toml import Entry, read_registry

DATA = PROOFS / "mutants"
HEADERS = ROOT / "lockimpl"
FOLDERS = ("locks", "monitor", "parts")
WEAKENED_HEADER = "proofs/mutants/weakened.h"


@dataclass(frozen=True)
class Mutant:
    """A change of a header (`file`, below lockimpl/): `new` in place of `old`.

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
        """Return the number of the line, from 1, in which the change begins."""
        return source_of(self.file).count("\n", 0, self.start) + 1

    def text(self) -> str:
        """Return the header with the change. Raises LockcrossError where it no longer fits."""
        source = source_of(self.file)
        if not source.startswith(self.old, self.start):
            raise LockcrossError(f"mutant {self.name}: lockimpl/{self.file} has changed meanwhile")
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def source_of(file: str) -> str:
    """Read a header of lockimpl/, by its path there."""
    return (HEADERS / file).read_text(encoding="utf-8")


class _Change(Entry):
    old: str
    new: str


class Step(_Change):
    """A step of an algorithm that is changed: `old` stands once in the header; `why` says how it
    goes wrong, `by` which check is expected to catch it first."""

    name: str
    why: str
    by: Literal["conformance", "checker"]
    targets: tuple[str, ...] = ()


class Header(Entry):
    """The needs of a header's mutants.

    `targets`: the locks in whose programs they are looked for; else a lock's own header is for it
    alone, and a part is for every lock that includes it. `not_modelled`: a condition of the
    preprocessor that holds in no program of a model. `few`: macros, for programs of the conformance
    kernel with small pools, so that their contents go from object to object.
    `smaller`: text that is changed in every copy, for cases that clients do not reach otherwise.
    """

    file: str
    targets: tuple[str, ...] | None = None
    not_modelled: str = ""
    few: dict[str, int] = {}
    smaller: _Change | None = None
    mutant: tuple[Step, ...] = ()


@cache
def known_headers() -> dict[str, Header]:
    """Return the entries of logic/*.toml, by header."""
    kind = RootModel[dict[Literal["header"], tuple[Header, ...]]]
    registries = (read_registry(kind, file) for file in sorted((DATA / "logic").glob("*.toml")))
    return {header.file: header for registry in registries for header in registry.root["header"]}


def mutated(command: Sequence[str], mutant: Mutant | None, folder: Path) -> list[str]:
    """Return a compiler's command, which runs in the root of the tree, for a mutant (None: the lock
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
    """Return the preprocessor's conditions that a place is under, the outermost first; `not ...`
    for text after an #else."""
    stack: list[str] = []
    for word, rest in _DIRECTIVE.findall(source[:position]):
        before = stack.pop() if word in ("elif", "else", "endif") else ""
        if word != "endif":
            stack.append(_CONDITIONS.get(word, "{0}").format(rest.strip(), before))
    return tuple(stack)


def targets_of(file: str, source: str, position: int) -> tuple[str, ...]:
    """Return the locks whose programs have a place of a header, with the variant after a colon;
    none where no program of a model has it."""
    header = known_headers().get(file) or Header(file=file)
    conditions = conditions_at(source, position)
    outside = {"defined LOCKCROSS_SCHEDULER"}  # threads that share processors
    if header.not_modelled:
        outside |= {header.not_modelled, f"not !{header.not_modelled}"}
    if not outside.isdisjoint(conditions):
        return ()
    locks = users_of(file) if header.targets is None else header.targets
    asymmetric = not {"FENCE_IS_ASYMMETRIC", "not !FENCE_IS_ASYMMETRIC"}.isdisjoint(conditions)
    fence = MEMBARRIER if asymmetric else ""
    matches = (re.match(r"^LOCKCROSS_VARIANT_(\w+)$", condition) for condition in conditions)
    variant = next((match[1].lower() for match in matches if match), "")
    found = []
    for label in map(LockLabel, locks):
        lock = load_locks()[label.lock]
        if (variant and variant not in lock.variants) or (fence and fence not in lock.fence_kinds):
            continue
        found.append(LockLabel.of(label.lock, variant or label.variant, fence or label.fence))
    return tuple(found)


@cache
def users_of(file: str) -> tuple[str, ...]:
    """Return the lock that a header is of, or the locks that include it."""
    name = file.removeprefix("locks/").removesuffix(".h")
    if name in load_locks():
        return (name,)
    proved = [lock for lock in load_locks() if lock not in assumptions().refused]
    return tuple(lock for lock in proved if file in headers(LockLabel.of(lock)))


@cache
def weakened() -> dict[str, dict[str, str]]:
    """Return for each primitive the order taken away, and the rest."""
    return read_registry(RootModel[dict[str, dict[str, str]]], DATA / "weakened.toml").root


_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"^(?:#define )?[A-Za-z_].*?\b(\w+)\(", re.MULTILINE)
_NO_NAMES = ("__attribute__", "aligned", "always_inline", "defined", "_Static_assert")


def without_comments(source: str) -> str:
    """Return the source with blanks for comments, so that places are the same."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source)


@cache
def _heads(code: str) -> list[tuple[int, str]]:
    """Return functions and macros, each after where its head begins."""
    heads = [(head.start(), head[1]) for head in _FUNCTION.finditer(code)]
    return [(start, name) for start, name in heads if name not in _NO_NAMES]


def function_at(code: str, position: int) -> str:
    """Return the function or macro that a place is in; "" before the first."""
    names = [name for start, name in _heads(code) if start < position]
    return names[-1] if names else ""


def mutable_headers() -> Iterator[tuple[str, str]]:
    """Yield the headers that mutants are made of: their paths below lockimpl/, and their text."""
    for folder in FOLDERS:
        for path in sorted((HEADERS / folder).glob("*.h")):
            yield f"{folder}/{path.name}", source_of(f"{folder}/{path.name}")


def numbered(seen: Counter[str], name: str) -> str:
    """Return a name that was not seen before: the second of a name is `name#2`."""
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}"


def _weakened_calls(file: str, source: str) -> Iterator[Mutant]:
    code = without_comments(source)
    primitives = "|".join(sorted(weakened(), key=len, reverse=True))
    seen: Counter[str] = Counter()
    for call in re.finditer(rf"\b({primitives})(_u\d+)?(?=\()", code):
        function = function_at(code, call.start())
        name = numbered(seen, f"{file.removesuffix('.h')}:{function}:{call[0]}")
        targets = targets_of(file, source, call.start())
        for lost, left in weakened()[call[1]].items():
            new = left if left.startswith("weakened") else left + (call[2] or "")
            change = f"{call[0]} without its {lost}"
            yield Mutant(
                f"{name}:no-{lost}", "order", file, change, call.start(), call[0], new, targets
            )


@cache
def order_mutants() -> tuple[Mutant, ...]:
    """Return all of them, by file and place."""
    return tuple(mutant for header in mutable_headers() for mutant in _weakened_calls(*header))


def changed_step(file: str, step: Step) -> Mutant:
    """Make a mutant of logic/*.toml. Raises LockcrossError for one that no longer applies."""
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
    """Return all of them. Raises LockcrossError for one that no longer applies."""
    known = known_headers()
    return tuple(changed_step(file, step) for file in known for step in known[file].mutant)
