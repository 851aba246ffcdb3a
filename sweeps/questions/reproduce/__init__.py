"""Published experiments run again: their numbers and ours."""

GROUP = "Get an answer"
COMMANDS = {
    "reproduce": (
        "command",
        "Run the experiments of the sources and print published and simulated numbers side by "
        "side.",
        "reproduce k_rounds",
        {"list_them": "reproduce k_rounds", "dry_run": "reproduce k_rounds{db}", "": "report{db}"},
    ),
}
FACTS = {"reproduction", "overtake"}  # of a database that has something of it
