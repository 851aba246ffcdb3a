"""Places in the tree."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ROOT / "sweeps" / "machines"
PLANS = ROOT / "sweeps" / "plans"
LOCKS_DEF = ROOT / "lockimpl" / "locks.def"
RUN_FOLDERS = ROOT / "build" / "runs"  # one of each driver, by its process number
BINARIES = ROOT / "build" / "bin"
ENGINE_SOURCES = ROOT / "qemu-timing" / "src"
ENGINE_PLUGIN = ROOT / "build" / "qemu-timing" / "liblockcross-timing.so"
DATABASE = ROOT / "results" / "output" / "lockcross.db"
