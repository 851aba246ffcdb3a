"""What the verdicts come to: which orders are shown, and which instructions no order needs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from proofs.assembly.verdicts import Row, read_rows

# A model that stands for what herd7's own does not say; its name tells which in proofs/assembly/.
_ASSUMING = ("power_reserved.cat", "power_together.cat")
_ATOMIC = ("cas_rlx_u32",)  # promises no order, but to be atomic
_WIDTH = re.compile(r"u(?:8|16|32|64)(?=_|$)")
_SHORT = {"acquire": "acq", "release": "rel", "behind": "behind", "order": "a then b",
          "before": "before", "fence": "fence"}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """What is shown of a primitive in one flavour and fence kind."""

    primitive: str
    flavour: str
    fence: str
    promise: str
    instructions: str
    forbidden: tuple[str, ...]  # shapes, each as it should be
    missing: tuple[str, ...]  # shapes that are not shown
    assuming: tuple[str, ...]  # shapes that only a model of proofs/assembly/ shows
    beyond: tuple[str, ...]  # forbidden though nothing promises it
    spare: tuple[str, ...]  # ordering instructions that may be weakened without any consequence


def shown(rows: Iterable[Row]) -> Iterator[Shown]:
    """One a primitive, flavour and fence kind, of each compiler."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        place = row.primitive, row.flavour, row.fence, row.compiler
        groups.setdefault(place, []).append(row)
    for (primitive, flavour, fence, _), group in groups.items():
        if code := next((row for row in group if row.kind == "code"), None):
            last = {row.litmus: row for row in group if row.kind == "promised"}
            first = {row.litmus: row for row in reversed(group) if row.kind == "promised"}
            fine = tuple(name for name, row in last.items() if row.verdict == "forbidden")
            beyond = (row for row in group if row.kind == "beyond")
            yield Shown(
                primitive,
                flavour,
                fence,
                code.promise,
                code.instructions,
                fine,
                tuple(name for name in last if name not in fine),
                tuple(
                    name
                    for name in fine
                    if first[name].verdict != "forbidden" and last[name].model in _ASSUMING
                ),
                tuple(row.litmus for row in beyond if row.verdict == "forbidden"),
                tuple(_spare(group)),
            )


def _spare(rows: Sequence[Row]) -> Iterator[str]:
    """Instructions of which some weakening leaves every outcome forbidden."""
    changes = dict.fromkeys(row.change for row in rows if row.kind == "weakened")
    for change in changes:
        verdicts = {row.verdict for row in rows if row.change == change}
        if verdicts == {"forbidden"}:
            yield re.sub(r"^\d+: ", "", change)


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
        return all(verdict == "forbidden" for one, verdict in self.verdicts if one == model)


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
    locks: dict[tuple[str, str], list[ShownLock]] = {}
    for one in shown_locks(rows):
        locks.setdefault((one.lock, one.says), []).append(one)
    lines = ["| lock | shown by its own functions | forbidden | allowed |", "|---|---|---|---|"]
    for (lock, says), group in locks.items():
        places: dict[str, list[str]] = {"forbidden": [], "allowed": []}
        for one in group:
            fence = "" if one.fence == "full" else f" `{one.fence}`"
            several = len({verdict for _, verdict in one.verdicts}) > 1
            for model, verdict in one.verdicts if several else one.verdicts[-1:]:
                under = f" (`{model}`)" if several else ""
                places[verdict].append(f"{one.flavour}{fence}{under}")
        cells = (", ".join(places[verdict]) for verdict in places)
        lines.append(f"| `{lock}` | {says} | {' | '.join(cells)} |")
    return lines


def table(rows: Iterable[Row]) -> list[str]:
    """The table of lockimpl/README.md, from the verdicts of one compiler. Primitives that differ
    only in their width, and of which the same is shown, share a line."""
    ordering = [one for one in shown(rows) if one.promise != "rlx" or one.primitive in _ATOMIC]
    families: dict[str, dict[tuple[str, str, str], list[Shown]]] = {}
    for one in ordering:
        lines = families.setdefault(_family(one.primitive), {})
        lines.setdefault((one.flavour, one.fence, said(one)), []).append(one)
    written = [
        "| primitive | flavour | instructions | promised | shown |",
        "|---|---|---|---|---|",
    ]
    for family, lines in families.items():
        for (flavour, fence, words), group in lines.items():
            one = next((each for each in group if each.primitive == family), group[0])
            others = [_WIDTH.findall(each.primitive)[0] for each in group if each is not one]
            name = f"`{one.primitive}`" + (f", {', '.join(others)}" if others else "")
            kind = "" if fence == "full" else f", `{fence}`"
            written.append(
                f"| {name} | {flavour}{kind} | `{one.instructions}` | {one.promise} | {words} |"
            )
    return written


def _family(primitive: str) -> str:
    """A primitive of 32 bits stands for those of other widths."""
    if re.fullmatch(r"(load|store)_\w+_u\d+|store_rel_u\d+_then_load_next", primitive):
        return _WIDTH.sub("u32", primitive, count=1)
    return primitive


def architectural(fence: str) -> bool:
    """Whether an architecture gives what a fence kind promises. It does not for `store_forward`,
    which is for processors that do more (lockimpl/README.md)."""
    return fence != "store_forward"


def said(one: Shown) -> str:
    """What is shown, in words."""
    parts = [_by_role(one.forbidden)] if one.forbidden else []
    if one.missing:
        parts.append(f"**not shown**: {', '.join(one.missing)}")
    if one.assuming:
        parts.append(f"with an assumption: {_by_role(one.assuming)}")
    if one.beyond:
        parts.append(f"also {', '.join(one.beyond)}")
    if one.spare:
        parts.append(f"needless here: {', '.join(f'`{change}`' for change in one.spare)}")
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
