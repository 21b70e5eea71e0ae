from __future__ import annotations

from dataclasses import replace

import pytest

from agents.errors import ModelNotConfigured
from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from settings.starting.provider_rows import provider_variable

GROQ = ModelName.parse("groq:llama-3.3-70b-versatile")
GEMINI = ModelName.parse("google_genai:gemini-2.5-flash")


@pytest.mark.parametrize(("name", "variable"), [(GROQ, "GROQ_API_KEY"), (GEMINI, "GOOGLE_API_KEY")])
def test_a_missing_key_names_its_setting_even_if_the_environment_has_it(
    name: ModelName, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "not-passed-in")
    options = ModelOptions(api_keys={name.provider: "  "})
    with pytest.raises(ModelNotConfigured, match=f"set {name.provider}'s api_key where"):
        build(name, options, "planner")
    with pytest.raises(ModelNotConfigured, match=f"set {variable} where"):
        build(name, replace(options, name_setting=provider_variable), "planner")


def test_a_base_url_of_the_operator_replaces_the_public_address() -> None:
    options = ModelOptions(base_urls={"groq": "http://127.0.0.1:9/"})
    assert options.base_url(GROQ) == "http://127.0.0.1:9"
    assert options.base_url(GEMINI) == "https://generativelanguage.googleapis.com"


def test_the_context_is_the_smaller_of_the_library_s_and_the_setting_s() -> None:
    ollama = ModelName.parse("ollama:qwen3:8b")
    compatible = ModelName.parse("compatible:of-our-own")
    unset, limited = ModelOptions(), ModelOptions(context_tokens=8_192)
    assert unset.context(GROQ, {"max_input_tokens": 131_072}) == 131_072
    assert limited.context(GROQ, {"max_input_tokens": 131_072}) == 8_192
    assert [unset.context(name, {}) for name in (compatible, ollama)] == [None, 32_768]
    assert ModelOptions(context_tokens=65_536).context(ollama, {}) == 65_536
