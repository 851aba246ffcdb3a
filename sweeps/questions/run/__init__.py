"""The cost of one cell, and of a machine's operations."""

GROUP = "Run cells"
COMMANDS = {
    "run": (
        "command",
        "Run one cell and print its cost and what it assumed.",
        "run --lock thin --workload sync iterations=1000",
        {"events": "locality {events}", "": "footprint {lock}"},
    ),
    "calibrate": (
        "command",
        "Measure what atomics, fences and charges cost on a machine, and store it.",
        "calibrate zen4",
        "advise --machines {machine}",
    ),
}
