"""Places in the tree."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINES = ROOT / "sweeps" / "machines"
PLANS = ROOT / "sweeps" / "plans"
LOCKS_DEF = ROOT / "lockimpl" / "locks.def"
BINARIES = ROOT / "build" / "bin"
ENGINE_SOURCES = ROOT / "qemu-timing" / "src"
ENGINE_PLUGIN = ROOT / "build" / "qemu-timing" / "liblockcross-timing.so"
DATABASE = ROOT / "results" / "output" / "lockcross.db"
