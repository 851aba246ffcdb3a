"""How local the locks of a program are, and how contended."""

GROUP = "Get an answer"
COMMANDS = {
    "locality": (
        "command",
        "Measure contention and thread locality in logs of lock events.",
        "locality --sites app.locks",
        "advise --machines zen5 --log {files}",
    ),
}
