"""Logic mutants: steps of an algorithm left out or changed, by hand, in logic/*.toml."""

import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

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


WEAKENED_HEADER = "proofs/mutants/weakened.h"
SLEEP = "proofs/mutants/sleep.h"
# What clients do not come to otherwise, changed in every copy: a lock that is contended after one
# thread had to park.
_SMALLER = (("locks/tnp_selective.h", "#define TNP_THRESHOLD 4", "#define TNP_THRESHOLD 1"),)


def mutated(command: Sequence[str], mutant: Mutant | None, folder: Path) -> list[str]:
    """The command of a compiler, which runs in the root of the tree, for a mutant (None: the lock
    as it is) that is put into `folder`. It may leave a variable unused, so there are no warnings.
    """
    copy = folder / "lockimpl"
    if not copy.exists():
        shutil.copytree(ROOT / "lockimpl", copy)
        for file, old, new in _SMALLER:
            (copy / file).write_text(source_of(file).replace(old, new), encoding="utf-8")
    if mutant:
        text = mutant.text()
        for file, old, new in _SMALLER:
            text = text.replace(old, new) if file == mutant.file else text
        (copy / mutant.file).write_text(text, encoding="utf-8")
    changed = [f"-I{copy}" if word == "-Ilockimpl" else word for word in command]
    return [*changed, "-w", *(_more(mutant) if mutant else ())]


def _more(mutant: Mutant) -> list[str]:
    """What the change needs besides."""
    more = ["-include", WEAKENED_HEADER] if "weakened_" in mutant.new else []
    if "defined(LOCKCROSS_NATIVE)" in conditions_at(source_of(mutant.file), mutant.start):
        more += ["-DLOCKCROSS_NATIVE=1", "-include", SLEEP]
    return more


# By header, the locks that use it in different ways.
_USERS: dict[str, tuple[str, ...]] = {
    "monitor/handler.h": ("lifted",),
    "monitor/handshake.h": ("reservation",),
    "monitor/monitor.h": ("naive", "tasuki", "relaxed"),
    "monitor/monitor_table.h": ("monitor_table", "tasuki"),
    "monitor/mutex.h": ("lifted:explicit", "io_spin"),
    "monitor/park.h": ("revocable", "naive", "meta"),
    "monitor/processor.h": (),
    "monitor/recycling.h": ("monitor_cache", "hot"),
    "parts/back_off.h": ("dekker",),
    "parts/named_monitor.h": ("relaxed", "to_lock"),
    "parts/queued_core.h": ("renouncement", "handover", "tnp_selective"),
    "parts/record_pool.h": ("mcs", "meta"),
    "parts/reservation_cancel.h": ("reservation",),
    "parts/reservation_word.h": ("reservation",),
    "parts/revocable_monitor.h": ("revocable", "revocable:unmodified"),
    "parts/revocable_sections.h": ("revocable",),
    "parts/revocable_state.h": ("revocable",),
    "parts/tasuki_acquire.h": ("tasuki", "reservation"),
    "parts/tasuki_core.h": ("tasuki", "asym_tasuki"),
    "parts/tasuki_spin.h": ("tasuki", "reservation"),
    "parts/without_wait.h": ("cas_spin",),
}
_VARIANT = re.compile(r"^LOCKCROSS_VARIANT_(\w+)$")
# Conditions that hold in no program of a model: threads that share processors, signals.
_NOT_MODELLED = (
    "defined LOCKCROSS_SCHEDULER", "RESERVATION_BY_SIGNAL", "not !RESERVATION_BY_SIGNAL",
)  # fmt: skip


def conditions_at(source: str, position: int) -> tuple[str, ...]:
    """The preprocessor's conditions that a place is under, the outermost first; `not ...` for what
    stands behind an #else."""
    stack: list[str] = []
    for line in source[:position].splitlines():
        words = line.split(None, 1)
        rest = words[1].strip() if len(words) > 1 else ""
        match words[0] if words else "":
            case "#if":
                stack.append(rest)
            case "#ifdef":
                stack.append(f"defined {rest}")
            case "#ifndef":
                stack.append(f"not defined {rest}")
            case "#elif":
                stack[-1] = rest
            case "#else":
                stack[-1] = f"not {stack[-1]}"
            case "#endif":
                stack.pop()
    return tuple(stack)


def targets_of(file: str, source: str, position: int) -> tuple[str, ...]:
    """Locks, with the variant behind a colon; none where no program of a model has the code."""
    locks = _USERS.get(file) or (file.removeprefix("locks/").removesuffix(".h"),)
    if file == "monitor/processor.h":
        return ()
    conditions = conditions_at(source, position)
    if any(condition in _NOT_MODELLED for condition in conditions):
        return ()
    for condition in conditions:
        variant = _VARIANT.match(condition)
        if variant:
            return tuple(f"{lock}:{variant[1].lower()}" for lock in locks)
    return locks


