"""Places that the driver reads from and writes to."""

from results.paths import ROOT, WORK

CLUSTERS = ROOT / "sweeps" / "clusters"
MACHINES = ROOT / "sweeps" / "machines"
LOCKS_DEF = ROOT / "lockimpl" / "locks.def"
WORKLOADS_DEF = ROOT / "workloads" / "workloads.def"
OPTIONS_DEF = ROOT / "qemu-timing" / "src" / "base" / "options.def"
KERNELS = ROOT / "workloads" / "kernels"
RUN_FOLDERS = WORK / "build" / "runs"  # one of each driver
OWN_MACHINES = WORK / "results" / "output" / "machines"  # copies of users' own files
KEPT_FOLDERS = WORK / "build" / "kept-runs"
BINARIES = WORK / "build" / "bin"
ENGINE_SOURCES = ROOT / "qemu-timing" / "src"
ENGINE_PLUGIN = WORK / "build" / "qemu-timing" / "liblockcross-timing.so"
