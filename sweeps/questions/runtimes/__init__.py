"""What those who work on runtimes ask about locks, answered by runs."""

GROUP = "Get an answer"
COMMANDS = {
    "answer": (
        "in_short",
        "Say in five sentences what came of it all, and how sure that is.",
        "answer",
    ),
    "runtimes": (
        "command",
        "Answer questions that runtimes' engineers have asked about locks.",
        "runtimes",
    ),
}
