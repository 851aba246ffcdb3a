"""What every lock costs in each setting of a plan."""

GROUP = "Runs"
COMMANDS = {
    "sweep": (
        "command",
        "Run the cells of a plan that are not in the database yet, and say which locks win.",
    ),
    "build": ("command", "Build the programs that a plan runs."),
    "compare": (
        "command",
        "Compare the costs of a plan's runs along an axis: the median, and the band over the "
        "seeds.",
    ),
    "new": ("new", "Write a file to start from: a machine, a plan or a study of your own."),
}
