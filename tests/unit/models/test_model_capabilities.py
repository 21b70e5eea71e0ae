"""The lessons of a refusal about a server, and the form of the requests to this server."""

# Messages in the wording of real servers.
# ruff: noqa: E501

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from agents.errors import ModelRefused
from agents.models.capabilities.body import adapt
from agents.models.capabilities.learn import Lesson, learn
from agents.models.capabilities.record import Capabilities
from agents.models.error_mapping.mapping import error_from_response

NONE = Capabilities()
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"strict": {"type": "string", "title": "Strict", "default": "x"}},
}
OPENAI: Mapping[str, Any] = {
    "model": "some-model",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {}}]},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "content": "ran", "tool_call_id": "1"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}
    ],
    "tool_choice": "required",
    "parallel_tool_calls": True,
    "max_tokens": 8_192,
    "temperature": 0.0,
    "seed": 7,
    "stream": True,
    "stream_options": {"include_usage": True},
}
GEMINI: Mapping[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi", "thoughtSignature": "x"}]}],
    "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {
        "temperature": 0.0,
        "maxOutputTokens": 100_000,
        "thinkingConfig": {"thinking_budget": 1_024},
    },
}
ANTHROPIC: Mapping[str, Any] = {
    "model": "claude",
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"name": "f", "input_schema": SCHEMA}],
    "tool_choice": {"type": "any"},
    "cache_control": {"type": "ephemeral"},
    "max_tokens": 64_000,
    "temperature": 0.0,
    "stream": True,
}
OLLAMA: Mapping[str, Any] = {
    "model": "some-model",
    "messages": [{"role": "user", "content": "hi"}],
    "options": {"num_ctx": 32_768, "num_predict": 8_192, "temperature": 0.0},
    "stream": True,
}


def refusal(body: object, status: int = 400) -> ModelRefused:
    """The error that the client raises. If `body` is a text, it is the message of OpenAI's error
    object.
    """
    error_body = {"error": {"message": body, "code": None}} if isinstance(body, str) else body
    content = json.dumps(error_body).encode()
    error = error_from_response(content, httpx.Response(status, content=content))
    assert isinstance(error, ModelRefused)
    return error


def dropped(body: object, sent: Mapping[str, Any] = OPENAI, status: int = 400) -> set[str]:
    lesson = learn(refusal(body, status), sent, NONE)
    assert lesson == Lesson(NONE.changed(drop=lesson.record.drop))
    return set(lesson.record.drop)


