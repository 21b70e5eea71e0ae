from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

import settings.models
from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.models.token_bounds import PER_IMAGE, PER_REQUEST, SMALL_OUTPUT, OutputLimit, max_usage

TASK = HumanMessage("x" * 1_000)


def reply(model: str = "small", tokens: int = 500) -> AIMessage:
    figures = {"input_tokens": tokens - 20, "output_tokens": 20, "total_tokens": tokens}
    return AIMessage(
        "y" * 9_000, usage_metadata=figures, response_metadata={"answered_by": f"groq:{model}"}
    )


def most(*messages: AnyMessage, **options: object) -> int:
    return max_usage("groq:small", messages, options, 2_048).input_tokens


def most_output(name: str, options: ModelOptions) -> int:
    """The number of tokens that is reserved for a reply; the client requests the same number."""
    model = build(ModelName.parse(name), options, "executor")
    assert isinstance(model, ProviderModel)
    sent: int | None = getattr(model.inner, "max_tokens", None)
    assert sent in (None, model.output_limit.most)
    return model.most_output


def test_uncounted_messages_are_counted_in_bytes() -> None:
    assert PER_REQUEST + 1_000 <= most(TASK) <= PER_REQUEST + 1_100
    assert most(HumanMessage("ü" * 1_000)) >= PER_REQUEST + 2_000
    assert most(HumanMessage([{"type": "text", "text": "z" * 500}])) >= PER_REQUEST + 500


def test_an_image_counts_as_an_image_and_not_as_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 900_000}}
    with_image = most(HumanMessage([{"type": "text", "text": "z" * 500}, image]))
    assert PER_REQUEST + 500 + PER_IMAGE <= with_image < PER_REQUEST + 700 + PER_IMAGE


def test_messages_that_the_model_has_counted_use_its_count() -> None:
    added = ToolMessage("z" * 100, tool_call_id="c")
    assert PER_REQUEST + 600 <= most(TASK, reply(), added, tools=["t" * 5_000]) < PER_REQUEST + 700
    assert most(TASK, reply(), added, reply(tokens=900)) == PER_REQUEST + 900


def test_each_client_sends_the_output_limit() -> None:
    keys = {"groq": "k", "google_genai": "k"}
    options = ModelOptions(keys, max_output_tokens=700)
    for name, bound in (("groq:llama", 700), ("google_genai:gemini-2.5-flash", 700 + 1_024)):
        assert most_output(name, options) == bound


def test_a_reply_is_no_longer_than_the_model_can_write_or_half_of_its_context() -> None:
    options = ModelOptions({"groq": "k"})
    assert most_output("groq:openai/gpt-oss-120b", options) == 32_000
    assert most_output("groq:meta-llama/llama-guard-4-12b", options) == 1_024
    assert most_output("groq:gemma2-9b-it", options) == 4_096
    small = ModelOptions({"groq": "k"}, context_tokens=6_000)
    assert most_output("groq:openai/gpt-oss-120b", small) == 3_000


@pytest.mark.parametrize(
    ("limit", "context", "most"),
    [
        (OutputLimit(), None, 8_192),
        (OutputLimit(model_limit=64_000), None, 32_000),
        (OutputLimit(model_limit=4_096), 128_000, 4_096),
        (OutputLimit(), 128_000, 32_000),
        (OutputLimit(), 65_536, 16_384),
        (OutputLimit(), 32_768, 8_192),
        (OutputLimit(), 4_096, 2_048),
        (OutputLimit(model_limit=64_000, thinking=4_096), 200_000, 36_096),
        (OutputLimit(configured=20_000), None, 20_000),
        (OutputLimit(configured=20_000), 32_768, 16_384),
        (OutputLimit(configured=20_000, model_limit=16_000), 128_000, 16_000),
    ],
)
def test_a_reply_has_the_limit_of_its_model(
    limit: OutputLimit, context: int | None, most: int
) -> None:
    assert limit.within(context) == most


def test_settings_and_agents_agree_on_a_small_reply() -> None:
    assert settings.models.SMALL_OUTPUT == SMALL_OUTPUT
