"""Studies of cells: figures and tables as their plans say."""

FACTS = {"study"}  # of a database that has something of it
