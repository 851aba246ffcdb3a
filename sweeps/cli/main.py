"""The command line: its options, and how errors become one message and an exit code."""

import errno
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from results.errors import LockcrossError
from results.paths import WORK
from sweeps.cli.commands import Commands

VERSION = "0.1.0"  # as in CHANGELOG.md
_HELP = "Where reservation locks and asymmetric locks win, by CAS and fence latency."
INTERRUPTED = 130  # exit code, as a shell gives it for Ctrl-C


def make_app() -> typer.Typer:
    """All commands."""
    app = typer.Typer(
        name="lockcross",
        cls=Commands,
        help=_HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP)(_every)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from results.paths import ROOT
        from sweeps.support.revision import source_revision

        print(f"lockcross {VERSION}, {source_revision(ROOT)}")
        raise typer.Exit


def _every(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """What stands before a command."""


def main() -> int:
    """Runs the command line and returns its exit code: 2 a user's mistake, 1 a failed run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    for name in ("stdout", "stderr"):
        # Nobody reads closed output (`>&-`). Python has None for it, and the next file opened
        # would get its descriptor number.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        code = _run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader went away (`| head`)
        _write_nowhere()
    except OSError as error:
        _write_nowhere()
        _say(_os_error(error))
    return 1


def _write_nowhere() -> None:
    """What Python still wants to write to standard output goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> int:
    try:
        make_app()(prog_name="lockcross")
    except SystemExit as end:  # Typer ends this way, also after a message on an option
        code = end.code if isinstance(end.code, int) else 0
        if code == INTERRUPTED:
            _say("interrupted; finished work is kept, and the same command continues from there")
        return code
    except LockcrossError as error:
        _say(error.message)
        return error.exit_code
    except OSError as error:
        _say(_os_error(error))
        with suppress(OSError):
            sys.stdout.flush()
            return 1
        _write_nowhere()  # standard output itself cannot be written: one message
        return 1
    except Exception as error:
        if "LOCKCROSS_DEBUG" in os.environ:
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        _say(
            f"internal error: {type(error).__name__}: {error} "
            f"({Path(frame.filename).name}:{frame.lineno}); run it again with "
            "LOCKCROSS_DEBUG=1 in the environment to see the traceback"
        )
        return 1
    return 0


def _os_error(error: OSError) -> str:
    place = str(error.filename or "").removeprefix(f"{WORK}/")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"the disk is full{f' ({place})' if place else ''}; free some space and start again: "
            "finished work is kept"
        )
    return f"{place}: {error.strerror}" if place else str(error)


def _say(message: str) -> None:
    print(f"lockcross: {message}", file=sys.stderr)
