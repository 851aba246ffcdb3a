"""Proofs of the locks: which there are, how they are made, what came of them."""

GROUP = "Answers"
COMMANDS = {
    "prove": (
        "command",
        "Prove the locks under memory models: exclusion, no race, no lost update, no lost wake-up.",
    ),
}
