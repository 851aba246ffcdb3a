"""Figures as a page holds them, so that it is one file."""

import base64
import io
from pathlib import Path

from PIL import Image

_COLOURS = 128  # fewer take the colour from thin letters


def embedded(png: Path) -> str:
    """A figure's PNG as an address that holds it: lossless WebP of few colours, a fifth of what the
    PNG or the SVG takes. The same bytes for the same PNG."""
    with Image.open(png) as image:
        few = image.convert("RGB").quantize(
            _COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
        )
    data = io.BytesIO()
    few.convert("RGB").save(data, "WEBP", lossless=True, quality=80, method=4)
    return f"data:image/webp;base64,{base64.b64encode(data.getvalue()).decode()}"