REFUSED = [
    ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
    (
        (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
            "value is supported."
        ),
        "temperature",
    ),
    ("`temperature` is deprecated for this model.", "temperature"),
    ("`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
    ("Input validation error: `temperature` must be strictly positive", "temperature"),
    ("Invalid 'temperature': decimal above maximum value.", "temperature"),
    ("temperature: Extra inputs are not permitted", "temperature"),
    ("invalid temperature: only 0.6 is allowed for this model", "temperature"),
    ("temperature can only be 0.6", "temperature"),
    ("Validation error at #/stream_options: Extra inputs are not permitted", "stream_options"),
    (
        "13 request validation errors: Extra inputs are not permitted, field: 'tools[0].strict', value: True; Extra inputs are not permitted, field: 'tools[1].strict', value: True",
        "tools.strict",
    ),
    ("*.cache_control: Extra inputs are not permitted", "messages.cache_control"),
    ("body.temperature: extra fields not permitted", "temperature"),
    (
        (
            "litellm.UnsupportedParamsError: openai does not support parameters: ['temperature'], for "
            "model=gpt-5. To drop these, set `litellm.drop_params=True`"
        ),
        "temperature",
    ),
    (
        (
            "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support "
            "temperature=0.0. Only temperature=1 is supported."
        ),
        "temperature",
    ),
    (
        (
            "Malformed input request: #: extraneous key [temperature] is not permitted, please "
            "reformat your input and try again."
        ),
        "temperature",
    ),
    ("Unrecognized request argument supplied: stream_options", "stream_options"),
    ('json: unknown field "stream_options"', "stream_options"),
    (
        "Additional properties are not allowed ('stream_options' was unexpected)",
        "stream_options",
    ),
    ("This model does not support streaming.", "stream"),
    (
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
    ),
    ("got an unexpected keyword argument 'parallel_tool_calls'", "parallel_tool_calls"),
    (
        "unknown field `parallel_tool_calls`, expected one of `model`, `temperature`, `seed`",
        "parallel_tool_calls",
    ),
    ("Argument not supported on this model: seed", "seed"),
    ("property 'seed' is unsupported", "seed"),
    (
        (
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
            "property 'reasoning_content' is unsupported)]"
        ),
        "messages.reasoning_content",
    ),
    (
        "messages.0.content.0.text.cache_control: Extra inputs are not permitted",
        "messages.cache_control",
    ),
    ("tools[0].function: 'strict' is not permitted", "tools.strict"),
    ("Invalid tool_choice type: 'object'. Supported string values: none, auto", "tool_choice"),
    ("Thinking mode does not support this tool_choice", "tool_choice"),
    ("tool_choice 'required' is incompatible with thinking enabled", "tool_choice"),
    (
        (
            "This model doesn't support the toolConfig.toolChoice.any field. Remove "
            "toolConfig.toolChoice.any and try again."
        ),
        "tool_choice",
    ),
    ('Invalid value for `tool_choice`: must be a named tool, "auto", or "none".', "tool_choice"),
]


@pytest.mark.parametrize(("message", "path"), REFUSED)
def test_a_field_that_a_sentence_refuses_is_dropped(message: str, path: str) -> None:
    assert dropped(message) == {path}
    assert dropped(message, status=422) == {path}


def mistral(*loc: Any) -> dict[str, Any]:
    fault = {"type": "extra_forbidden", "loc": ["body", *loc], "input": {"temperature": "not ok"}}
    detail = [{**fault, "msg": "Extra inputs are not permitted"}]
    return {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}


STRUCTURED = [
    ({"error": {"message": "Bad.", "param": "temperature"}}, "temperature"),
    ({"error": {"message": "Bad.", "param": "tools[0].function.strict"}}, "tools.strict"),
    ({"error": {"message": "Unprocessable Entity", "param": "tool_choice"}}, "tool_choice"),
    (
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
        "stream_options",
    ),
    (
        {"detail": [{"loc": ["body", "tool_choice", "literal"], "msg": "Input should be 'auto'"}]},
        "tool_choice",
    ),
    (mistral("stream_options"), "stream_options"),
    (mistral("messages", 1, "assistant", "reasoning_content"), "messages.reasoning_content"),
    (
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs "
            "are not permitted', 'input': 'the temperature is not supported'}]",
        },
        "seed",
    ),
    (
        {
            "error": {
                "message": "Provider returned error",
                "metadata": {"raw": '{"error": {"message": "x", "param": "seed"}}'},
            }
        },
        "seed",
    ),
    (
        {
            "error": {
                "message": "litellm.BadRequestError: OpenAIException - "
                '{"error": {"message": "Unknown parameter: \'seed\'.", "param": null}}',
                "param": "None",
                "code": "400",
            }
        },
        "seed",
    ),
    ({"error": "Invalid tool_choice type: 'object'."}, "tool_choice"),
]


@pytest.mark.parametrize(("body", "path"), STRUCTURED)
def test_a_field_that_a_body_names_is_dropped(body: dict[str, Any], path: str) -> None:
    assert dropped(body, status=422) == {path}


