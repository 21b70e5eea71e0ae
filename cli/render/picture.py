"""A picture drawn on a terminal: each character is two pixels, one above the other."""

from __future__ import annotations

import io

from PIL import Image, ImageChops, ImageEnhance, ImageFilter, UnidentifiedImageError
from rich.color import Color
from rich.style import Style
from rich.text import Text

HALF_BLOCK = "▀"
MOST_PIXELS = 50_000_000
"""A file with more pixels is not opened. Plots are far smaller."""


def picture(data: bytes, columns: int, rows: int) -> Text | None:
    """The picture in `columns` x `rows` characters; None for bytes that are not a picture."""
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF")) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return None
            image = _without_margin(_on_white(opened))
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        return None
    scale = min(columns / image.width, rows * 2 / image.height)
    width = max(int(image.width * scale), 1)
    height = max(int(image.height * scale) // 2 * 2, 2)
    return _drawn(_strong(image, 1 / scale).resize((width, height), Image.Resampling.BOX))


def _strong(image: Image.Image, shrunk: float) -> Image.Image:
    """Thick and saturated: thin lines and small marks on white would fade to nothing."""
    reach = int(shrunk / 3) // 2 * 2 + 1
    thick = image.filter(ImageFilter.MinFilter(reach)) if reach > 1 else image
    return ImageEnhance.Color(thick).enhance(1.6)


def _without_margin(image: Image.Image) -> Image.Image:
    white = Image.new("RGB", image.size, "white")
    return image.crop(ImageChops.difference(image, white).getbbox())


def _on_white(opened: Image.Image) -> Image.Image:
    image = opened.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def _drawn(image: Image.Image) -> Text:
    pixels = image.tobytes()
    text = Text(no_wrap=True)
    for top in range(0, image.height, 2):
        if top:
            text.append("\n")
        for column in range(image.width):
            upper, lower = (
                Color.from_rgb(*pixels[at : at + 3])
                for at in (
                    (top * image.width + column) * 3,
                    ((top + 1) * image.width + column) * 3,
                )
            )
            text.append(HALF_BLOCK, Style(color=upper, bgcolor=lower))
    return text
