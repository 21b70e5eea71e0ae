"""How providers' replies come over the wire, and what they amount to when they are whole."""

from agents.models.streams import anthropic, gemini, ollama, openai
from agents.models.streams.protocol import Fold, Piece, Wire

OPENAI = Wire(openai.OpenAIFold, openai.is_reply, openai.declined)
ANTHROPIC = Wire(anthropic.AnthropicFold, anthropic.is_reply, anthropic.declined)
GEMINI = Wire(gemini.GeminiFold, gemini.is_reply, gemini.declined, gemini.streamed)
OLLAMA = Wire(
    ollama.OllamaFold, ollama.is_reply, ollama.declined, content_type="application/x-ndjson"
)
OPENROUTER = Wire(openai.OpenAIFold, openai.is_reply, openai.declined, openai.streamed)

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OLLAMA",
    "OPENAI",
    "OPENROUTER",
    "Fold",
    "Piece",
    "Wire",
]
