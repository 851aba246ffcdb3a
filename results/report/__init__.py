"""The report and the tables for the terminal."""
