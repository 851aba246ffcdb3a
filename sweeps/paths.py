"""Places in the tree."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ROOT / "sweeps" / "machines"
PLANS = ROOT / "sweeps" / "plans"
LOCKS_DEF = ROOT / "lockimpl" / "locks.def"
RUN_FOLDERS = ROOT / "build" / "runs"  # one of each driver, by its process number
KEPT_FOLDERS = ROOT / "build" / "kept-runs"
BINARIES = ROOT / "build" / "bin"
ENGINE_SOURCES = ROOT / "qemu-timing" / "src"
ENGINE_PLUGIN = ROOT / "build" / "qemu-timing" / "liblockcross-timing.so"
GEM5_CONFIGS = ROOT / "gem5-configs"
GEM5_PROBES = ROOT / "build" / "gem5"  # what the litmus runs of each gem5 showed
DATABASE = ROOT / "results" / "output" / "lockcross.db"
