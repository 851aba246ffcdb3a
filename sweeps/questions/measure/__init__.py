"""What operations cost on this host."""

GROUP = "Runs"
COMMANDS = {
    "measure": (
        "command",
        "Measure this host and write it as a machine that every engine accepts.",
    ),
}
