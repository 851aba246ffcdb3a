"""`lockcross measure`: describes the host as a machine that every engine accepts."""

import re
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from results.errors import LockcrossError, writing
from results.text.rows import Form, Format, Rows, plain, print_parts
from sweeps.cli.options import Force, names_of, several
from sweeps.support.paths import MACHINES
from sweeps.support.text import quoted

_Jvms = Annotated[
    list[str] | None,
    several(
        "--jvms", "Programs `java` of HotSpot JVMs beside those that are found", default="none"
    ),
]
_NAME = r"[a-z][a-z0-9_]*"
_RESERVED = "host"  # what the machine of runs is called that no description has


def measure(
    name: Annotated[str, typer.Argument(help="The machine's name.")],
    output: Annotated[
        Path | None,
        typer.Option(help="The file to write; default: sweeps/machines/NAME.toml."),
    ] = None,
    jvms: _Jvms = None,
    force: Force = False,
) -> None:
    """Measure this host and write it as a machine that every engine accepts."""
    path = output or MACHINES / f"{name}.toml"
    _check(name, path, force)
    part = measurer()
    began = time.monotonic()
    measured = part.measure(_say, names_of(jvms, "--jvms"))
    try:
        text = part.document(measured, name, part.model(), datetime.now(tz=UTC))
    except ValueError as error:
        raise LockcrossError(
            f"the figures contradict one another, so nothing was written: {error}; stop what else "
            "runs here, and measure again",
            exit_code=1,
        ) from None
    with writing(path, "name another file with --output"):
        path.write_text(text, encoding="utf-8")
    records = [{"operation": name, **asdict(known)} for name, known in measured.found.items()]
    figures = {"figure": "{value:.4g}", "spread": "{spread:.2g}"}
    shown = plain("operation") | figures | plain("unit", "meaning")
    print_parts(Form.TABLE, Rows(records, shown), fold=False)
    if len(measured.matrix) > 1:
        for (first, other), cycles in measured.matrix.items():
            print(f"hand-over between CPUs {first} and {other}: {median(cycles):.0f} cycles")
    for why in (*measured.notes, *(f"{n} left out: {w}" for n, w in measured.left_out.items())):
        print(why)
    print(f"machine: {path}")
    print(f"measured in {time.monotonic() - began:.0f} s")


def stops(jvms: _Jvms = None, form: Format = Form.TABLE) -> None:
    """Measure what stopping a thread takes on this host, by how it is done and what it does."""
    measured = measurer().measure_stops(_say, names_of(jvms, "--jvms"))
    records = []
    for stop in measured.stops:
        finding = measured.found.get(stop.name)
        known = {"mechanism": stop.mechanism, "state": stop.state, **stop.distribution()}
        records.append(known | {"cycles": finding and finding.value, "meaning": stop.meaning})
    ns = {name: f"{{{name}:,.0f}}" for name in ("least", "median", "percentile_99", "apart")}
    cycles = {"cycles": lambda row: f"{row['cycles']:,.0f}" if row["cycles"] else "too noisy"}
    shown = plain("mechanism", "state") | ns | cycles
    print_parts(
        form,
        Rows(
            records,
            shown,
            "ns of stops; cycles of the median, and of a line's way between the CPUs (apart)",
        ),
    )
    if form == Form.TABLE:
        for mechanism, meaning in {stop.mechanism: stop.meaning for stop in measured.stops}.items():
            print(f"{mechanism}: {meaning}")
    for why in (*measured.notes, *(f"{n} left out: {w}" for n, w in measured.left_out.items())):
        print(why, file=sys.stderr)


def _say(what: str) -> None:
    print(f"measuring: {what}", file=sys.stderr, flush=True)


def _check(name: str, path: Path, force: bool) -> None:
    """Raise LockcrossError for a name or a file that cannot be, before anything is measured."""
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
    """Return the engine's part that measures this host. Raises LockcrossError without one."""
    from sweeps.engines.base import Measuring, load_engine
    from sweeps.model.engines import ENGINES

    for engine in ENGINES:
        if isinstance(adapter := load_engine(engine.label), Measuring):
            return adapter.measurer()
    raise LockcrossError("no engine runs on the host itself", exit_code=1)
