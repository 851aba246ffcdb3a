"""`lockcross record`: runs a Java, C or C++ program and records its locks."""

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from results.errors import LockcrossError, writing
from sweeps.cli.options import Force
from sweeps.questions.record.jvm import Launch, recorded
from sweeps.questions.record.preload import library, preloaded
from sweeps.questions.record.watch import Watch, signal_name, why_nothing

_SUFFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LEAST = 10**6  # bytes of a log
_MOST_SAMPLE = 2**20
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGNALLED = 128  # exit codes of programs that a signal has ended begin behind it


def record(
    command: Annotated[
        list[str], typer.Argument(help="The program, behind --: java -jar app.jar ARGUMENTS")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path(
        "program.locks"
    ),
    most: Annotated[
        str,
        typer.Option(
            help="Recording ends when the log has so many bytes: 500M, 2G; a lock and unlock "
            "takes 32. The program goes on."
        ),
    ] = "2G",
    sample: Annotated[
        int,
        typer.Option(help="Record one of so many objects, whole: 1, 2, 4, ... (powers of two)."),
    ] = 1,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Run the program without recording first, to know the slow-down."
        ),
    ] = False,
    force: Force = False,
    pthread: Annotated[
        bool,
        typer.Option(
            "--pthread", help="Record the pthread mutexes of a C or C++ program (docs/pthread.md)."
        ),
    ] = False,
) -> None:
    """Run a Java program and record every operation on its monitors.

    Any JVM from Java 11 on; with --pthread the mutexes of a C or C++ program. The log is for
    `locality` and `advise --log`. Ends with the program's own exit code.
    """
    if not 1 <= sample <= _MOST_SAMPLE or sample.bit_count() != 1:
        raise LockcrossError(f"--sample {sample}: a power of two is expected, e.g. 16")
    log = output.absolute()
    options = f"most={_bytes(most)};sample={sample};output={log}"
    if pthread and sample != 1:
        raise LockcrossError("--sample is of Java programs; with --pthread every lock is recorded")
    watch = Watch() if pthread else None
    try:
        program = (
            preloaded(command, log, _bytes(most), watch.path)
            if watch
            else recorded(command, options)
        )
        _make_room(log, force)
        bare = tuple(word for word in program.command if not word.startswith("-javaagent:"))
        plain = _run(Launch(bare, {}))[1] if compare else None
        if watch:
            _adopt()
        begun = time.time()
        code, seconds = _run(program)
        check_written(log, output, code, watch)
        if watch:
            _say_what_was_seen(watch, log, program, code)
    finally:
        if watch:
            watch.close()
    if not log.exists():
        _say(
            f"{output}: no JVM has recorded: the program ended with code {code} before one began, "
            "or it starts none, or clears JAVA_TOOL_OPTIONS"
        )
        raise typer.Exit(code or 1)
    from sweeps.lock_logs.log import add_line
    from sweeps.questions.record.cost import cost_line  # once the program has ended: it is large

    # Logs of earlier runs may lie there, too.
    logs = [path for path in log.parent.glob(f"{log.name}.*[0-9]") if begun <= path.stat().st_mtime]
    if pthread:
        from sweeps.questions.record.places import add_lines

        add_lines(log, *logs)
    # A program that a signal has ended is one that its user wants to be done with.
    if code < _SIGNALLED and (cost := cost_line(log, pthread)) is not None:
        add_line(log, cost)
    if plain is not None:
        add_line(log, {"cpu_plain": plain, "cpu_recorded": seconds})
        _say(
            f"{seconds:.1f} s of CPU time with recording, {plain:.1f} s without: "
            f"{seconds / plain:.2f} times"
            if plain
            else "too short to compare"
        )
    if code:
        by = f" ({signal_name(code)})" if code > _SIGNALLED else ""
        _say(f"the program ended with code {code}{by}; {output} has what it did until then")
    if logs and not pthread:
        names = ", ".join(sorted(path.name for path in logs))
        _say(f"further processes of the program have logs: {names}")
    raise typer.Exit(code)


def _say_what_was_seen(watch: Watch, log: Path, program: Launch, code: int) -> None:
    """Print a summary, and end with the program's code, or with 1, where nothing was recorded."""
    for line in watch.summary(log, library()):
        _say(line)
    if "ASAN_OPTIONS" in program.environment:
        _say("AddressSanitizer was told by ASAN_OPTIONS not to ask for the first place")
    if not log.exists():
        why = why_nothing(watch.lines(), code)
        _say(f"{log}: nothing was recorded; the program ended with code {code}: {why}")
        raise typer.Exit(code or 1)


def _adopt() -> None:
    """Adopt the processes that the program leaves behind, and reap them: not every container has a
    first process that does."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip().upper())
    size = int(float(found[1]) * _SUFFIXES[found[2]]) if found else 0
    if size < _LEAST:
        raise LockcrossError(f"--most {text}: a size of 1M or more is expected, e.g. 500M or 2G")
    return size


def _make_room(log: Path, force: bool) -> None:
    """Raise LockcrossError where the log cannot be."""
    if not log.parent.is_dir():
        raise LockcrossError(f"--output {log}: the folder does not exist")
    if log.exists() and not (force and log.is_file()):
        raise LockcrossError(f"--output {log}: exists; --force replaces it, or name another file")
    with writing(f"--output {log}"):
        log.open("wb").close()
        log.unlink()


def check_written(log: Path, output: Path, code: int, watch: "Watch | None") -> None:
    """Remove a log of which nothing could be written. Raises LockcrossError for one."""
    if watch:
        watch.wait()
    if log.exists() and not log.stat().st_size:
        full = not shutil.disk_usage(log.parent).free
        log.unlink()
        why = "its disk is full" if full else "nothing could be written"
        raise LockcrossError(
            f"{output}: {why}, so there is no log; the program ended with code {code}", code or 1
        )


def _run(program: Launch) -> tuple[int, float]:
    """Run a program to its end; return its exit code, and the seconds of CPU time that it took.
    Ctrl-C is for the program alone, which the log survives."""
    before = _cpu()
    ignored = (signal.SIGINT, signal.SIGQUIT)
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        process = subprocess.Popen(
            program.command,
            env=_environment(program.environment),
            preexec_fn=_in_the_program,  # noqa: PLW1509 no thread is here
        )
        handlers[signal.SIGTERM] = signal.signal(
            signal.SIGTERM, lambda *_: os.kill(process.pid, signal.SIGTERM)
        )
        code = _end_of(process)
    except OSError as error:
        raise LockcrossError(f"{program.command[0]}: {error.strerror}") from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return (code if code >= 0 else _SIGNALLED - code), _cpu() - before


def _end_of(process: subprocess.Popen[bytes]) -> int:
    while True:
        ended, status = os.wait()
        if ended == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's variables, without those that its launcher has set for Python, and
    more: behind a variable's present value, unless it is one of Lockcross."""
    ours = ("PYTHONPATH", "PYTHONPYCACHEPREFIX")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    for name, value in more.items():
        before = "" if name.startswith("LOCKCROSS_") else environment.get(name, "")
        environment[name] = f"{before} {value}".strip()
    return environment


def _in_the_program() -> None:
    # It is told to end when this process is killed.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(message: str) -> None:
    print(f"lockcross: {message}", file=sys.stderr)
