"""The questions: a folder each, with all that a question needs."""
