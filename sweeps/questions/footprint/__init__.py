"""What each uncontended path through a lock consists of."""

GROUP = "Answers"
COMMANDS = {
    "footprint": (
        "command",
        "Count what each uncontended path through a lock consists of, and the bytes of its state.",
    ),
}
