"""Proofs of the locks: the list, how they are made, and their results."""

GROUP = "Get an answer"
COMMANDS = {
    "prove": (
        "command",
        "Prove the locks under memory models: exclusion, no race, no lost update, no lost wake-up.",
        "prove thin --models tso",
        {"mutants": "footprint thin", "": "prove thin --mutants"},
    ),
}
