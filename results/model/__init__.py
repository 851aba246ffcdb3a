"""The words that runs are stored under: cells and their axes, lock labels, engines."""
