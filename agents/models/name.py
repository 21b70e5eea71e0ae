"""ModelName: `provider:model`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from agents.errors import ModelNameInvalid
from agents.models.providers import PROVIDERS, Provider

RECORDING = "recording"
"""The name in place of a provider: no provider is called."""

# It becomes a file name, and must not leave its directory.
_RECORDING = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class ModelName:
    """`groq:llama-3.3-70b-versatile`, `google_genai:gemini-2.5-flash`, `recording:demo`."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """The name in `text`. Raises ModelNameInvalid with the reason."""
        provider, colon, model = text.partition(":")
        if not colon:
            raise ModelNameInvalid(f"{text!r} is not a model: write it as provider:model")
        if provider not in {*PROVIDERS, RECORDING}:
            providers = ", ".join((*PROVIDERS, RECORDING))
            raise ModelNameInvalid(f"{text!r}: no provider {provider!r}; there are {providers}")
        shape = _RECORDING if provider == RECORDING else PROVIDERS[provider].models
        if not shape.fullmatch(model):
            raise ModelNameInvalid(f"{text!r}: {model!r} is not a valid model name")
        return cls(provider, model)

    @property
    def is_recording(self) -> bool:
        """Whether it plays a recording."""
        return self.provider == RECORDING

    @property
    def of(self) -> Provider:
        """The provider; a recording has none."""
        return PROVIDERS[self.provider]

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"
