"""The page and the figures that lie in docs/, so that one can look before one runs.

`./lockcross python -m sweeps.report.documents` draws the main job's database anew where it has
changed, and puts its page and the figures that documents show into docs/.
"""

import shutil
from pathlib import Path

from results.draw.embedded import copy
from results.errors import writing
from results.paths import DATABASE, ROOT
from sweeps.report.report import write_all

PAGE = ROOT / "docs" / "report.html"
FIGURES = ROOT / "docs" / "figures"
SHOWN = ("processors", "decision_map", "winner_map", "rounds", "engines")


def write(db: Path = DATABASE) -> list[Path]:
    """Write the page and its figures into docs/ and return their paths. Raises LockcrossError."""
    page, figures = write_all(db, db.parent)
    with writing(PAGE, "check its permissions"):
        shutil.copyfile(page, PAGE)
    written = {name: FIGURES / f"{name}.png" for name in SHOWN if name in figures}
    for name, place in written.items():
        copy(figures[name], place)
    return [PAGE, *written.values()]


if __name__ == "__main__":
    for path in write():
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes")
