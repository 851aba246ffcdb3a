"""For developers: tests, checks, Python."""

GROUP = "Work on Lockcross"
COMMANDS = {
    "test": (
        "command",
        "Run all tests: the engine's unit tests in C++, then pytest.",
        "test tests/locks",
        "",
    ),
    "check": (
        "command",
        "Run all linters: ruff, mypy, clang-format.",
        "check",
        "test tests/tree",
    ),
    "python": (
        "command",
        "Run Python with the packages, the tree and the QEMU that Lockcross uses.",
        "python -m tests.requirements --keep",
        "",
    ),
}
