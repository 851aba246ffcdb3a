"""Questions of runtime engineers about locks, answered by runs."""

GROUP = "Get an answer"
COMMANDS = {
    "answer": (
        "summary",
        "Print the results, and how reliable they are.",
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
