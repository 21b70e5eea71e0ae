"""Images of the work for models that take images."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage

from agents.ports import Workspace
from agents.state import State
from sandbox.protocol import MIB

_KINDS = ("image/png", "image/jpeg")
MOST_IMAGES = 4
MOST_BYTES = 1 * MIB
MOST_PIXELS = 2_048
"""The most pixels of each side. Providers count an image by its size
(`agents.models.token_bounds`)."""
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
"""The beginning of every PNG file; four bytes of width and four of height follow."""


_JPEG = b"\xff\xd8\xff"
_JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The kinds of segments of a JPEG file that have its height and its width, two bytes each."""


@dataclass(frozen=True, slots=True)
class Image:
    """A PNG or JPEG file of the job."""

    name: str
    content: bytes


async def images_of(state: State, workspace: Workspace) -> Sequence[Image]:
    """The first images that the job has made and that are not too large."""
    images: list[Image] = []
    for name, artifact in state["artifacts"].items():
        if artifact["media_type"] not in _KINDS or artifact["size"] > MOST_BYTES:
            continue
        content = await workspace.read(name) or b""
        if why_not_shown(content) is None:
            images.append(Image(name, content))
        if len(images) == MOST_IMAGES:
            break
    return images


def with_images(messages: Sequence[BaseMessage], images: Sequence[Image]) -> list[BaseMessage]:
    """`messages`, with the images after the text of the first question."""
    question = next(message for message in messages if isinstance(message, HumanMessage))
    parts = [{"type": "text", "text": str(question.text)}, *image_parts(images)]
    return [HumanMessage(parts) if message is question else message for message in messages]


def image_parts(images: Sequence[Image]) -> list[str | dict[str, object]]:
    """The images as parts of a message, each after its name."""
    parts: list[str | dict[str, object]] = []
    for image in images:
        kind = "image/jpeg" if image.content.startswith(_JPEG) else "image/png"
        encoded = base64.b64encode(image.content).decode()
        parts += [
            {"type": "text", "text": f"The image {image.name}, as it is now:"},
            {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}},
        ]
    return parts


def why_not_shown(content: bytes) -> str | None:
    """Why a model does not get an image with this content, or None."""
    if len(content) > MOST_BYTES:
        return f"it has {len(content):,} bytes, and {MOST_BYTES:,} are allowed"
    sides = _sides(content)
    if sides is None or min(sides) == 0:
        return "it is no PNG or JPEG file"
    if max(sides) > MOST_PIXELS:
        allowed = f"{MOST_PIXELS} x {MOST_PIXELS} are allowed"
        return f"it has {sides[0]} x {sides[1]} pixels, and {allowed}"
    return None


def _sides(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels."""
    if content.startswith(_PNG):
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    if not content.startswith(_JPEG):
        return None
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        if content[at + 1] in _JPEG_SIZES:
            height, width = content[at + 5 : at + 7], content[at + 7 : at + 9]
            return int.from_bytes(width), int.from_bytes(height)
        at += 2 + int.from_bytes(content[at + 2 : at + 4])
    return None
