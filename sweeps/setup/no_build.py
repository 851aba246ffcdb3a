"""The module that pip and others import to build this tree, and that ends them: it is not
installed."""

import sys

sys.exit(
    "Lockcross is not installed with pip: run ./lockcross in this folder, which sets up the rest."
)
