"""Lists: locks, machines, workloads, plans, engines."""

GROUP = "See what there is"
COMMANDS = {
    "plans": (
        "command",
        "List the plans with their number of cells, and how many of them are refused.",
        "plans",
        "sweep smoke",
    ),
    "machines": (
        "machines",
        "List the machines, or every figure of one with its source or the reason for assuming it.",
        "machines zen5",
        {"name": "calibrate {name}", "options": "new machine mine", "": "machines zen5"},
    ),
    "locks": (
        "locks",
        "List the locks and how each can be built, or one with its source and variants.",
        "locks tasuki",
        {"name": "footprint {name}", "": "locks tasuki"},
    ),
    "workloads": (
        "workloads",
        "List the workloads, or one with its keys, defaults, bounds and rules.",
        "workloads sync",
        {"name": "run --lock thin --workload {name}", "": "workloads sync"},
    ),
    "doctor": (
        "command",
        "Show which engines and compilers are installed, their versions, and what is missing.",
        "doctor",
        "run --lock thin --workload sync",
    ),
}
