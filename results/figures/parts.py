"""What several figures share."""

from matplotlib import patheffects

HALO = [patheffects.withStroke(linewidth=2.5, foreground="white")]  # of text over lines
