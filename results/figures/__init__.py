"""The figures, drawn from a database alone."""
