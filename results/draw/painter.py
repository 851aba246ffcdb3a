"""Write figures as PNG, SVG and PDF, the same bytes for the same data: as wide as a paper's column
or page, with letters of 7 points."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from results.errors import LockcrossError, writing, writing_whole

mpl.use("Agg")


COLUMN, PAGE = 85 / 25.4, 178 / 25.4  # inches: the width of a paper's column, and of two
HALO = [patheffects.withStroke(linewidth=1.8, foreground="white")]  # of text over lines

# Of bars: thin lines around them, by which hatches stand apart.
EDGED: dict[str, Any] = {"edgecolor": "#333333", "linewidth": 0.4}


def sign(label: str, **look: Any) -> Line2D:
    """Return a line or a mark of a figure's key."""
    return Line2D([], [], label=label, **look)


def note(
    ax: Axes, text: str, at: tuple[float, float], beside: tuple[float, float], **look: Any
) -> None:
    """Return a text beside a point, so many points (width, height) away."""
    ax.annotate(text, at, xytext=beside, textcoords="offset points", **look)


def panels(
    count: int, columns: int, height: float, more: float = 0.0, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure of `count` panels, `columns` at most beside one another, and its axes; those
    behind the panels are empty. It is as wide as a paper's column, with several beside one another
    as its page. `height`: of a panel, and `more`: below all of them, in inches."""
    columns = min(columns, count)
    rows = -(-count // columns)
    size = (COLUMN if columns == 1 else PAGE, height * rows + more)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flatten())
    for ax in axes[count:]:
        ax.axis("off")
    return figure, axes


def write(name: str, title: str, draw: Callable[[], Figure], folder: Path) -> Path:
    """Draw a figure and write it into `folder`, as a file of each kind; return the PNG's path.

    All have the places of axes and texts that were worked out for the PNG. Raises LockcrossError
    where they cannot be written, and each error of `draw`.
    """
    path, advice = folder / f"{name}.png", "name another folder with --output"
    with mpl.rc_context({"backend": "Agg", **RC}):
        figure = draw()
        with writing(path, advice):
            folder.mkdir(parents=True, exist_ok=True)
        # Figure.savefig would work the places out, and draw everything unseen, for each file.
        figure.set_dpi(DPI)
        with writing_whole(path, advice) as part:
            FigureCanvasAgg(figure).print_png(  # type: ignore[no-untyped-call]
                part, metadata={"Software": ""}
            )
        figure.set_layout_engine("none")
        with writing_whole(path.with_suffix(".svg"), advice) as part:
            FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
                part, metadata={"Date": None, "Title": title}
            )
        with writing_whole(path.with_suffix(".pdf"), advice) as part:
            FigureCanvasPdf(figure).print_pdf(  # type: ignore[no-untyped-call]
                part, metadata={"CreationDate": None, "Title": title}
            )
    return path


# The kinds of files that a figure is written into, and what stands in them that would be another
# each time.
KINDS = {".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}


def check_file(path: Path) -> None:
    """Raise LockcrossError for a file that no figure can be written into."""
    if path.suffix not in KINDS:
        raise LockcrossError(f"--figure {path}: a name that ends in {', '.join(KINDS)} is expected")
    if not path.parent.is_dir():
        raise LockcrossError(f"--figure {path}: there is no such folder")


def save(file: Path, draw: Callable[[], Figure]) -> None:
    """Draw a figure into one file, of the kind that its ending names. Raises LockcrossError where
    it cannot be written."""
    with mpl.rc_context({"backend": "Agg", **RC}):
        figure = draw()
        with writing_whole(file) as part:
            figure.savefig(part, metadata={KINDS[file.suffix]: None})


DPI = 200  # of PNGs: sharp on a screen; paper has SVG and PDF

RC: dict[Any, Any] = {  # what Matplotlib takes; its own type lists every key
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.titleweight": "bold",
    "axes.titlepad": 4,
    "axes.labelpad": 2,
    "axes.linewidth": 0.6,
    "figure.titlesize": 7,
    "figure.labelsize": 7,
    "figure.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "pdf.fonttype": 42,  # letters, not curves
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.major.pad": 2,
    "ytick.major.pad": 2,
    "hatch.linewidth": 0.5,
    "hatch.color": "#00000040",
    "svg.hashsalt": "lockcross",  # the same data give the same bytes
    "savefig.dpi": DPI,
}
