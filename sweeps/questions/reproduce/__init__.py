"""Published experiments run again: their numbers and ours."""

GROUP = "Answers"
COMMANDS = {
    "reproduce": (
        "command",
        "Run the experiments of the sources and print published and simulated numbers side by "
        "side.",
    ),
}
FACTS = {"reproduction", "overtake"}  # of a database that has something of it
