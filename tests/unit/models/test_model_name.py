from __future__ import annotations

import pytest

from agents.models.errors import ModelError, ModelNameInvalid
from agents.models.name import ModelName


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("groq:llama-3.3-70b-versatile", "groq", "llama-3.3-70b-versatile"),
        ("groq:openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("google_genai:gemini-2.5-flash", "google_genai", "gemini-2.5-flash"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("openrouter:qwen/qwen3-coder:free", "openrouter", "qwen/qwen3-coder:free"),
        ("compatible:meta-llama/Llama-3.1-8B", "compatible", "meta-llama/Llama-3.1-8B"),
        ("recording:demo_k-means", "recording", "demo_k-means"),
    ],
)
def test_a_name_is_read_and_written_alike(text: str, provider: str, model: str) -> None:
    name = ModelName.parse(text)
    assert (name.provider, name.model) == (provider, model)
    assert str(name) == text
    assert name.is_recording == (provider == "recording")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("llama", "write it as provider:model"),
        ("", "write it as provider:model"),
        ("nobody:gpt-5", "there are groq, google_genai, openai, .*, compatible, recording"),
        ("google_genai:x:streamGenerateContent", "is not a valid"),
        ("groq:", "is not a valid"),
        ("groq:a b", "is not a valid"),
        ("google_genai:../../v1/secrets", "is not a valid"),
        ("google_genai:x/../y", "is not a valid"),
        ("google_genai:x?key=1", "is not a valid"),
        ("recording:../demo", "is not a valid"),
        ("recording:/etc/passwd", "is not a valid"),
        ("recording:a/b", "is not a valid"),
        ("recording:demo.yaml", "is not a valid"),
        ("recording:demo\n", "is not a valid"),
    ],
)
def test_what_is_no_name_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(ModelNameInvalid, match=says) as caught:
        ModelName.parse(text)
    assert isinstance(caught.value, ModelError)
