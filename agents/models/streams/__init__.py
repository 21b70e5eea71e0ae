"""How providers stream their replies, and how a complete reply is assembled from that.

See ADR 50.
"""

from dataclasses import replace

from agents.models.streams import anthropic, gemini, ollama, openai
from agents.models.streams.protocol import Chunk, StreamAssembler, StreamProtocol

OPENAI = StreamProtocol(
    openai.OpenAIAssembler,
    openai.is_reply,
    asks={"stream": True, "stream_options": {"include_usage": True}},
    message=openai.message,
)
USAGE_UNASKED = replace(OPENAI, asks={"stream": True})
"""For Groq and Mistral, which report tokens unasked. Mistral refuses to be asked for them."""
ANTHROPIC = StreamProtocol(anthropic.AnthropicAssembler, anthropic.is_reply, asks={"stream": True})
GEMINI = StreamProtocol(gemini.GeminiAssembler, gemini.is_reply, streamed=gemini.streamed)
OLLAMA = StreamProtocol(
    ollama.OllamaAssembler,
    ollama.is_reply,
    message=ollama.message,
    content_type="application/x-ndjson",
)

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OLLAMA",
    "OPENAI",
    "USAGE_UNASKED",
    "Chunk",
    "StreamAssembler",
    "StreamProtocol",
]
