"""Published experiments run again: their numbers and ours."""

GROUP = "Get an answer"
COMMANDS = {
    "reproduce": (
        "command",
        "Run the experiments of the sources and print published and simulated numbers side by "
        "side.",
        "reproduce k_rounds",
    ),
}
FACTS = {"reproduction", "overtake"}  # of a database that has something of it
