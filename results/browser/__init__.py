"""The database in a web browser: Datasette's configuration, and how fast large databases are."""
