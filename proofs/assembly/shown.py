"""What the verdicts come to: which orders are shown, and which instructions no order needs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from proofs.assembly.verdicts import Row, read_rows
from sweeps.model.locks import FULL

# A model that stands for what herd7's own does not say; its name tells which in proofs/assembly/.
_ASSUMING = ("power_reserved.cat", "power_together.cat")
_ATOMIC = ("cas_rlx_u32",)  # promises no order, but to be atomic
_WIDTH = re.compile(r"u(?:8|16|32|64)(?=_|$)")
_OF_WIDTHS = re.compile(r"(load|store)_\w+_u\d+|store_rel_u\d+_then_load_next")
_SHORT = {"acquire": "acq", "release": "rel", "behind": "behind", "order": "a then b",
          "before": "before", "fence": "fence"}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """What is shown of a primitive in one flavour and fence kind, where it is compiled to `code`.
    All but the last are names of litmus tests."""

    code: Row
    forbidden: list[str]  # as it should be
    missing: list[str]  # not shown
    assuming: list[str]  # only a model of proofs/assembly/ shows it
    beyond: list[str]  # forbidden though nothing promises it
    spare: list[str]  # ordering instructions that may be weakened without any consequence


def shown(rows: Iterable[Row]) -> Iterator[Shown]:
    """One a primitive, flavour and fence kind, of each compiler."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        place = row.primitive, row.flavour, row.fence, row.compiler
        groups.setdefault(place, []).append(row)
    for group in groups.values():
        if (code := next((row for row in group if row.kind == "code"), None)) is None:
            continue
        promised: dict[str, list[Row]] = {}  # a row for each model
        weakened: dict[str, set[str]] = {}
        for row in group:
            if row.kind == "promised":
                promised.setdefault(row.litmus, []).append(row)
            elif row.kind == "weakened":
                weakened.setdefault(row.change, set()).add(row.verdict)
        forbidden = [name for name, asked in promised.items() if asked[-1].verdict == "forbidden"]
        yield Shown(
            code,
            forbidden,
            [name for name in promised if name not in forbidden],
            [
                name
                for name in forbidden
                if promised[name][-1].model in _ASSUMING
                and promised[name][0].verdict != "forbidden"
            ],
            [row.litmus for row in group if (row.kind, row.verdict) == ("beyond", "forbidden")],
            [
                re.sub(r"^\d+: ", "", change)
                for change, verdicts in weakened.items()
                if verdicts == {"forbidden"}
            ],
        )


@dataclass(frozen=True)
class ShownLock:
    """What is shown of two threads of a lock, in one flavour and fence kind."""

    lock: str
    name: str
    says: str
    flavour: str
    fence: str
    verdicts: tuple[tuple[str, str], ...]  # model, verdict

    @property
    def holds(self) -> bool:
        """Whether the outcome is forbidden, by an architecture or what is assumed of it, in every
        compiler's instructions."""
        model = self.verdicts[-1][0]
        return all(verdict == "forbidden" for by, verdict in self.verdicts if by == model)


def shown_locks(rows: Iterable[Row]) -> Iterator[ShownLock]:
    """One a pair of threads, flavour and fence kind; what several compilers' instructions have in
    common is said once."""
    pairs: dict[tuple[str, ...], dict[tuple[str, str], None]] = {}
    for row in rows:
        if row.kind == "lock":
            key = row.primitive, row.litmus, row.promise, row.flavour, row.fence
            pairs.setdefault(key, {})[row.model, row.verdict] = None
    for (lock, name, says, flavour, fence), verdicts in pairs.items():
        yield ShownLock(lock, name, says, flavour, fence, tuple(verdicts))


def lock_table(rows: Iterable[Row]) -> list[str]:
    """The table of locks in lockimpl/README.md."""
    locks: dict[tuple[str, str], dict[str, list[str]]] = {}
    for pair in shown_locks(rows):
        places = locks.setdefault((pair.lock, pair.says), {"forbidden": [], "allowed": []})
        several = len({verdict for _, verdict in pair.verdicts}) > 1
        for model, verdict in pair.verdicts if several else pair.verdicts[-1:]:
            under = f" (`{model}`)" if several else ""
            places[verdict].append(_flavour_words(pair.flavour, pair.fence, " ") + under)
    return [
        "| lock | shown by its own functions | forbidden | allowed |",
        "|---|---|---|---|",
        *(f"| `{lock}` | {says} | {' | '.join(map(', '.join, places.values()))} |"
          for (lock, says), places in locks.items()),
    ]  # fmt: skip


def _flavour_words(flavour: str, fence: str, separator: str) -> str:
    return flavour if fence == FULL else f"{flavour}{separator}`{fence}`"


def table(rows: Iterable[Row]) -> list[str]:
    """The table of lockimpl/README.md, from the verdicts of one compiler. Primitives that differ
    only in their width, and of which the same is shown, share a line."""
    lines: dict[str, dict[tuple[str, str], list[Row]]] = {}
    for result in shown(rows):
        name = result.code.primitive
        if result.code.promise != "rlx" or name in _ATOMIC:
            # A primitive of 32 bits stands for those of other widths.
            family = _WIDTH.sub("u32", name, count=1) if _OF_WIDTHS.fullmatch(name) else name
            where = _flavour_words(result.code.flavour, result.code.fence, ", ")
            lines.setdefault(family, {}).setdefault((where, said(result)), []).append(result.code)
    written = [
        "| primitive | flavour | instructions | promised | shown |",
        "|---|---|---|---|---|",
    ]
    for family, groups in lines.items():
        for (where, words), group in groups.items():
            code = next((each for each in group if each.primitive == family), group[0])
            others = [_WIDTH.findall(each.primitive)[0] for each in group if each is not code]
            names = ", ".join([f"`{code.primitive}`", *others])
            written.append(
                f"| {names} | {where} | `{code.instructions}` | {code.promise} | {words} |"
            )
    return written


def architectural(fence: str) -> bool:
    """Whether an architecture gives what a fence kind promises. It does not for `store_forward`,
    which is for processors that do more (lockimpl/README.md)."""
    return fence != "store_forward"


def said(result: Shown) -> str:
    """What is shown, in words."""
    parts = [_by_role(result.forbidden)] if result.forbidden else []
    if result.missing:
        parts.append(f"**not shown**: {', '.join(result.missing)}")
    if result.assuming:
        parts.append(f"with an assumption: {_by_role(result.assuming)}")
    if result.beyond:
        parts.append(f"also {', '.join(result.beyond)}")
    if result.spare:
        parts.append(f"needless here: {', '.join(f'`{change}`' for change in result.spare)}")
    return "; ".join(parts)


def _by_role(names: Sequence[str]) -> str:
    """Shapes, by what was asked of the primitive."""
    roles: dict[str, list[str]] = {}
    for name in names:
        role, _, shape = name.rpartition(": ")
        roles.setdefault(_SHORT.get(role, role), []).append(shape)
    return "; ".join(
        f"{role} ({', '.join(shapes)})" if role else ", ".join(shapes)
        for role, shapes in roles.items()
    )


if __name__ == "__main__":  # the table, for lockimpl/README.md
    print("\n".join([*table(read_rows()), "", *lock_table(read_rows())]))
