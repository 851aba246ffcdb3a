"""The grid behind the report's interactive map."""

GROUP = "Get an answer"
COMMANDS = {
    "explore": (
        "command",
        "Run the grid over CAS, fence, cancellation and owner's share that the report's map shows.",
        "explore --machines zen4",
        "advise --machines zen5 --shared-objects 0.001",
    ),
}
