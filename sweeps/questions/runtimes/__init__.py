"""What those who work on runtimes ask about locks, answered by runs."""

GROUP = "Answers"
COMMANDS = {
    "runtimes": ("command", "Answer questions that runtimes' engineers have asked about locks."),
}
