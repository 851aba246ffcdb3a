"""What the database holds: queries, runs, exports, figures, the report, a browser."""

GROUP = "Results"
COMMANDS = {
    "query": ("results", "Query the database with SQL or a named query. Nothing can be changed."),
    "export": ("results", "Write runs with their metrics, or a table, as CSV, JSON or Parquet."),
    "show": ("results", "Show everything about a run, and the command that repeats it."),
    "figures": ("results", "Draw the figures from the database (PNG and SVG)."),
    "report": (
        "results",
        "Draw the figures and write the report from the database: one HTML page.",
    ),
    "runs": ("runs", "List runs, the latest first: their costs, and what they differ in."),
    "serve": (
        "serve",
        "Show the database in a web browser, on this machine alone. Ctrl-C ends it.",
    ),
}
