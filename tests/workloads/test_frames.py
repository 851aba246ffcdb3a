"""Where thread 0's stack lies in cache lines, which all its cycles depend on: its frames lie below
that of `runtime_main`, which begins where a line does, and move when one gets another size."""

from pathlib import Path

import pytest

from results.paths import ROOT
from sweeps.programs import TARGETS, Program, find_compiler
from sweeps.support import tools
from tests.locks.footprint_values import REFERENCE, compiler

FRAMES = {
    "lock": {"runtime_main": 112, "participate": 32},
    "larx": {"runtime_main": 144, "participate": 64},
    "lse": {"runtime_main": 96, "participate": 64},
    "llsc": {"runtime_main": 96, "participate": 64},
}  # bytes


def frames(program: Program, folder: Path) -> dict[str, int]:
    """Function of the runtime -> bytes of its frame."""
    made = program.command(find_compiler(program.flavour), str(folder / "program"))
    done = tools.run([*made, "-fstack-usage"], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    said = (folder / "program-runtime.su").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in said.splitlines()]
    return {place.rpartition(":")[2]: int(size) for place, size, _ in rows}


@pytest.mark.skipif(compiler() != REFERENCE, reason=f"the layout is that of {REFERENCE}")
@pytest.mark.parametrize("flavour", list(TARGETS))
def test_the_frames_above_a_workload_are_those_of_the_results(flavour: str, tmp_path: Path) -> None:
    found = frames(Program("threads", "thin", "full", flavour), tmp_path)
    assert {name: found[name] for name in FRAMES[flavour]} == FRAMES[flavour], (
        "a function of the runtime has another stack frame: thread 0's frames below it move"
    )
