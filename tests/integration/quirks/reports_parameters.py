"""Parameters that the server refuses, or wants under another name or with another value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from support.quirks.quirk import Quirk, ReceivedRequest, always, answers, has, refuses
from support.quirks.row import Ran, Row, anthropic, fails, gemini, ollama, openai

from lab.provider import Refusal

_LIMITS = ("max_tokens", "max_completion_tokens")


def _unsupported(name: str) -> Quirk:
    """OpenAI's own words for a parameter that a model does not know."""
    return refuses(
        has(name),
        400,
        f"Unsupported parameter: '{name}' is not supported with this model.",
        type="invalid_request_error",
        param=name,
        code="unsupported_parameter",
    )


def _extra(name: str, status: int = 422) -> Quirk:
    """FastAPI's words for a field that a server does not know."""
    detail = {
        "type": "extra_forbidden",
        "loc": ["body", name],
        "msg": "Extra inputs are not permitted",
        "input": True,
    }
    return answers(has(name), status, json.dumps({"detail": [detail]}))


def _limit(received: ReceivedRequest) -> int:
    """The most output tokens that a request asks for; 0 if it does not say."""
    config = received.body.get("generationConfig") or received.body.get("options") or received.body
    names = (*_LIMITS, "maxOutputTokens", "num_predict")
    return next((int(config[name]) for name in names if config.get(name)), 0)


def _asks_at_most(most: int) -> Any:
    """A check: the requests after the first two ask for no more output."""

    def check(ran: Ran) -> bool:
        received = [_limit(ReceivedRequest(limit, "", 0, 0)) for limit in ran.requests[2:]]
        return bool(received) and all(0 <= limit <= most for limit in received)

    return check


def _last_has(name: str) -> Any:
    return lambda ran: ran.requests[-1].body.get(name) is not None


def _quotes(template: str, most: int, status: int = 400, **fields: Any) -> Quirk:
    """A refusal of a limit on output above `most`; `{asked}` in its words is that limit."""

    def refuse(received: ReceivedRequest) -> Refusal | None:
        if _limit(received) <= most:
            return None
        words = template.replace("{asked}", str(_limit(received)))
        words = re.sub(r"\{sum(\d+)\}", lambda found: str(_limit(received) + int(found[1])), words)
        return Refusal(status, words, fields=fields)

    return Quirk(refuse=refuse)


_GPT = "openai:gpt-4.1-mini"
_THINKS: Mapping[str, Any] = {"name": "openai:gpt-5.4-mini"}

