"""What the nodes of a cluster are like."""

GROUP = "Runs"
COMMANDS = {
    "cluster": ("command", "Look at a cluster."),
}