OF_OTHER_FORMATS = [
    (
        GEMINI,
        (
            "Invalid JSON payload received. Unknown name \"temperature\" at 'generation_config': "
            "Cannot find field."
        ),
        {"generationConfig.temperature"},
    ),
    (
        GEMINI,
        (
            'Invalid JSON payload received. Unknown name "additionalProperties" at '
            "'tools[0].function_declarations[0].parameters_json_schema': Cannot find field.\n"
            "Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': "
            "Cannot find field."
        ),
        {"tools.additionalProperties", "generationConfig.thinkingConfig"},
    ),
    (
        GEMINI,
        "The thinking budget 1024 is invalid. Please choose a value between 2048 and 24576.",
        {"generationConfig.thinking_budget"},
    ),
    (GEMINI, "Thinking is not supported for this model.", {"generationConfig.thinkingConfig"}),
    (
        GEMINI,
        "Forced function calling (mode = ANY) is not supported for this model.",
        {"toolConfig"},
    ),
    (GEMINI, 'Unknown name "toolConfig": Cannot find field.', {"toolConfig"}),
    (
        ANTHROPIC,
        "Thinking may not be enabled when tool_choice forces tool use.",
        {"tool_choice"},
    ),
    (ANTHROPIC, "cache_control: Extra inputs are not permitted", {"cache_control"}),
    (OLLAMA, 'option "num_ctx" is not supported by this backend', {"options.num_ctx"}),
]


@pytest.mark.parametrize(("sent", "message", "paths"), OF_OTHER_FORMATS)
def test_every_wire_format_has_its_names(
    sent: Mapping[str, Any], message: str, paths: set[str]
) -> None:
    assert dropped(message, sent) == paths


HARMLESS = [
    "The model's temperature is high, and it has to rest",
    "messages[1].content: Invalid value, expected a string",
    "Invalid 'messages[1].content': string too long. The seed of the problem is its length.",
    "your credit balance is too low to access the API",
    "Your credit balance is too low: temperature is not supported in the free plan",
    "This model does not support tools",
    "Invalid schema for function 'f': 'strict' was given where an object is expected",
    "max_tokens is too large",
    "top_k is not supported",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    "max_tokens must be at least 1, got -186.",
    "no such thing",
]


@pytest.mark.parametrize("message", HARMLESS)
@pytest.mark.parametrize("sent", [OPENAI, GEMINI, ANTHROPIC, OLLAMA])
def test_a_refusal_for_another_reason_changes_no_form(
    message: str, sent: Mapping[str, Any]
) -> None:
    assert learn(refusal(message), sent, NONE) == Lesson(NONE)


@pytest.mark.parametrize("status", [401, 402, 403, 409, 413])
def test_other_statuses_teach_no_lesson(status: int) -> None:
    error = ModelRefused("Unsupported parameter: 'temperature'", status=status)
    assert learn(error, OPENAI, NONE) == Lesson(NONE)


def test_the_limit_on_output_is_sent_with_its_other_name_then_omitted() -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead."
    )
    record = learn(refusal(message), OPENAI, NONE).record
    assert record == NONE.changed(rename={"max_tokens": "max_completion_tokens"})
    body = adapt(OPENAI, record)
    assert body["max_completion_tokens"] == 8_192
    assert "max_tokens" not in body
    record = learn(refusal("Unknown parameter: max_completion_tokens"), body, record).record
    assert not {"max_tokens", "max_completion_tokens"} & set(adapt(OPENAI, record))


def test_a_dropped_field_is_dropped_at_every_depth_and_in_its_section_only() -> None:
    record = NONE.changed(
        drop=frozenset(
            {
                "temperature",
                "messages.cache_control",
                "messages.reasoning_content",
                "tools.strict",
                "tools.additionalProperties",
                "stream_options.include_usage",
                "unknown",
                "unknown.name",
            }
        )
    )
    body = adapt(OPENAI, record)
    assert set(OPENAI) - set(body) == {"temperature", "stream_options"}
    assert body["messages"][0]["content"] == [{"type": "text", "text": "hi"}]
    assert "reasoning_content" not in body["messages"][1]
    assert body["messages"][1]["content"] is None
    function = body["tools"][0]["function"]
    assert set(function) == {"name", "parameters"}
    assert "additionalProperties" not in function["parameters"]
    assert function["parameters"]["properties"] == SCHEMA["properties"]
    assert adapt(OPENAI, NONE) == OPENAI


