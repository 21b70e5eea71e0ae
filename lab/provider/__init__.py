"""A local server with the model providers' wire formats and scripted replies.

Tests, benchmarks and drills run the providers' real clients against it.
"""

from lab.provider.request import Message, Request
from lab.provider.script import Script, always, in_order
from lab.provider.server import ProviderServer
from lab.provider.turn import Cut, Garbled, Hang, Raw, Refusal, Reply, Tokens, ToolCall, Turn

__all__ = [
    "Cut",
    "Garbled",
    "Hang",
    "Message",
    "ProviderServer",
    "Raw",
    "Refusal",
    "Reply",
    "Request",
    "Script",
    "Tokens",
    "ToolCall",
    "Turn",
    "always",
    "in_order",
]
