"""Where two locks change places along one axis of a user's own."""

GROUP = "Answers"
COMMANDS = {
    "crossovers": (
        "command",
        "Find where one lock starts to beat another along any numeric axis of any workload.",
    ),
}
