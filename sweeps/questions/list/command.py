"""Commands that list plans, machines, locks and workloads, and the doctor."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from results.errors import LockcrossError
from results.text.rows import Form, Format, Rows, print_parts
from sweeps.cli import complete

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sweeps.engines.base import Check
    from sweeps.model.cell import Cell


def plans(form: Format = Form.TABLE) -> None:
    """List the plans with their number of cells, and how many of them are refused."""
    from sweeps.plans import SWEEPS
    from sweeps.plans.sweep import load_plan

    plans = {name: load_plan(name) for name in SWEEPS.names()}
    records = [
        {"plan": name, "cells": len(plan.cells), "refused": _refused(plan.cells),
         "title": plan.title}
        for name, plan in plans.items()
    ]  # fmt: skip
    print_parts(form, Rows(records))


def _refused(cells: "Sequence[Cell]") -> int | str:
    """How many cells no engine would run, or the missing engine that would have to say."""
    from sweeps.engines import refusal
    from sweeps.model.cells import unsupported_reason
    from sweeps.model.engines import entry

    count = 0
    for cell in cells:
        try:
            count += bool(unsupported_reason(cell) or refusal(cell))
        except LockcrossError:
            return f"needs {entry(cell.engine).family}"
    return count


def machines(
    name: Annotated[
        str | None,
        typer.Argument(help="Show every figure of this machine.", autocompletion=complete.machines),
    ] = None,
    every_option: Annotated[
        bool, typer.Option("--options", help="Show what a machine file may say, and what it means.")
    ] = False,
    form: Format = Form.TABLE,
) -> None:
    """List the machines, or every figure of one with its source or the reason for assuming it."""
    from sweeps.model.machine import load_machine, machine_named, machine_names
    from sweeps.questions.list.machines import details, options, overview

    if every_option and name is not None:
        raise LockcrossError("--options is of every machine file: give no name with it")
    if every_option:
        shown = options(load_machine("generic"))
    elif name is None:
        shown = overview(map(load_machine, machine_names()))
    else:
        shown = details(load_machine(machine_named(name)))
    print_parts(form, *shown)


def locks(
    name: Annotated[
        str | None, typer.Argument(help="Show all of this one.", autocompletion=complete.locks)
    ] = None,
    form: Format = Form.TABLE,
) -> None:
    """List the locks and how each can be built, or one with its source and variants."""
    from sweeps.model.locks import load_locks
    from sweeps.questions.list.locks import details, overview

    if name is not None and name not in load_locks():
        raise LockcrossError(f"lock {name!r} is unknown; known are {', '.join(load_locks())}")
    shown = overview(load_locks().values()) if name is None else details(load_locks()[name])
    print_parts(form, *shown)


def workloads(
    name: Annotated[
        str | None, typer.Argument(help="Show all of this one.", autocompletion=complete.workloads)
    ] = None,
    form: Format = Form.TABLE,
) -> None:
    """List the workloads, or one with its keys, defaults, bounds and rules."""
    from sweeps.model.workloads import WORKLOADS
    from sweeps.questions.list.workloads import description, details, overview

    if name is not None and name not in WORKLOADS:
        raise LockcrossError(f"workload {name!r} is unknown; known are {', '.join(WORKLOADS)}")
    if name is not None and form == Form.TABLE:
        print(f"{name}: {description(name)}\n")  # its lines are not to be folded
    shown = overview() if name is None else details(WORKLOADS[name])
    print_parts(form, *shown)


def doctor(form: Format = Form.TABLE) -> None:
    """Show which engines and compilers are installed, their versions, and what is missing."""
    from sweeps.engines import load_engine
    from sweeps.engines.base import Check
    from sweeps.model.engines import ENGINES
    from sweeps.programs import TARGETS, compiler_version, find_compiler

    checks = []
    for flavour, target in TARGETS.items():
        try:
            version = compiler_version(find_compiler(flavour))
            checks.append(Check(f"{target.isa} {flavour}: compiler", True, version))
        except LockcrossError as error:
            checks.append(Check(f"{target.isa} {flavour}: compiler", False, error.message))
    for family, one in {
        one.family: one for one in ENGINES
    }.items():  # each answers for its whole family
        for found in load_engine(one.label).doctor():
            checks.append(replace(found, part=f"engine {family}: {found.part}"))
    if form == Form.TABLE:
        for check in checks:
            part = check.part + (" (optional)" if check.absent else "")
            print(f"{_state(check):7} {part}: {check.detail}")
    else:
        records = [
            {"state": _state(one), "part": one.part, "optional": one.optional, "detail": one.detail}
            for one in checks
        ]
        print_parts(form, Rows(records))
    if not all(check.ok or check.optional for check in checks):
        raise typer.Exit(1)


def _state(check: "Check") -> str:
    if check.ok:
        return "ok"
    if check.absent:
        return "absent"
    return "not ok" if check.optional else "MISSING"
