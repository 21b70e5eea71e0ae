from __future__ import annotations

import pytest

from agents.errors import ModelError, ModelNameInvalid
from agents.models.name import ModelName


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("groq:llama-3.3-70b-versatile", "groq", "llama-3.3-70b-versatile"),
        ("groq:openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
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
        ("nobody:gpt-5", "there are groq, google_genai, openai, .*, compatible, recording"),
        ("google_genai:x:streamGenerateContent", "is not a valid"),
        ("groq:", "is not a valid"),
        ("google_genai:../../v1/secrets", "is not a valid"),
        ("google_genai:x?key=1", "is not a valid"),
        ("recording:../demo", "is not a valid"),
        ("recording:demo\n", "is not a valid"),
    ],
)
def test_an_invalid_name_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(ModelNameInvalid, match=says) as caught:
        ModelName.parse(text)
    assert isinstance(caught.value, ModelError)
