"""How far an engine is off, held to another."""

GROUP = "Get an answer"
COMMANDS = {
    "validate": (
        "command",
        "Compare an engine with a reference engine, side by side; needs both.",
        "validate --against native",
        {"errors": "answer", "": "query validation{db}"},
    ),
}
FORMER = {"--set": "--subsets"}
