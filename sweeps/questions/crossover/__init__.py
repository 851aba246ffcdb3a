"""The main job: where one lock starts to beat another, and who wins between."""

GROUP = "Get an answer"
COMMANDS = {
    "crossover": (
        "command",
        "The main job: measure, find the crossovers, draw the figures, write the report.",
        "crossover --quick",
        "query winners{db}\nserve{db}",
    ),
}
