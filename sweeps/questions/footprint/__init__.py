"""The operations of each uncontended path through a lock."""

GROUP = "Get an answer"
COMMANDS = {
    "footprint": (
        "command",
        "Count what each uncontended path through a lock consists of, and the bytes of its state.",
        "footprint thin tasuki --isa x86_64",
        "run --lock thin --workload sync",
    ),
}
