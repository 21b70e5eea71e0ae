"""How a model is named: `provider:model`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from agents.models.errors import ModelNameInvalid

PROVIDERS = ("groq", "google_genai", "recording")

# A Gemini model's name becomes part of a URL's path, a recording's that of a file: neither may
# leave its place.
_MODEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_/@-]|\.(?!\.)){0,127}")
_RECORDING = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class ModelName:
    """`groq:llama-3.3-70b-versatile`, `google_genai:gemini-2.5-flash`, `recording:demo`."""

    provider: str
    model: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """The name in `text`. Raises ModelNameInvalid, which says what is wrong with it."""
        provider, colon, model = text.partition(":")
        if not colon:
            raise ModelNameInvalid(f"{text!r} is no model: write it as provider:model")
        if provider not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            raise ModelNameInvalid(f"{text!r}: no provider {provider!r}; there are {known}")
        shape = _RECORDING if provider == "recording" else _MODEL
        if not shape.fullmatch(model):
            raise ModelNameInvalid(f"{text!r}: {model!r} cannot be the name of a model")
        return cls(provider, model)

    @property
    def is_recording(self) -> bool:
        """Whether nobody is called."""
        return self.provider == "recording"

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"
