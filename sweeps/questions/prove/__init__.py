"""Proofs of the locks: which there are, how they are made, what came of them."""

GROUP = "Get an answer"
COMMANDS = {
    "prove": (
        "command",
        "Prove the locks under memory models: exclusion, no race, no lost update, no lost wake-up.",
        "prove thin --models tso",
        {"mutants": "footprint thin", "": "prove thin --mutants"},
    ),
}
