"""The traces of runs: the database, its rows as text, how figures become files."""
