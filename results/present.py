"""The end of a job: draw the figures, write the report, say who wins."""

from pathlib import Path


def present(db: Path, output: Path, root: Path) -> None:
    """Draws and writes into `output`, then prints the winner table and the paths, shown relative
    to `root` where they lie inside it. Raises StoreError, FigureError, ReportError."""
    print(db, output, root)
