"""Images of the work for a critic that can see: the PNG files as they are now."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage

from agents.graph.state import State
from agents.ports import Workspace
from sandbox.protocol import MIB

MOST_IMAGES = 4
MOST_BYTES = 1 * MIB
MOST_PIXELS = 2_048
"""Of each side. Providers count an image by its size: see `agents.spending.usage_bound`."""
_HEADER = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
"""The beginning of every PNG file; four bytes of width and four of height follow."""


@dataclass(frozen=True, slots=True)
class Image:
    """A PNG file of the job."""

    name: str
    content: bytes


async def images_of(state: State, workspace: Workspace) -> Sequence[Image]:
    """The first PNG files that the job has made and that are not too large."""
    found: list[Image] = []
    for name, made in state["artifacts"].items():
        if made["media_type"] != "image/png" or made["size"] > MOST_BYTES:
            continue
        content = await workspace.read(name) or b""
        if _fits(content):
            found.append(Image(name, content))
        if len(found) == MOST_IMAGES:
            break
    return found


def with_images(messages: Sequence[BaseMessage], images: Sequence[Image]) -> list[BaseMessage]:
    """`messages`, with the images after the text of the first question."""
    question = next(each for each in messages if isinstance(each, HumanMessage))
    parts: list[str | dict[str, object]] = [{"type": "text", "text": str(question.text)}]
    for each in images:
        encoded = base64.b64encode(each.content).decode()
        parts += [
            {"type": "text", "text": f"The image {each.name}, as it is now:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        ]
    return [HumanMessage(parts) if each is question else each for each in messages]


def _fits(content: bytes) -> bool:
    sides = (content[16:20], content[20:24])
    return content.startswith(_HEADER) and all(
        0 < int.from_bytes(side) <= MOST_PIXELS for side in sides
    )
