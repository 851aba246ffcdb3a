"""Recording a Java program's use of its locks, as it runs."""

GROUP = "Get an answer"
COMMANDS = {
    "record": (
        "command",
        "Run a Java program and record every operation on its monitors.",
        "record --output app.locks -- java -jar app.jar",
        "advise --machines zen5 --log {output}\nlocality --sites {output}",
    ),
}
