"""`lockcross measure`: describes the host as a machine that every engine accepts."""

import re
import sys
import time
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from results.errors import LockcrossError, writing
from results.paths import DATABASE
from sweeps.cli.options import Force
from sweeps.support.paths import MACHINES
from sweeps.support.text import quoted

FIGURES = DATABASE.parent / "figures"
_NAME = r"[a-z][a-z0-9_]*"
_RESERVED = "host"  # what the machine of runs is called that no description has


def measure(
    name: Annotated[str, typer.Argument(help="The machine's name.")],
    title: Annotated[
        str, typer.Option(help="What the machine is, for people; default: the processor's name.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(help="The file to write; default: sweeps/machines/NAME.toml."),
    ] = None,
    force: Force = False,
) -> None:
    """Measure this host and write it as a machine that every engine accepts."""
    from rich.table import Table

    from results.text.terminal import console

    path = output or MACHINES / f"{name}.toml"
    _check(name, path, force)
    part = measurer()
    began = time.monotonic()
    measured = part.measure(lambda what: print(f"measuring: {what}", file=sys.stderr, flush=True))
    try:
        text = part.document(measured, name, title or part.model(), datetime.now(tz=UTC))
    except ValueError as error:
        raise LockcrossError(
            f"the figures contradict one another, so nothing was written: {error}; stop what else "
            "runs here, and measure again",
            exit_code=1,
        ) from None
    with writing(path, "name another file with --output"):
        path.write_text(text, encoding="utf-8")
    table = Table("operation", "figure", "spread", "unit", "meaning", box=None)
    for operation, finding in measured.found.items():
        figures = (f"{finding.value:.4g}", f"{finding.spread:.2g}", finding.unit, finding.meaning)
        table.add_row(operation, *figures)
    console(fold=False).print(table)
    for why in (*measured.notes, *(f"{n} left out: {w}" for n, w in measured.left_out.items())):
        print(why)
    print(f"machine: {path}")
    print(f"figure: {_draw(name, measured)}")
    print(f"measured in {time.monotonic() - began:.0f} s")


def _check(name: str, path: Path, force: bool) -> None:
    """Raises LockcrossError for a name or a file that cannot be, before anything is measured."""
    if not re.fullmatch(_NAME, name) or name == _RESERVED:
        raise LockcrossError(
            f"name {quoted(name)}: lower-case letters, digits and _ are expected, a letter first, "
            f"and not {_RESERVED}"
        )
    if path.exists() and not force:
        raise LockcrossError(f"{path} exists; name another machine, or replace it with --force")
    if path.is_dir() or not path.parent.is_dir():
        raise LockcrossError(f"--output {path}: must name a file in an existing folder")


def measurer() -> Any:
    """The part of the engine on the host itself that measures it. Raises LockcrossError where
    there is no such engine."""
    from sweeps.engines.base import load_engine
    from sweeps.model.engines import ENGINES

    for engine in ENGINES:
        if load_engine(engine.label).capabilities().host_machines is not None:
            return import_module(f"sweeps.engines.{engine.family}.measure")
    raise LockcrossError("no engine runs on the host itself", exit_code=1)


def _draw(name: str, measured: Any) -> Path:
    """The figure's PNG, beside which the SVG lies."""
    from results.draw.painter import write
    from sweeps.questions.measure.figure import draw_measured

    bars: dict[str, dict[str, tuple[float, float]]] = {"cycles": {}, "share": {}}
    for operation, finding in measured.found.items():
        if finding.unit != "cycles" or finding.value > 0:  # the scale of cycles is logarithmic
            drawn = bars.setdefault(finding.unit, {})
            drawn[operation.replace("_", " ")] = (finding.value, finding.spread)
    matrix = {pair: median(values) for pair, values in measured.matrix.items()}
    heading = f"{name}: {measured.processor}"
    draw = partial(draw_measured, heading, bars["cycles"], bars["share"], matrix)
    return write(f"measure_{name}", heading, draw, FIGURES)
