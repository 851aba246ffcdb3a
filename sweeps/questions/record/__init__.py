"""What a Java program does with its locks, as it runs."""

GROUP = "Answers"
COMMANDS = {
    "record": ("command", "Run a Java program and record every operation on its monitors."),
}
