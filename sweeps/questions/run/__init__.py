"""What one cell costs, and what a machine's operations do."""

GROUP = "Runs"
COMMANDS = {
    "run": ("command", "Run one cell and print its cost and what it assumed."),
    "calibrate": (
        "command",
        "Measure what atomics, fences and charges cost on a machine, and store it.",
    ),
}
