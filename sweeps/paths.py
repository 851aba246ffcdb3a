"""Places in the tree, and in the folder that everything is made in."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Where all that is made goes: the tree itself, unless ./lockcross found that it cannot be written.
WORK = Path(os.environ.get("LOCKCROSS_WORK") or ROOT)
MACHINES = ROOT / "sweeps" / "machines"
PLANS = ROOT / "sweeps" / "plans"
LOCKS_DEF = ROOT / "lockimpl" / "locks.def"
RUN_FOLDERS = WORK / "build" / "runs"  # one of each driver
KEPT_FOLDERS = WORK / "build" / "kept-runs"
BINARIES = WORK / "build" / "bin"
ENGINE_SOURCES = ROOT / "qemu-timing" / "src"
ENGINE_PLUGIN = WORK / "build" / "qemu-timing" / "liblockcross-timing.so"
GEM5_CONFIGS = ROOT / "gem5-configs"
GEM5_PROBES = WORK / "build" / "gem5"  # what the litmus runs of each gem5 showed
