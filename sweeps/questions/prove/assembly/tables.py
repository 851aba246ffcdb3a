"""Tables of the verdicts: which orders are shown, and which instructions no order needs; and the
tables of lockimpl/README.md."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sweeps.model.locks import FULL
from sweeps.questions.prove.assembly.verdicts import AssemblyRow, read_rows

# A model that stands for what herd7's own does not say; its name tells which in proofs/assembly/.
_ASSUMING = ("power_reserved.cat", "power_together.cat")
_ATOMIC = ("cas_rlx_u32",)  # promises no order, but to be atomic
_WIDTH = re.compile(r"u(?:8|16|32|64)(?=_|$)")
_OF_WIDTHS = re.compile(r"(load|store)_\w+_u\d+|store_rel_u\d+_then_load_next")
_SHORT = {"acquire": "acq", "release": "rel", "behind": "behind", "order": "a then b",
          "before": "before", "fence": "fence"}  # fmt: skip


@dataclass(frozen=True)
class PrimitiveShown:
    """The shown orders of a primitive in one flavour and fence kind, where it is compiled to
    `code`. All but the last are names of litmus tests."""

    code: AssemblyRow
    forbidden: list[str]  # as it should be
    missing: list[str]  # not shown
    assuming: list[str]  # only a model of proofs/assembly/ shows it
    beyond: list[str]  # forbidden though nothing promises it
    spare: list[str]  # ordering instructions that may be weakened without any consequence

    @property
    def words(self) -> str:
        parts = [_by_role(self.forbidden)] if self.forbidden else []
        if self.missing:
            parts.append(f"**not shown**: {', '.join(self.missing)}")
        if self.assuming:
            parts.append(f"with an assumption: {_by_role(self.assuming)}")
        if self.beyond:
            parts.append(f"also {', '.join(self.beyond)}")
        if self.spare:
            parts.append(f"needless here: {', '.join(f'`{change}`' for change in self.spare)}")
        return "; ".join(parts)


def _by_role(tests: Sequence[str]) -> str:
    """List shapes by the question about the primitive."""
    roles: dict[str, list[str]] = {}
    for test in tests:
        role, _, shape = test.rpartition(": ")
        roles.setdefault(_SHORT.get(role, role), []).append(shape)
    return "; ".join(
        f"{role} ({', '.join(shapes)})" if role else ", ".join(shapes)
        for role, shapes in roles.items()
    )


def primitives_shown(rows: Iterable[AssemblyRow]) -> Iterator[PrimitiveShown]:
    """Yield one per primitive, flavour and fence kind, of each compiler."""
    groups: dict[tuple[str, ...], list[AssemblyRow]] = {}
    for row in rows:
        groups.setdefault((row.primitive, row.flavour, row.fence, row.compiler), []).append(row)
    for group in groups.values():
        if (code := next((row for row in group if row.kind == "code"), None)) is None:
            continue
        promised: dict[str, list[AssemblyRow]] = {}  # a row for each model
        weakened: dict[str, set[str]] = {}
        for row in group:
            if row.kind == "promised":
                promised.setdefault(row.litmus, []).append(row)
            elif row.kind == "weakened":
                weakened.setdefault(row.change, set()).add(row.verdict)
        last = {name: answers[-1] for name, answers in promised.items()}
        forbidden = [name for name, answer in last.items() if answer.verdict == "forbidden"]
        yield PrimitiveShown(
            code,
            forbidden,
            [name for name in promised if name not in forbidden],
            [
                name
                for name in forbidden
                if last[name].model in _ASSUMING and promised[name][0].verdict != "forbidden"
            ],
            [row.litmus for row in group if (row.kind, row.verdict) == ("beyond", "forbidden")],
            [
                re.sub(r"^\d+: ", "", change)
                for change, verdicts in weakened.items()
                if verdicts == {"forbidden"}
            ],
        )


@dataclass(frozen=True)
class PairShown:
    """The shown orders of two threads of a lock, in one flavour and fence kind."""

    lock: str
    name: str
    says: str
    flavour: str
    fence: str
    verdicts: tuple[tuple[str, str], ...]  # model, verdict

    @property
    def holds(self) -> bool:
        """Tell whether the outcome is forbidden, by an architecture or an assumption on it, in
        every compiler's instructions."""
        last, _ = self.verdicts[-1]
        return all(verdict == "forbidden" for model, verdict in self.verdicts if model == last)


