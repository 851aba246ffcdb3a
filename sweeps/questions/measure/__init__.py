"""What operations cost on this host."""

GROUP = "Run cells"
COMMANDS = {
    "measure": (
        "command",
        "Measure this host and write it as a machine that every engine accepts.",
        "measure mine",
    ),
}