OUTPUT_LIMITS = [
    ("max_tokens must be less than or equal to 4096", 4_096),
    ("max_tokens must be less than 4096", 4_095),
    (
        (
            "`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is "
            "less than the `context_window` for this model"
        ),
        4_096,
    ),
    (
        (
            "max_tokens is too large: 8192. This model supports at most 4,096 completion tokens, "
            "whereas you provided 8192."
        ),
        4_096,
    ),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4_096),
    ("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1,4096]", 4_096),
    (
        (
            "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for "
            "claude-3-haiku-20240307"
        ),
        4_096,
    ),
    (
        (
            "Unable to submit request because it has a maxOutputTokens value of 8192 but the supported "
            "range is from 1 (inclusive) to 4097 (exclusive). Update the value and try again."
        ),
        4_096,
    ),
    ("The maximum tokens you requested exceeds the model limit of 4096.", 4_096),
    ("Error code: 400 - max_tokens exceeds 4096", 4_096),
    (
        "The parameter max_tokens specified in the request is not valid: integer above maximum value, expected a value <= 4096, but got 8192 instead. Request id: 0217724325966514087",
        4_096,
    ),
    ("[#/InferenceConfiguration/Text/MaxTokens: 8192 is not less or equal to 4096]", 4_096),
    (
        "The maximum tokens you requested exceed the model limit of 4096. Try again with a maximum tokens value lower than 4096.",
        4_095,
    ),
    ("'max_new_tokens' must be <= 4096", 4_096),
]


@pytest.mark.parametrize(("message", "most"), OUTPUT_LIMITS)
def test_a_limit_of_the_model_is_remembered(message: str, most: int) -> None:
    lesson = learn(refusal(message), OPENAI, NONE)
    assert lesson == Lesson(NONE.changed(max_output_tokens=most))
    assert adapt(OPENAI, lesson.record)["max_tokens"] == most


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens must be at least 16",
        "max_tokens is too large. Error code: 400",
        "max_tokens must be greater than the thinking budget of 1024",
        "invalid max_tokens for gpt-4-0613",
        "max_tokens is too large for Claude 3",
        "max_tokens must be in (0, 8192]",
    ],
)
def test_other_numbers_are_not_limits(message: str) -> None:
    assert learn(refusal(message), OPENAI, NONE) == Lesson(NONE)


def test_a_sentence_instead_of_a_field() -> None:
    sentence = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens"
    body = {"error": {"message": "Param Incorrect", "param": sentence, "code": "400"}}
    assert learn(refusal(body), OPENAI, NONE).record.max_output_tokens == 4_096


def test_a_field_of_fastapi_that_is_too_large() -> None:
    fault = {"loc": ["body", "max_tokens"], "msg": "Input should be less than or equal to 4096"}
    assert learn(refusal({"detail": [fault]}, 422), OPENAI, NONE).record.max_output_tokens == 4_096


ROOMS = [
    # (message, context, tokens of the request)
    (
        (
            "This model's maximum context length is 10000 tokens. However, you requested 11192 tokens "
            "(3000 in the messages, 8192 in the completion). Please reduce the length."
        ),
        10_000,
        3_000,
    ),
    (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context "
            "length is 10000 tokens and your request has 3000 input tokens (8192 > 10000 - 3000)."
        ),
        10_000,
        3_000,
    ),
    (
        (
            "input length and `max_tokens` exceed context limit: 3000 + 8192 > 10000, decrease input "
            "length or `max_tokens` and try again"
        ),
        10_000,
        3_000,
    ),
    (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 10000. Given: 3000 "
            "`inputs` tokens and 8192 `max_new_tokens`"
        ),
        10_000,
        3_000,
    ),
    (
        (
            "Prompt contains 3000 tokens and 8192 draft tokens, too large for model with 10000 maximum "
            "context length"
        ),
        10_000,
        3_000,
    ),
    (
        (
            "This endpoint's maximum context length is 10000 tokens. However, you requested about "
            "11192 tokens (2500 of text input, 500 of tool input, 8192 in the output)."
        ),
        10_000,
        3_000,
    ),
    (
        (
            "You passed 3000 input tokens and requested 8192 output tokens. However, the model's "
            "context length is only 10000 tokens, resulting in a maximum input length of 1808 tokens."
        ),
        10_000,
        3_000,
    ),
    (
        (
            "Requested token count exceeds the model's maximum context length of 10,000 tokens. You "
            "requested a total of 11,192 tokens: 3,000 tokens from the input messages and 8,192 tokens "
            "for the completion."
        ),
        10_000,
        3_000,
    ),
    (
        "Invalid request: Your request exceeded model token limit: 10000 (requested: 11192)",
        10_000,
        3_000,
    ),
    (
        "Request too large for model `m` on tokens per minute (TPM): Limit 10000, Requested 11192",
        10_000,
        3_000,
    ),
    (
        (
            "the sum of prompt length (3000), max tokens (8192) should not exceed max_model_len "
            "(10000)"
        ),
        10_000,
        3_000,
    ),
]


