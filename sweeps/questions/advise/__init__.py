"""Which lock on a processor, for a program."""

GROUP = "Get an answer"
COMMANDS = {
    "advise": (
        "command",
        "Say which lock is cheapest on a processor for a program, why, and what would change it.",
        "advise --machines zen5 --shared-objects 0.001",
        {"log": "locality --sites {log}", "": "record --output app.locks -- java -jar app.jar"},
    ),
}
