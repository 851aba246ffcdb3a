"""Places in the tree, and in the folder that everything is made in."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Where all that is made goes: the tree itself, unless ./lockcross found that it cannot be written.
WORK = Path(os.environ.get("LOCKCROSS_WORK") or ROOT)
DATABASE = WORK / "results" / "output" / "lockcross.db"
PAPER = ROOT / "results" / "paper"
QUERIES = ROOT / "results" / "queries"
REFERENCE = ROOT / "results" / "reference"
