"""How providers stream their replies, and how a complete reply is assembled from that.

Why: docs/decisions/0050-replies-stay-assembled.md
"""

from dataclasses import replace
from functools import partial

from agents.models.streams import anthropic, gemini, ollama, openai
from agents.models.streams.protocol import Chunk, StreamAssembler, StreamProtocol

OPENAI = StreamProtocol(
    openai.OpenAIAssembler,
    openai.is_reply,
    openai.declined,
    openai.fix_for_client,
    message=openai.message,
)
ANTHROPIC = StreamProtocol(
    anthropic.AnthropicAssembler, anthropic.is_reply, anthropic.declined, anthropic.fix_for_client
)
GEMINI = StreamProtocol(
    gemini.GeminiAssembler, gemini.is_reply, gemini.declined, gemini.fix_for_client, gemini.streamed
)
OLLAMA = StreamProtocol(
    ollama.OllamaAssembler,
    ollama.is_reply,
    ollama.declined,
    ollama.fix_for_client,
    message=ollama.message,
    content_type="application/x-ndjson",
)
OPENROUTER = replace(
    OPENAI, streamed=partial(openai.streamed, stream_options={"include_usage": True})
)
MISTRAL = replace(OPENAI, streamed=openai.streamed)
"""Reports tokens in each stream, and refuses to be asked for them."""

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "MISTRAL",
    "OLLAMA",
    "OPENAI",
    "OPENROUTER",
    "Chunk",
    "StreamAssembler",
    "StreamProtocol",
]