def pairs_shown(rows: Iterable[AssemblyRow]) -> Iterator[PairShown]:
    """Yield one per pair of threads, flavour and fence kind; common parts of several compilers'
    instructions are said once."""
    pairs: dict[tuple[str, ...], dict[tuple[str, str], None]] = {}
    for row in rows:
        if row.kind == "lock":
            key = row.primitive, row.litmus, row.promise, row.flavour, row.fence
            pairs.setdefault(key, {})[row.model, row.verdict] = None
    for (lock, name, says, flavour, fence), verdicts in pairs.items():
        yield PairShown(lock, name, says, flavour, fence, tuple(verdicts))


def architectural(fence: str) -> bool:
    """Tell whether an architecture gives the promise of a fence kind. It does not for
    `store_forward`, which is for processors that do more (lockimpl/README.md)."""
    return fence != "store_forward"


def lock_table(rows: Iterable[AssemblyRow]) -> list[str]:
    locks: dict[tuple[str, str], dict[str, list[str]]] = {}
    for pair in pairs_shown(rows):
        places = locks.setdefault((pair.lock, pair.says), {"forbidden": [], "allowed": []})
        differ = len({verdict for _, verdict in pair.verdicts}) > 1
        for model, verdict in pair.verdicts if differ else pair.verdicts[-1:]:
            under = f" (`{model}`)" if differ else ""
            places[verdict].append(_flavour_words(pair.flavour, pair.fence, " ") + under)
    return [
        "| lock | shown by its own functions | forbidden | allowed |",
        "|---|---|---|---|",
        *(f"| `{lock}` | {says} | {' | '.join(map(', '.join, places.values()))} |"
          for (lock, says), places in locks.items()),
    ]  # fmt: skip


def _flavour_words(flavour: str, fence: str, separator: str) -> str:
    return flavour if fence == FULL else f"{flavour}{separator}`{fence}`"


def primitive_table(rows: Iterable[AssemblyRow]) -> list[str]:
    """Draw the table of primitives, from the verdicts of one compiler. Those that differ only in
    their width, and of which the same is shown, share a line."""
    families: dict[str, dict[tuple[str, str], list[AssemblyRow]]] = {}
    for shown in primitives_shown(rows):
        name = shown.code.primitive
        if shown.code.promise != "rlx" or name in _ATOMIC:
            # A primitive of 32 bits stands for those of other widths.
            family = _WIDTH.sub("u32", name, count=1) if _OF_WIDTHS.fullmatch(name) else name
            where = _flavour_words(shown.code.flavour, shown.code.fence, ", ")
            groups = families.setdefault(family, {})
            groups.setdefault((where, shown.words), []).append(shown.code)
    lines = [
        "| primitive | flavour | instructions | promised | shown |",
        "|---|---|---|---|---|",
    ]
    for family, groups in families.items():
        for (where, words), group in groups.items():
            code = next((row for row in group if row.primitive == family), group[0])
            others = [_WIDTH.findall(row.primitive)[0] for row in group if row is not code]
            names = ", ".join([f"`{code.primitive}`", *others])
            lines.append(
                f"| {names} | {where} | `{code.instructions}` | {code.promise} | {words} |"
            )
    return lines


if __name__ == "__main__":  # the tables, for lockimpl/README.md
    print("\n".join([*primitive_table(read_rows()), "", *lock_table(read_rows())]))
