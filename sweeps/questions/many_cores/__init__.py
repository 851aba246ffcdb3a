"""Locks by the number of cores and by the way between them."""
