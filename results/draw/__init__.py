"""Drawing: how figures look, and how they become files."""
