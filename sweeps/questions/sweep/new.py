"""`lockcross new`: files to start from."""

import itertools
import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from results.errors import LockcrossError, check_known, writing
from sweeps.cli import options
from sweeps.cli.options import Force
from sweeps.support.text import quoted

_TEMPLATES = Path(__file__).parent / "templates"
_NAME = r"\w[\w-]*"

Name = Annotated[str, typer.Argument(help="Its name: letters, digits, _ and -.")]
Output = Annotated[
    Path | None, typer.Option(help="The file to write; default: NAME.toml.", dir_okay=False)
]
new = typer.Typer(
    help="Write a file to start from: a machine, a plan or a study of your own.",
    no_args_is_help=True,
)


@new.command()
def machine(
    name: Name,
    origin: Annotated[
        str,
        options.option("The machine to copy (see `machines`).", options.machines, "--from"),
    ] = "generic",
    output: Output = None,
    force: Force = False,
) -> None:
    """Write a machine file: a copy of a machine, to be changed."""
    from sweeps.model.machine import Machine, load_machine, machine_names
    from sweeps.support.paths import MACHINES
    from sweeps.support.toml import parse

    check_known("machine", [origin], machine_names())
    lines = (MACHINES / f"{origin}.toml").read_text(encoding="utf-8").splitlines()
    about = itertools.takewhile(lambda line: line.startswith("#"), lines)
    known = load_machine(origin)
    copy = known.model_copy(update={"name": name, "title": f"{name}, from: {known.title}"})
    text = "\n".join([_template("machine").replace("FROM", origin), *about, copy.as_toml()])
    _write(name, text, output, force, partial(parse, Machine), "calibrate {}")


@new.command()
def plan(name: Name, output: Output = None, force: Force = False) -> None:
    """Write a plan: the axes of a sweep."""
    from sweeps.study.plan import parse_plan

    _write(name, _template("plan"), output, force, parse_plan, "sweep {}")


@new.command()
def study(name: Name, output: Output = None, force: Force = False) -> None:
    """Write a study: winner maps and crossovers of a machine."""
    from sweeps.study.plan import parse_plan

    then = f"crossover --study {{}} --db {name}.db"
    _write(name, _template("study"), output, force, parse_plan, then)


def _template(kind: str) -> str:
    return (_TEMPLATES / f"{kind}.toml").read_text(encoding="utf-8")


def _write(
    name: str, text: str, output: Path | None, force: bool, read: Callable[[str], object], then: str
) -> None:
    """Write a file of the user's own, once it has been read as one, print its path, and say
    which command takes it. Raises LockcrossError."""
    from sweeps.support.toml import is_path

    if not re.fullmatch(_NAME, name, re.ASCII):
        raise LockcrossError(f"name {quoted(name)}: letters, digits, _ and - are allowed")
    file = output or Path(f"{name}.toml")
    words = text.replace("NAME", name).replace("FILE", str(file))
    read(words)
    if file.exists() and not force:
        raise LockcrossError(f"{file}: is there already; --force writes over it")
    with writing(file, "name another file with --output"):
        file.write_text(words, encoding="utf-8")
    print(file)
    path = str(file) if is_path(str(file)) else f"./{file}"
    print(f"next: ./lockcross {then.format(shlex.quote(path))}", file=sys.stderr)
