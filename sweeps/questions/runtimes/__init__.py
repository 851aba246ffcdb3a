"""What those who work on runtimes ask about locks, answered by runs."""

GROUP = "Get an answer"
COMMANDS = {
    "answer": (
        "summary",
        "Print what came of it all, and how reliable that is.",
        "answer",
        "runtimes",
    ),
    "runtimes": (
        "command",
        "Answer questions that runtimes' engineers have asked about locks.",
        "runtimes",
        {"list_them": "runtimes mutexes", "dry_run": "runtimes mutexes{db}", "": "query costs{db}"},
    ),
}
