"""The programs that run the cells: how each is compiled, and where it is kept."""
