"""How fast the embedded engine is on this machine, measured side by side in one run."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results import children
from results.errors import LockcrossError
from results.text.rows import FRAMED, Rows, plain
from sweeps.engines.qemu.engine import REPORT, find_qemu, guest_command, own_options, plugin_options
from sweeps.model.cell import Cell, arguments
from sweeps.model.isa import ISAS
from sweeps.programs import Builder, Program
from sweeps.support.paths import ENGINE_PLUGIN

NULL_PLUGIN = ENGINE_PLUGIN.with_name("liblockcross-null.so")
REPEATS = 3  # interleaved; the best counts, since the machine may be shared

# What each kind of core is built to reach, by cores (instructions or hand-overs a second; MB).
GOALS = {
    "generic": {1: 20e6, 2: 60e3, 8: 30e3},
    "generic_inorder": {1: 60e6, 2: 100e3, 8: 40e3},
}
MEMORY_GOAL_MB = 200
_INSTRUCTIONS = "instructions/s"
NOTE = (
    f"Best of {REPEATS} interleaved runs on one CPU, start of QEMU included; workload threads, "
    f"lock thin; the engine on machines {' and '.join(GOALS)}. MB: peak memory; goal: at most "
    f"{MEMORY_GOAL_MB}."
)


# A machine for each kind of core.
MODELS = {"out of order": "generic", "in order": "generic_inorder", "pipelined": "gem5_minor"}


def command(cell: Cell, binary: Path, **options: int) -> list[str]:
    """The command of a cell, with further options of the plugin."""
    return guest_command(cell, binary, plugin_options(cell) | options)


def without_engine(cell: Cell, binary: Path) -> list[str]:
    """The same program under QEMU with empty callbacks; of one thread, since threads that wait for
    each other would wait for time slices."""
    qemu = find_qemu(cell.isa).path
    return [qemu, "-plugin", f"file={NULL_PLUGIN}", str(binary), *arguments(cell)]


def counted(folder: Path) -> tuple[int, int]:
    """Instructions and hand-overs of the run whose report lies in a folder."""
    document = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return sum(core["instructions"] for core in document["cores"]), document["handovers"]


def bench(isas: Sequence[str]) -> Rows:
    """Instructions and hand-overs a second, and memory, for some instruction sets."""
    records: list[dict[str, Any]] = []
    for isa in isas:
        for threads, iterations in ((1, 2_000_000), (2, 20_000), (8, 500)):
            best = _best(isa, threads, iterations)
            # One thread executes the same instructions under each of them.
            instructions = max(sample.instructions for sample in best.values())
            for name, sample in best.items():
                done = instructions if threads == 1 else sample.handovers
                records.append(
                    {
                        "ISA": isa,
                        "cores": threads,
                        "run": name,
                        "seconds": sample.seconds,
                        "rate": done / sample.seconds,
                        "goal": GOALS.get(name, {}).get(threads),
                        "unit": _INSTRUCTIONS if threads == 1 else "hand-overs/s",
                        "MB": sample.memory_mb,
                    }
                )

    def per_second(record: Mapping[str, Any], which: str) -> str:
        """A rate in millions of instructions, or thousands of hand-overs."""
        if (rate := record[which]) is None:
            return ""
        return f"{rate / 1e6:.0f} M" if record["unit"] == _INSTRUCTIONS else f"{rate / 1e3:.0f} k"

    shown: dict[str, Any] = {
        **plain("ISA", "cores", "run"),
        "seconds": "{seconds:.2f}",
        "rate": lambda record: f"{per_second(record, 'rate')} {record['unit']}",
        "goal": lambda record: per_second(record, "goal"),
        "MB": "{MB:.0f}",
    }
    return Rows(records, shown, look=FRAMED)


@dataclass(frozen=True)
class Sample:
    """One run: seconds of wall time, peak memory in MB, and what the engine counted."""

    seconds: float
    memory_mb: float
    instructions: int = 0
    handovers: int = 0


def _run(command: Sequence[str], counts: bool) -> Sample:
    """Runs a command on one CPU, as the pool does. Raises LockcrossError when it fails."""
    cpu = str(min(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        nowhere: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        child = children.start(command, cpu, cwd=folder, stderr=subprocess.PIPE, env={}, **nowhere)
        assert child.stderr is not None
        complaint = child.stderr.read().decode(errors="replace").strip()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if child.returncode != 0:
            why = complaint or command[-1]
            raise LockcrossError(f"benchmark run failed: {why}", exit_code=1)
        return Sample(seconds, usage.ru_maxrss / 1024, *(counted(Path(folder)) if counts else ()))


def _best(isa: str, threads: int, iterations: int) -> dict[str, Sample]:
    """The fastest runs of the same program under QEMU alone, with empty callbacks, and with the
    engine on each machine."""
    program = Program("threads", "thin", "full", ISAS[isa].flavours[0])
    binary = Builder().build([program])[program].path
    qemu = find_qemu(isa).path
    argv = [str(binary), f"threads={threads}", f"iterations={iterations}"]
    commands = {}
    if threads == 1:  # spinning threads on one CPU: without the engine's turns only time slices
        commands["QEMU alone"] = [qemu, *argv]
        commands["empty callbacks"] = [qemu, "-plugin", f"file={NULL_PLUGIN}", *argv]
    for machine in GOALS:
        settings = ",".join(f"{k}={v}" for k, v in own_options(machine, isa).items())
        plugin = f"file={ENGINE_PLUGIN},out={REPORT},{settings}"
        commands[machine] = [qemu, "-plugin", plugin, *argv, "marker=syscall"]
    rounds = [
        {name: _run(command, name in GOALS) for name, command in commands.items()}
        for _ in range(REPEATS)
    ]
    return {
        name: min((timed[name] for timed in rounds), key=lambda timed: timed.seconds)
        for name in commands
    }
