"""Figures in few colours: as a page holds them, so that it is one file, and as documents do."""

import base64
import io
from pathlib import Path

from PIL import Image

from results.errors import writing

_COLOURS = 256


def embedded(png: Path) -> str:
    """Return a figure's PNG as an address that holds it: lossless WebP, a sixth of the size of the
    PNG or the SVG. The same bytes for the same PNG."""
    data = io.BytesIO()
    _few_colours(png).convert("RGB").save(data, "WEBP", lossless=True, quality=80, method=4)
    return f"data:image/webp;base64,{base64.b64encode(data.getvalue()).decode()}"


def copy(png: Path, to: Path) -> None:
    """Write a figure's PNG as a smaller one. Raises LockcrossError where it cannot be written."""
    with writing(to, "check its permissions"):
        _few_colours(png).save(to, "PNG", optimize=True)


def _few_colours(png: Path) -> Image.Image:
    with Image.open(png) as image:
        # An octree keeps the colours of small fields and thin letters; a median cut does not.
        return image.convert("RGB").quantize(
            _COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
        )
