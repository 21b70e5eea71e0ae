"""The images that the executor's model has asked for with `view_image`."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from agents.ports import Workspace
from agents.prompts.images import Image, image_parts


async def with_viewed_images(
    messages: Sequence[BaseMessage], workspace: Workspace
) -> list[BaseMessage]:
    """The conversation of a pass, with the images after the results of the reply that asked for
    them. Only some providers accept an image within the result of a call."""
    conversation: list[BaseMessage] = []
    asked: list[Image] = []
    for message in [*messages, None]:
        if asked and not isinstance(message, ToolMessage):
            conversation.append(HumanMessage(image_parts(asked)))
            asked = []
        if message is not None:
            conversation.append(message)
        trace = message.artifact if isinstance(message, ToolMessage) else None
        if trace and "image" in trace:
            content = await workspace.kept(trace["image"])
            asked.append(Image(str(trace["data"]["path"]), content))
    return conversation