@pytest.mark.parametrize(("message", "context", "input_tokens"), ROOMS)
def test_a_limit_of_one_request_applies_to_this_request_only(
    message: str, context: int, input_tokens: int
) -> None:
    lesson = learn(refusal(message), OPENAI, NONE)
    assert (lesson.record, lesson.context) == (NONE, context)
    assert lesson.remaining is not None
    assert context - input_tokens - 32 <= lesson.remaining < context - input_tokens


@pytest.mark.parametrize(
    ("message", "context"),
    [
        (
            (
                "This model's maximum context length is 10000 tokens. However, your messages resulted "
                "in 12000 tokens."
            ),
            10_000,
        ),
        (
            (
                "This model's maximum context length is 10000 tokens. However, you requested 17992 "
                "tokens (9800 in the messages, 8192 in the completion)."
            ),
            10_000,
        ),
        ("request (10100 tokens) exceeds the available context size (10000 tokens)", 10_000),
        ("the request exceeds the available context size, try increasing it", None),
        ("the request exceeds the context window by 5000 tokens", None),
        ("context length exceeded in message 3", None),
        ("Requested tokens (20000) exceed context window of 10000", 10_000),
        ("prompt is too long: 210000 tokens > 200000 maximum", None),
        (
            "The input token count (9021) exceeds the maximum number of tokens allowed (8000).",
            None,
        ),
    ],
)
def test_a_request_that_leaves_too_few_tokens_for_a_reply_is_too_long(
    message: str, context: int | None
) -> None:
    lesson = learn(refusal(message), OPENAI, NONE)
    assert lesson == Lesson(NONE, context=context)


@pytest.mark.parametrize("sent", [OPENAI, GEMINI, ANTHROPIC, OLLAMA])
def test_a_limit_is_lowered_in_every_wire_format(sent: Mapping[str, Any]) -> None:
    written = json.dumps(adapt(sent, NONE.changed(max_output_tokens=1_000)))
    assert sum(f": {n}" in written for n in (8_192, 64_000, 100_000)) == 0
    assert ": 1000" in written
    assert adapt(sent, NONE.changed(max_output_tokens=1_000_000)) == sent


def test_a_record_is_restored_from_json_and_an_operator_overrides_it() -> None:
    record = Capabilities(
        drop=frozenset({"seed", "tools.strict"}),
        rename={"a": "b"},
        max_output_tokens=5,
        expires_at=4e9,
    )
    assert Capabilities.parse(record.model_dump_json()) == record
    assert record.overridden(Capabilities(drop=frozenset())).drop == frozenset()
    assert record.overridden(Capabilities(context_tokens=9)).drop == record.drop


@pytest.mark.parametrize(
    "unit",
    ["temperature ", "[", "a", "temperature.", "'loc': (", '{"error": ', "unknown ", "1 context "],
)
def test_a_hostile_refusal_is_read_in_bounded_time(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    located = {"loc": [text], "msg": text}
    for body in (text, {"detail": [text] * 10}, {"detail": [located] * 10}):
        error = refusal(body)
        started = time.process_time()
        learn(error, OPENAI, NONE)
        assert time.process_time() - started < 2.0
