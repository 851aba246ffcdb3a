"""The tables of a plan: who wins in each setting, and what each lock costs there."""

from collections.abc import Iterable, Sequence
from typing import Any

from results.analysis.plans.sweep import TIE_PERCENT, Group
from results.model.cell import AXES, values
from results.model.label import FENCE_KINDS, LockLabel
from results.store.queries import Answer

_OF_LOCK = ("lock", "variant", "fence", "seed")  # axes that are no part of a setting


def winner_rows(found: Sequence[Group]) -> Answer:
    """The winner in each setting, with full fences and with any kind where there are others."""
    names = _names(found)
    rows: list[tuple[Any, ...]] = []
    for group in found:
        place = _place(group, names)
        absent = ", ".join(group.absent)
        for fences, win in group.contests(TIE_PERCENT / 100):
            if win is None:
                (label,) = [one for one in group.costs if fences in ("any", one.fence)]
                alone = ("", None, None, "alone", absent)
                rows.append((*place, fences, label, round(group.costs[label].median, 2), *alone))
                continue
            lead = round(100 * win.lead, 2)
            verdict = "tie" if win.tied else ""
            rows.append(
                (*place, fences, win.lock, round(win.cost, 2), win.runner_up,
                 round(win.margin, 2), lead, verdict, absent)
            )  # fmt: skip
    return Answer(
        [*names, "fences", "winner", "cycles_per_pair", "next", "lead_cycles", "lead_percent",
         "verdict", "absent"],
        rows,
    )  # fmt: skip


def cost_rows(found: Sequence[Group]) -> Answer:
    """What every lock costs in each setting, cheapest first."""
    names = _names(found)
    rows = [
        (*_place(group, names), label, label.fence, *(round(x, 2) for x in
         (band.median, band.least, band.most)), band.seeds)
        for group in found
        for label, band in group.costs.items()
    ]  # fmt: skip
    return Answer([*names, "lock", "fences", "cycles_per_pair", "least", "most", "seeds"], rows)


def compared_words(found: Iterable[Group]) -> str:
    """Which locks and fence kinds some settings compare, and what is a tie."""
    labels = sorted({label for group in found for label in group.costs})
    return (
        f"{labels_words(labels)}\nCost: cycles per acquire-release pair, the median of the seeds. "
        f"A lead below {TIE_PERCENT:g} % is a tie."
    )


def labels_words(labels: Iterable[str]) -> str:
    """Which locks and fence kinds stand in a table."""
    known = [LockLabel(label) for label in labels]
    locks = dict.fromkeys(str(label.partition("/")[0]) for label in known)
    kinds = [words for kind, words in FENCE_KINDS.items() if kind in {one.fence for one in known}]
    return f"Compared: {', '.join(locks)}; with {', '.join(kinds)}."


def _names(found: Iterable[Group]) -> list[str]:
    """The names of what is set in some settings, axes first."""
    axes = dict.fromkeys(axis.name for axis in AXES if axis.name not in _OF_LOCK)
    keys = dict.fromkeys(name for group in found for name in values(group.setting))
    return list(axes | {name: None for name in keys if name not in _OF_LOCK})


def _place(group: Group, names: Sequence[str]) -> tuple[Any, ...]:
    every = values(group.setting)
    return tuple(every.get(name) for name in names)