FOLDERS = ("locks", "monitor", "parts")
# Of each primitive: what is taken away, and what is left. proofs/mutants/weakened.h has what
# arch/arch.h does not.
WEAKENED: dict[str, tuple[tuple[str, str], ...]] = {
    "order_compiler": (("effect", "weakened_order_compiler"),),
    "load_acq": (("acquire", "load_rlx"),),
    "store_rel": (("release", "store_rlx"),),
    "cas_acq": (("acquire", "cas_rlx"),),
    "cas_acq_rel": (("release", "cas_acq"), ("acquire", "weakened_cas_rel")),
    "swap_acq_rel": (("release", "weakened_swap_acq"), ("acquire", "weakened_swap_rel")),
    "store_then_load_acq": (
        ("fence", "weakened_store_load_acq"), ("acquire", "weakened_store_then_load"),
    ),
    "store_before_all": (("fence", "store_rlx"),),
    "store_behind_all": (("fence", "store_rlx"),),
    "cas_behind_all": (("fence", "cas_rlx"),),
    "cas_before_all": (("fence", "cas_acq"), ("acquire", "weakened_cas_before_all")),
    "store_u8_then_load_acq": (
        ("fence", "weakened_store_u8_load_acq"), ("acquire", "weakened_store_u8_then_load"),
    ),
    "store_u8_then_load_other_acq": (
        ("fence", "weakened_store_u8_load_other_acq"),
        ("acquire", "weakened_store_u8_then_load_other"),
    ),
    "store_u32_then_load_other_acq": (
        ("fence", "weakened_store_u32_load_other_acq"),
        ("acquire", "weakened_store_u32_then_load_other"),
    ),
    "store_rel_u8_then_load_next": (
        ("fence", "weakened_store_rel_u8_load_next"),
        ("release", "weakened_store_u8_then_load_next"),
    ),
    "store_rel_u16_then_load_next": (
        ("fence", "weakened_store_rel_u16_load_next"),
        ("release", "weakened_store_u16_then_load_next"),
    ),
    "store_rel_u32_then_load_next": (
        ("fence", "weakened_store_rel_u32_load_next"),
        ("release", "weakened_store_u32_then_load_next"),
    ),
}  # fmt: skip
_LONGEST_FIRST = "|".join(sorted(WEAKENED, key=len, reverse=True))
_CALL = re.compile(rf"\b({_LONGEST_FIRST})(_u\d+)?(?=\()")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"^(?:#define )?[A-Za-z_].*?\b(\w+)\(", re.MULTILINE)
_NO_NAMES = ("__attribute__", "aligned", "always_inline", "defined", "_Static_assert")


def _function_at(source: str, position: int) -> str:
    """The function or macro whose head comes last before a place."""
    names = [
        name
        for head in _FUNCTION.finditer(source, 0, position)
        for name in [head[1]]
        if name not in _NO_NAMES
    ]
    return names[-1] if names else ""


def _without_comments(source: str) -> str:
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source)


def _of_file(file: str) -> Iterator[Mutant]:
    source = source_of(file)
    code = _without_comments(source)
    seen: dict[tuple[str, str], int] = {}
    for call in _CALL.finditer(code):
        function = _function_at(code, call.start())
        place = (function, call[0])
        seen[place] = seen.get(place, 0) + 1
        number = f"#{seen[place]}" if seen[place] > 1 else ""
        for lost, left in WEAKENED[call[1]]:
            yield Mutant(
                name=f"{file.removesuffix('.h')}:{function}:{call[0]}{number}:no-{lost}",
                kind="order",
                file=file,
                where=function,
                change=f"{call[0]} without its {lost}",
                line=line_of(source, call.start()),
                start=call.start(),
                old=call[0],
                new=left + _suffix(call, left),
                targets=targets_of(file, source, call.start()),
                expected="checker",
            )  # fmt: skip


def _suffix(call: re.Match[str], left: str) -> str:
    """The width of the access, where the name that is left has one."""
    return (call[2] or "") if not left.startswith("weakened") else ""


@cache
def order_mutants() -> tuple[Mutant, ...]:
    """All of them, by file and place."""
    files = sorted(
        path.relative_to(HEADERS).as_posix()
        for folder in FOLDERS
        for path in (HEADERS / folder).glob("*.h")
    )
    return tuple(mutant for file in files for mutant in _of_file(file))


TABLES = Path(__file__).parent / "logic"


def _mutant(file: str, entry: dict[str, Any]) -> Mutant:
    source, old, new = source_of(file), entry["old"].strip("\n"), entry["new"].strip("\n")
    name = f"{file.removesuffix('.h')}:{entry['name']}"
    found = source.count(old)
    if found != 1:
        raise LockcrossError(
            f"mutant {name}: its text stands {found} times in lockimpl/{file}, not once; mend "
            f"{TABLES.name}/*.toml, or take the mutant out if the step is gone"
        )
    start = source.index(old)
    return Mutant(
        name=name,
        kind="logic",
        file=file,
        where="",
        change=entry["why"],
        line=line_of(source, start),
        start=start,
        old=old,
        new=new,
        targets=tuple(entry.get("targets", ())) or targets_of(file, source, start),
        expected=entry["by"],
    )


def _entries() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(TABLES.glob("*.toml")):
        for header in tomllib.loads(path.read_text(encoding="utf-8"))["header"]:
            for entry in header["mutant"]:
                yield header["file"], entry


@cache
def logic_mutants() -> tuple[Mutant, ...]:
    """All of them. Raises LockcrossError for one that no longer applies."""
    return tuple(_mutant(file, entry) for file, entry in _entries())
