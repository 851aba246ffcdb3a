"""What a run came to: its cost, what it assumed, and on demand every number."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from results.text.rows import Form, Rows, print_parts, whole

if TYPE_CHECKING:
    from results.store.records import StoredRun
    from results.store.store import Store
    from sweeps.model.cell import Cell

_COST = "cycles_per_pair"
_WITHOUT_COST = ("cycles", "core_cycles")  # shown instead of a cost
_REFUSED = "refused."  # before the name of a figure that a core model has no parameter for


def said(store: "Store", done: "StoredRun") -> tuple[str, dict[str, Any]]:
    """The output that is kept of a run, and its resolved options."""
    output, resolved = store.connection.execute(
        "SELECT output, resolved FROM runs JOIN resolved ON run_id = id WHERE id = ?", (done.id,)
    ).fetchone()
    return output, json.loads(resolved)


def print_runs(
    store: "Store",
    cell: "Cell",
    given: "Mapping[str, Any]",
    done: "Sequence[StoredRun]",
    all: bool,
    form: Form,
) -> None:
    """Prints a run, or several that differ in their seed alone: the cost, what was assumed, and
    with `all` every number that is not zero. `given`: the workload's keys that the user gave."""
    from results.text.terminal import console
    from sweeps.model.workloads import WORKLOADS

    units = dict(
        store.connection.execute("SELECT name, unit FROM metrics WHERE run_id = ?", (done[0].id,))
    )
    first = [_COST] if _COST in units else [one for one in _WITHOUT_COST if one in units]
    first += [name for name in WORKLOADS[cell.workload].metrics if name in units]
    rest = [
        name
        for name in sorted(units)
        if name not in first and any(run.metrics.get(name) for run in done)
    ]
    if form != Form.TABLE:
        print_parts(form, _numbers(first + rest * all, units, done))
        return
    out = console(fold=False)
    out.print(_numbers(first, units, done))
    output, options = said(store, done[0])
    for line in _assumed(cell, given, options):
        print(line)
    if output:
        print(output.strip())
    if all:
        out.print(_numbers(rest, units, done))
    elif rest:
        print(f"--all shows {len(rest)} more numbers")


def _numbers(names: Sequence[str], units: Mapping[str, str], done: "Sequence[StoredRun]") -> Rows:
    columns = ["value"] if len(done) == 1 else ["median", "least", "most"]
    records = []
    for name in names:
        values = [run.metrics[name] for run in done if name in run.metrics]
        numbers = map(whole, (median(values), min(values), max(values)))
        records.append(
            {"metric": name, **dict(zip(columns, numbers, strict=False)), "unit": units[name]}
        )
    shown = {name: partial(_number, name) for name in columns}
    return Rows(records, {"metric": "{metric}", **shown, "unit": "{unit}"})


def _number(name: str, record: Mapping[str, Any]) -> str:
    value = record[name]
    return f"{value:g}" if value % 1 else f"{value:.0f}"


def _assumed(cell: "Cell", given: "Mapping[str, Any]", options: "Mapping[str, Any]") -> list[str]:
    """What a run rests on that nobody gave or measured, a line each."""
    lines = []
    keys = [f"{key}={value}" for key, value in cell.parameters.items() if key not in given]
    if keys:
        lines.append(f"keys left at their defaults: {', '.join(keys)}")
    if figures := _assumed_figures(cell):
        lines.append(f"assumed by machine {cell.machine}: {figures}")
    refused = [key.removeprefix(_REFUSED) for key in options if key.startswith(_REFUSED)]
    if refused:
        lines.append(
            f"machine figures that the core model has no parameter for: {', '.join(refused)}"
        )
    if "cycles_by" in options:
        lines.append(f"cycles by the {options['cycles_by']}")
    if "cancellation" in options:
        lines.append(f"cancellation: {options['cancellation']}")
    return lines


def _assumed_figures(cell: "Cell") -> str:
    """The machine's assumed atomics, fences and charges by name, and how many others there are."""
    from sweeps.model.isa import ISAS
    from sweeps.model.machine import HOST, load_machine

    if cell.machine == HOST:
        return ""
    machine = load_machine(cell.machine)
    assumed = {
        name: figure.number
        for name, figure in machine.figures(cell.isa).items()
        if figure.assumption is not None
    }
    set_here = {
        "cas_success": cell.cas, "cas_failure": cell.cas, "rmw": cell.cas,
        ISAS[cell.isa].full_fence: cell.fence_latency, "charge_stop": cell.cancel,
    }  # fmt: skip
    assumed = {name: one for name, one in assumed.items() if set_here.get(name) is None}
    named = [
        f"{name}={number}"
        for name, number in assumed.items()
        if name in machine.latency[cell.isa] or name.startswith("charge_")
    ]
    if more := len(assumed) - len(named):
        named.append(f"{more} more of the core and the caches")
    where = f"; `lockcross machines {machine.name}` says why" if named else ""
    return ", ".join(named) + where
