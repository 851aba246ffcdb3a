"""The cost of every lock in each setting of a plan."""

GROUP = "Run cells"
COMMANDS = {
    "sweep": (
        "command",
        "Run the cells of a plan that are not in the database yet, and say which locks win.",
        "sweep contended",
        {
            "dry_run": "sweep {plan}{db}",
            "": "report --plan {plan}{db}",
        },
    ),
    "build": (
        "command",
        "Build the programs that a plan runs.",
        "build smoke",
        "sweep {plan}",
    ),
    "compare": (
        "command",
        "Compare the costs of a plan's runs along an axis: the median, and the band over the "
        "seeds.",
        "compare --plan contended --along threads",
        "report --plan {plan}{db}",
    ),
    "new": (
        "new",
        "Write a file to start from: a machine, a plan or a study of your own.",
        "new plan mine",
        "",
    ),
}
