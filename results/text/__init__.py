"""Rows of numbers as tables, CSV and JSON; text for a terminal."""
