"""The cost of operations on this host."""

GROUP = "Run cells"
COMMANDS = {
    "measure": (
        "command",
        "Measure this host and write it as a machine that every engine accepts.",
        "measure mine",
        {
            "output": "advise --machines {output}",
            "": "validate --against native --machine {name}\nadvise --machines {name}",
        },
    ),
    "stops": (
        "command",
        "Measure what stopping a thread takes on this host, by how it is done and what it does.",
        "stops",
        {"": "measure mine"},
    ),
}
