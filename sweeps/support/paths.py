"""Places that the driver reads from and writes to."""

from results.paths import ROOT, WORK

MACHINES = ROOT / "sweeps" / "machines"
PLANS = ROOT / "sweeps" / "plans"
STUDIES = ROOT / "sweeps" / "studies"
REPRODUCTIONS = ROOT / "sweeps" / "reproductions"
LOCKS_DEF = ROOT / "lockimpl" / "locks.def"
KERNELS = ROOT / "workloads" / "kernels"
RUN_FOLDERS = WORK / "build" / "runs"  # one of each driver
KEPT_FOLDERS = WORK / "build" / "kept-runs"
BINARIES = WORK / "build" / "bin"
ENGINE_SOURCES = ROOT / "qemu-timing" / "src"
ENGINE_PLUGIN = WORK / "build" / "qemu-timing" / "liblockcross-timing.so"
GEM5_CONFIGS = ROOT / "gem5-configs"
GEM5_PROBES = WORK / "build" / "gem5"  # what the litmus runs of each gem5 showed
