"""Which lock on a processor, for a program."""

GROUP = "Answers"
COMMANDS = {
    "advise": (
        "command",
        "Say which lock is cheapest on a processor for a program, why, and what would change it.",
    ),
}
