"""Locks by the number of cores and by the way between them."""

FACTS = {"many_cores"}  # of a database that has something of it
