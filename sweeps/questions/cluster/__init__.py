"""The nodes of a cluster."""

GROUP = "Run cells"
COMMANDS = {
    "cluster": (
        "command",
        "Look at a cluster.",
        "cluster check sweeps/clusters/site.toml",
        "sweep smoke --cluster {file}",
    ),
}