ROWS: list[Row] = [
    openai(
        "temperature is refused, but for its default",
        refuses(
            has("temperature"),
            400,
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the "
            "default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        ),
        most_requests=5,
    ),
    openai("temperature is refused by its name", _unsupported("temperature")),
    openai(
        "Kimi takes one temperature only",
        refuses(has("temperature"), 400, "invalid temperature: only 1 is allowed for this model"),
    ),
    openai(
        "temperature is refused by the words of the message alone",
        answers(has("temperature"), 400, '{"error": "temperature is not supported"}'),
    ),
    openai(
        "temperature is refused by Groq's client's server",
        _unsupported("temperature"),
        name="groq:openai/gpt-oss-20b",
    ),
    openai(
        "temperature is refused by DeepSeek's client's server",
        _unsupported("temperature"),
        name="deepseek:deepseek-v4-flash",
    ),
    openai(
        "temperature is refused by OpenRouter's client's server",
        _unsupported("temperature"),
        name="openrouter:openai/gpt-oss-20b",
    ),
    openai(
        "temperature is refused by OpenAI's client's server",
        _unsupported("temperature"),
        name=_GPT,
    ),
    openai(
        "max_tokens has to be max_completion_tokens",
        refuses(
            has("max_tokens"),
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        check=_last_has("max_completion_tokens"),
        most_requests=5,
    ),
    openai(
        "max_tokens has to be max_completion_tokens, says a gateway without a param",
        answers(
            has("max_tokens"),
            400,
            '{"error": {"message": "Unsupported parameter: \'max_tokens\' is not supported with '
            'this model. Use \'max_completion_tokens\' instead.", "code": "invalid_request_body"}}',
        ),
        check=_last_has("max_completion_tokens"),
    ),
    openai(
        "max_completion_tokens is unknown: an older server wants max_tokens",
        refuses(
            has("max_completion_tokens"),
            400,
            "Unrecognized request argument supplied: max_completion_tokens",
            param=None,
        ),
        name=_GPT,
        check=_last_has("max_tokens"),
    ),
    openai(
        "max_completion_tokens is an extra input",
        _extra("max_completion_tokens"),
        name=_GPT,
        check=_last_has("max_tokens"),
    ),
    openai(
        "both names of the limit are refused",
        _unsupported("max_tokens"),
        _unsupported("max_completion_tokens"),
    ),
    openai("stream_options is an extra input", _extra("stream_options"), most_requests=5),
    openai(
        "stream_options is an extra input, with status 400",
        _extra("stream_options", 400),
    ),
    openai(
        "stream_options is refused in Azure's words",
        refuses(
            has("stream_options"),
            400,
            "Validation error at #/stream_options: Extra inputs are not permitted",
        ),
        name=_GPT,
    ),
    openai(
        "a part of stream_options is unknown",
        refuses(
            has("stream_options.include_usage"),
            400,
            "Unknown parameter: 'stream_options.include_usage'.",
            param="stream_options.include_usage",
            code="unknown_parameter",
        ),
    ),
    openai(
        "stream_options is refused by OpenRouter's client's server",
        _unsupported("stream_options"),
        name="openrouter:openai/gpt-oss-20b",
    ),
    openai("parallel_tool_calls is refused", _unsupported("parallel_tool_calls")),
    openai(
        "parallel_tool_calls is needed in no request",
        refuses(has("parallel_tool_calls"), 400, "parallel_tool_calls is not permitted"),
        **_THINKS,
    ),
    openai(
        "LiteLLM lists unsupported parameters",
        refuses(
            has("temperature"),
            400,
            "litellm.UnsupportedParamsError: openai does not support parameters: "
            "['temperature'], for model=gpt-5. To drop these, set `litellm.drop_params=True`",
            type="None",
            param="None",
            code="400",
        ),
    ),
    openai(
        "LiteLLM lists two unsupported parameters",
        refuses(
            has("temperature", "stream_options"),
            400,
            "litellm.UnsupportedParamsError: x does not support parameters: "
            "['temperature', 'stream_options'], for model=y.",
            code="400",
        ),
    ),
    openai(
        "three parameters are refused, one after the other",
        _unsupported("temperature"),
        _extra("stream_options"),
        refuses(
            has("max_tokens"),
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        ),
        most_requests=7,
    ),
    openai(
        "n, a null stop and a null effort are refused",
        refuses(has("n"), 400, "'n' : property 'n' is unsupported"),
        name="groq:openai/gpt-oss-20b",
    ),
    openai(
        "service_tier is refused",
        refuses(has("service_tier"), 400, "property 'service_tier' is unsupported"),
        name="groq:openai/gpt-oss-20b",
    ),
    openai(
        "streams are refused",
        refuses(
            has("stream"),
            400,
            "Unsupported value: 'stream' does not support true with this model.",
            param="stream",
            code="unsupported_value",
        ),
    ),
    openai(
        "a gateway that wants its own header (Portkey)",
        refuses(
            lambda received: "x-portkey-provider" not in received.request.headers,
            400,
            "Either x-portkey-config or x-portkey-provider header is required",
        ),
        end=fails("x-portkey-provider"),
    ),
    openai(
        "the limit on output tokens has a valid range (DeepSeek)",
        _quotes("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
        name="deepseek:deepseek-v4-flash",
        check=_asks_at_most(4096),
        most_requests=5,
    ),
    openai(
        "the limit on output tokens is above the model's (OpenAI)",
        _quotes(
            "max_tokens is too large: {asked}. This model supports at most 4096 completion "
            "tokens, whereas you provided {asked}.",
            4096,
            param="max_tokens",
        ),
        check=_asks_at_most(4096),
    ),
    openai(
        "the limit on output tokens is above the model's (Groq)",
        _quotes(
            "`max_tokens` must be less than or equal to `4096`, the maximum value for "
            "`max_tokens` is less than the `context_window` for this model",
            4096,
            param="max_tokens",
        ),
        name="groq:openai/gpt-oss-20b",
        check=_asks_at_most(4096),
    ),
    openai(
        "prompt and output are above the tokens per minute of the account (Groq)",
        _quotes(
            "Request too large for model `m` in organization `o` service tier `on_demand` on "
            "tokens per minute (TPM): Limit 8000, Requested {sum2808}, please reduce your "
            "message size and try again.",
            8000 - 2808,
            status=413,
            type="tokens",
            code="rate_limit_exceeded",
        ),
        name="groq:openai/gpt-oss-20b",
        check=_asks_at_most(8000 - 2808),
    ),
    openai(
        "prompt and output are above the context (vLLM)",
        _quotes(
            "This model's maximum context length is 8192 tokens. However, you requested "
            "{sum2808} tokens (2808 in the messages, {asked} in the completion). Please reduce "
            "the length of the messages or completion.",
            8192 - 2808,
        ),
        check=_asks_at_most(8192 - 2808),
    ),
    openai(
        "the output is above the context (vLLM, newer)",
        _quotes(
            "'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum "
            "context length is 8192 tokens and your request has 2808 input tokens ({asked} > "
            "8192 - 2808).",
            8192 - 2808,
        ),
        check=_asks_at_most(8192 - 2808),
    ),
    openai(
        "prompt and output are above the context (OpenRouter)",
        _quotes(
            "This endpoint's maximum context length is 8192 tokens. However, you requested about "
            "{sum2808} tokens (2808 of text input, {asked} in the output). Please reduce the "
            "length of either one.",
            8192 - 2808,
            code=400,
        ),
        name="openrouter:some/model",
        check=_asks_at_most(8192 - 2808),
    ),
    openai(
        "prompt and output are above the context (TGI)",
        _quotes(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: "
            "2808 `inputs` tokens and {asked} `max_new_tokens`",
            8192 - 2808,
            status=422,
        ),
        check=_asks_at_most(8192 - 2808),
    ),
    openai(
        "prompt and output are above the context (LiteLLM)",
        _quotes(
            "litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "ContextWindowExceededError: Hosted_vllmException - This model's maximum context "
            "length is 8192 tokens. However, you requested {sum2808} tokens (2808 in the "
            "messages, {asked} in the completion).",
            8192 - 2808,
            code="400",
        ),
        check=_asks_at_most(8192 - 2808),
    ),
    anthropic(
        "temperature is deprecated",
        refuses(has("temperature"), 400, "`temperature` is deprecated for this model."),
        most_requests=5,
    ),
    anthropic(
        "cache_control is an extra input",
        refuses(has("cache_control"), 400, "cache_control: Extra inputs are not permitted"),
        most_requests=5,
    ),
    anthropic(
        "cache_control is unknown to a gateway",
        answers(
            has("cache_control"),
            422,
            '{"detail": [{"type": "extra_forbidden", "loc": ["body", "cache_control"], "msg": '
            '"Extra inputs are not permitted"}]}',
        ),
    ),
    anthropic(
        "the limit on output tokens is above the model's",
        _quotes(
            "max_tokens: {asked} > 4096, which is the maximum allowed number of output tokens "
            "for claude-haiku-4-5",
            4096,
        ),
        check=_asks_at_most(4096),
        most_requests=5,
    ),
    anthropic(
        "prompt and output are above the context",
        _quotes(
            "input length and `max_tokens` exceed context limit: 2808 + {asked} > 8192, decrease "
            "input length or `max_tokens` and try again",
            8192 - 2808,
        ),
        check=_asks_at_most(8192 - 2808),
    ),
    gemini(
        "the temperature is refused",
        refuses(
            has("generationConfig.temperature"),
            400,
            "Unable to submit request because temperature is not supported by this model.",
        ),
        most_requests=5,
    ),
    gemini(
        "a thinking budget is refused",
        refuses(
            has("generationConfig.thinkingConfig"),
            400,
            "Thinking budget is not supported for this model.",
        ),
        most_requests=5,
    ),
    gemini(
        "thinkingConfig is an unknown name",
        refuses(
            has("generationConfig.thinkingConfig"),
            400,
            'Invalid JSON payload received. Unknown name "thinkingConfig" at '
            "'generation_config': Cannot find field.",
        ),
    ),
    gemini(
        "candidateCount is refused",
        refuses(
            has("generationConfig.candidateCount"),
            400,
            'Invalid JSON payload received. Unknown name "candidateCount" at '
            "'generation_config': Cannot find field.",
        ),
    ),
    gemini(
        "the limit on output tokens is above the model's",
        _quotes(
            "Unable to submit request because it has a maxOutputTokens value of {asked} but the "
            "supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and "
            "try again.",
            8192,
        ),
        check=_asks_at_most(8192),
        most_requests=5,
    ),
    ollama(
        "an option is refused",
        refuses(has("options.temperature"), 400, "invalid option provided: temperature"),
    ),
    ollama(
        "num_ctx is refused",
        refuses(has("options.num_ctx"), 400, "num_ctx is not supported by this model"),
    ),
    *[
        row(
            "a refusal that names nothing keeps its words, and is sent once",
            refuses(always, 400, "The flux capacitor is out of phase"),
            end=fails("flux capacitor"),
            most_requests=1,
        )
        for row in (openai, anthropic, gemini, ollama)
    ],
    *[
        row(
            "a refusal whose words only resemble a parameter is not learned from for ever",
            refuses(always, 400, "max_tokens and temperature are no use"),
            end=fails("no use"),
            most_requests=8,
        )
        for row in (openai, anthropic, gemini, ollama)
    ],
    *[
        openai(f"stream_options: {words}", refuses(has("stream_options"), 400, words))
        for words in (
            "stream_options is disallowed for this deployment",
            "'stream_options' is not a valid parameter for this model",
            "参数 stream_options 不支持",
        )
    ],
    openai("temperature, in Chinese", refuses(has("temperature"), 400, "参数 temperature 不支持")),
    openai(
        "a validator names the additional field",
        answers(
            has("stream_options"),
            400,
            '{"errors": [{"params": {"additionalProperty": "stream_options"}}]}',
        ),
    ),
    anthropic(
        "too many blocks have cache_control",
        refuses(
            has("cache_control"),
            400,
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ),
    openai(
        "a gateway answers 500 with the text of a library's error",
        answers(
            has("temperature"),
            500,
            json.dumps(
                {
                    "error": {
                        "message": "Error code: 400 - {'error': {'message': "
                        "\"Unsupported parameter: 'temperature'\", 'code': 'x'}}"
                    }
                }
            ),
        ),
    ),
]
