"""Order mutants: every primitive that orders memory, at every place where a lock uses it, weakened
by itself. They are derived from the headers, so a new place has its mutants at once."""

import re
from collections.abc import Iterator
from functools import cache

from sweeps.proofs.mutants.mutant import HEADERS, Mutant, line_of, source_of
from sweeps.proofs.mutants.targets import targets_of

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
