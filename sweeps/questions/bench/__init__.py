"""How fast this machine is at it."""

GROUP = "Work on Lockcross"
COMMANDS = {
    "bench": (
        "command",
        "Measure speed on this machine.",
        "bench results",
        "doctor",
    ),
}
