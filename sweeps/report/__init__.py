"""The figures and the report of a database, from all questions."""
