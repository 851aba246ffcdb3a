"""Where two locks change places along one axis of a user's own."""

GROUP = "Get an answer"
COMMANDS = {
    "crossovers": (
        "command",
        "Find where one lock starts to beat another along any numeric axis of any workload.",
        "crossovers --locks thin,mcs --axis threads --low 2 --high 8",
        "query crossovers{db}",
    ),
}
