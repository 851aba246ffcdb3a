"""Commands that list plans and installed tools."""

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from results.errors import LockcrossError
from results.text.rows import Form, Format, Rows, print_parts

if TYPE_CHECKING:
    from sweeps.engines.base import PartCheck


def plans(form: Format = Form.TABLE) -> None:
    """List the plans with their number of cells, and how many of them are refused."""
    from sweeps.engines.base import refusal
    from sweeps.model.cell import unsupported_reason
    from sweeps.model.engines import entry
    from sweeps.plans import SWEEPS
    from sweeps.study.plan import load_plan

    records = []
    for name in SWEEPS.names():
        plan = load_plan(name)
        count, refused = 0, ""
        try:
            for cell in plan.cells:
                count += bool(unsupported_reason(cell) or refusal(cell))
        except LockcrossError:  # the engine would have to say, and is missing
            refused = f"needs {entry(cell.engine).family}"
        row = {"plan": name, "cells": len(plan.cells), "refused": refused or count}
        records.append(row | {"title": plan.title})
    print_parts(form, Rows(records))


def doctor(form: Format = Form.TABLE) -> None:
    """Show which engines and compilers are installed, their versions, and what is missing."""
    from sweeps.cli.progress import first_word
    from sweeps.engines.base import PartCheck, load_engine
    from sweeps.model.engines import ENGINES
    from sweeps.programs import TARGETS, compiler_version, find_compiler

    first_word("asking compilers and engines; a new engine is tried first, which takes a minute")
    checks = []
    for flavour, target in TARGETS.items():
        part = f"{target.isa} {flavour}: compiler"
        try:
            checks.append(PartCheck(part, True, compiler_version(find_compiler(flavour))))
        except LockcrossError as error:
            checks.append(PartCheck(part, False, error.message))
    for engine in {entry.family: entry for entry in ENGINES}.values():  # each for its whole family
        checks += [
            replace(check, part=f"engine {engine.family}: {check.part}")
            for check in load_engine(engine.label).doctor()
        ]
    if form == Form.TABLE:
        from results.text.terminal import say

        for check in checks:
            part = check.part + (" (optional)" if check.absent else "")
            say(f"{_state(check):7} {part}: {check.detail}")
    else:
        listed = []
        for check in checks:
            words = {"part": check.part, "optional": check.optional, "detail": check.detail}
            listed.append({"state": _state(check), **words})
        print_parts(form, Rows(listed))
    if not all(check.ok or check.optional for check in checks):
        raise typer.Exit(1)


def _state(check: "PartCheck") -> str:
    if check.ok:
        return "ok"
    if check.absent:
        return "absent"
    return "not ok" if check.optional else "MISSING"
