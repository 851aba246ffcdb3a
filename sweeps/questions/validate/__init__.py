"""How far an engine is off, held to another."""

GROUP = "Answers"
COMMANDS = {
    "validate": ("command", "Compare an engine with a reference engine, side by side; needs both."),
}
