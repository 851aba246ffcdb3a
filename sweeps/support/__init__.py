"""Where things lie, reading files that others wrote, words for people."""
