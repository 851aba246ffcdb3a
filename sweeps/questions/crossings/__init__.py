"""Where two locks change places along one axis of a user's own."""

GROUP = "Get an answer"
COMMANDS = {
    "crossings": (
        "command",
        "Find where one lock starts to beat another along any numeric axis of any workload.",
        "crossings --locks thin,mcs --axis threads --low 2 --high 8",
        "query crossovers{db}",
    ),
}
FORMER = {"crossovers": "crossings", "--from": "--low", "--to": "--high"}
