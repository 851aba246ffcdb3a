"""For developers: tests, checks, Python."""

GROUP = "For developers"
COMMANDS = {
    "test": ("command", "Run all tests: the engine's unit tests in C++, then pytest."),
    "check": ("command", "Run all linters: ruff, mypy, clang-format."),
    "python": (
        "command",
        "Run Python with the packages, the tree and the QEMU that Lockcross uses.",
    ),
}
