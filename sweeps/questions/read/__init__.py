"""What the database holds: queries, runs, exports, figures, the report, a browser."""

GROUP = "Read results"
COMMANDS = {
    "query": (
        "results",
        "Query the database with SQL or a named query. Nothing can be changed.",
        "query winners",
    ),
    "export": (
        "results",
        "Write runs with their metrics, or a table, as CSV, JSON or Parquet.",
        "export runs.csv",
    ),
    "show": (
        "results",
        "Show everything about a run, and the command that repeats it.",
        "show 1",
    ),
    "figures": (
        "results",
        "Draw the figures from the database (PNG and SVG).",
        "figures",
    ),
    "report": (
        "results",
        "Draw the figures and write the report from the database: one HTML page.",
        "report",
    ),
    "runs": (
        "runs",
        "List runs, the latest first: their costs, and what they differ in.",
        "runs --lock tasuki --limit 10",
    ),
    "serve": (
        "serve",
        "Show the database in a web browser, on this machine alone. Ctrl-C ends it.",
        "serve",
    ),
}
