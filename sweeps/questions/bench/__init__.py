"""How fast this machine is at it."""

GROUP = "For developers"
COMMANDS = {
    "bench": ("command", "Measure speed on this machine."),
}
