"""The grid behind the report's interactive map."""

GROUP = "Answers"
COMMANDS = {
    "explore": (
        "command",
        "Run the grid over CAS, fence, cancellation and owner's share that the report's map shows.",
    ),
}
