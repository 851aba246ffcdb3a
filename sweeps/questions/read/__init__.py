"""The contents of the database: queries, runs, exports, figures, the report, a browser."""

GROUP = "Read results"
COMMANDS = {
    "query": (
        "results",
        "Query the database with SQL or a named query. Nothing can be changed.",
        "query winners",
        {"list_them": "query winners", "": "export runs.csv{db}"},
    ),
    "export": (
        "results",
        "Write runs with their metrics, or a table, as CSV, JSON or Parquet.",
        "export runs.csv",
        "query --units",
    ),
    "show": (
        "results",
        "Show everything about a run, and the command that repeats it.",
        "show 1",
        "runs{db}",
    ),
    "figures": (
        "results",
        "Draw the figures from the database (PNG and SVG).",
        "figures",
        "report{db}",
    ),
    "report": (
        "results",
        "Draw the figures and write the report from the database: one HTML page.",
        "report",
        "serve{db}",
    ),
    "runs": (
        "runs",
        "List runs, the latest first: their costs, and what they differ in.",
        "runs --lock tasuki --limit 10",
        "show 1{db}",
    ),
    "serve": (
        "serve",
        "Show the database in a web browser, on this machine alone. Ctrl-C ends it.",
        "serve",
        "",
    ),
}
