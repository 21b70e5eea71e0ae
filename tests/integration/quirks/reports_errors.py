"""Errors: the provider's message decides, whatever the status is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from support.quirks.quirk import (
    Quirk,
    When,
    always,
    answers,
    both,
    first,
    refuses,
    role,
    second_call,
)
from support.quirks.row import (
    End,
    Row,
    anthropic,
    does_not_succeed,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
    waits,
)

_ADDRESS = "FETTLE_COMPATIBLE_BASE_URL"
_ADDRESSES: Mapping[str, str] = {
    "openai": _ADDRESS,
    "anthropic": "FETTLE_ANTHROPIC_BASE_URL",
    "gemini": "FETTLE_GOOGLE_BASE_URL",
    "ollama": "FETTLE_OLLAMA_BASE_URL",
}
_NOT_REFUSED = ("the request is not accepted",)
_SHARED: list[tuple[Any, str, int, str, dict[str, Any], tuple[str, ...]]] = [
    (
        anthropic,
        "no credit is left",
        400,
        (
            "Your credit balance is too low to access the Anthropic API. Go to Plans & Billing to "
            "upgrade or purchase credits."
        ),
        {},
        ("credit balance is too low",),
    ),
    (
        anthropic,
        "the organization is disabled",
        400,
        "This organization has been disabled.",
        {},
        ("organization has been disabled",),
    ),
    (
        anthropic,
        "the workspace has reached its limit",
        400,
        "You have reached your specified API usage limits. You will regain access on 2026-12-01.",
        {},
        ("usage limits",),
    ),
    (
        gemini,
        "the key is not valid",
        400,
        "API key not valid. Please pass a valid API key.",
        {"details": [{"reason": "API_KEY_INVALID"}]},
        ("API key not valid", "GOOGLE_API_KEY"),
    ),
    (
        gemini,
        "the key has expired",
        400,
        "API key expired. Please renew the API key.",
        {},
        ("API key expired", "GOOGLE_API_KEY"),
    ),
    (
        gemini,
        "the region is not served",
        400,
        "User location is not supported for the API use.",
        {"status": "FAILED_PRECONDITION"},
        ("location is not supported",),
    ),
    (
        gemini,
        "billing is not enabled",
        400,
        (
            "Gemini API free tier is not available in your country. Please enable billing on your "
            "project in Google AI Studio."
        ),
        {"status": "FAILED_PRECONDITION"},
        ("billing",),
    ),
    (
        openai,
        "the model was decommissioned (Groq)",
        400,
        "The model `some-model` has been decommissioned and is no longer supported.",
        {"code": "model_decommissioned"},
        ("decommissioned",),
    ),
    (
        openai,
        "the model does not exist (DeepSeek)",
        400,
        "Model Not Exist",
        {"type": "invalid_request_error"},
        ("Model Not Exist",),
    ),
    (
        openai,
        "the model is unknown to LiteLLM",
        400,
        (
            "Invalid model name passed in model=some-model. Call `/v1/models` to view "
            "available models for your key."
        ),
        {"type": "None", "param": "None", "code": "400"},
        ("Invalid model name",),
    ),
    (
        openai,
        "the model's identifier is invalid (Bedrock)",
        400,
        "The provided model identifier is invalid.",
        {},
        ("model identifier is invalid",),
    ),
    (
        openai,
        "the model is at its end of life (Bedrock)",
        400,
        "This model version has reached the end of its life.",
        {},
        ("end of its life",),
    ),
    (
        openai,
        "there is no access to the model (Bedrock)",
        400,
        "You don't have access to the model with the specified model ID.",
        {},
        ("access to the model",),
    ),
    (
        openai,
        "the account has no balance (DeepSeek)",
        402,
        "Insufficient Balance",
        {},
        ("Insufficient Balance",),
    ),
    (
        openai,
        "the account has no balance, with status 400",
        400,
        "Your account balance is insufficient, please recharge.",
        {},
        ("balance is insufficient",),
    ),
    (
        openai,
        "the account is in arrears (DashScope)",
        400,
        "Access denied, please make sure your account is in good standing.",
        {"code": "Arrearage"},
        ("good standing",),
    ),
    (
        openai,
        "billing is not active",
        429,
        "Your account is not active, please check your billing details on our website.",
        {"code": "billing_not_active"},
        ("billing details",),
    ),
    (
        openai,
        "the quota is used up",
        429,
        "You exceeded your current quota.",
        {"code": "insufficient_quota"},
        ("exceeded your current quota",),
    ),
    (
        openai,
        "the quota of a LiteLLM key is used up",
        400,
        "Budget has been exceeded! Current cost: 1.2, Max budget: 1.0",
        {"type": "budget_exceeded", "code": "400"},
        ("Budget has been exceeded",),
    ),
    (
        openai,
        "the key is wrong, with status 400",
        400,
        "Incorrect API key provided: sk-x.",
        {"code": "invalid_api_key"},
        ("Incorrect API key", "FETTLE_COMPATIBLE_API_KEY"),
    ),
    (
        openai,
        "the key is wrong at LiteLLM, with status 400",
        400,
        "Authentication Error, Invalid proxy server token passed. Received API Key = sk-x.",
        {"type": "auth_error", "code": "400"},
        ("Authentication Error", "FETTLE_COMPATIBLE_API_KEY"),
    ),
    (
        openai,
        "the organization is restricted (Groq)",
        400,
        (
            "Organization has been restricted. Reach out to support if you believe this was in "
            "error."
        ),
        {"code": "organization_restricted"},
        ("Organization has been restricted",),
    ),
    (
        openai,
        "the country is not served",
        403,
        "Country, region, or territory not supported",
        {"code": "unsupported_country_region_territory"},
        ("region",),
    ),
    (
        openai,
        "the project has no access to the model",
        403,
        "Project `proj_x` does not have access to model `some-model`",
        {"code": "model_not_found"},
        ("does not have access to model",),
    ),
    (
        openai,
        "a model that a key may not use, with status 404",
        404,
        "The model `some-model` does not exist or you do not have access to it.",
        {"code": "model_not_found"},
        ("does not exist",),
    ),
    (ollama, "the model is not pulled", 404, "model 'qwen3:8b' not found", {}, ("not found",)),
    (
        ollama,
        "the subscription is needed (cloud)",
        403,
        "this model requires a subscription, upgrade for access",
        {},
        ("requires a subscription",),
    ),
]

_OVERFLOWS: Mapping[str, tuple[Any, int, str, dict[str, Any]]] = {
    "OpenAI": (
        openai,
        400,
        (
            "Your input exceeds the context window of this model. Please adjust "
            "your input and try again."
        ),
        {"code": "context_length_exceeded"},
    ),
    "OpenAI, older": (
        openai,
        400,
        (
            "This model's maximum context length is 8192 tokens. However, "
            "your messages resulted in 9000 tokens."
        ),
        {},
    ),
    "xAI": (
        openai,
        400,
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        {},
    ),
    "TGI": (
        openai,
        422,
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        {"type": "validation"},
    ),
    "Copilot": (
        openai,
        400,
        "prompt token count of 93854 exceeds the limit of 90000",
        {"code": "model_max_prompt_tokens_exceeded"},
    ),
    "vLLM, decoder": (
        openai,
        400,
        (
            "The decoder prompt (length 9000) is longer than the maximum "
            "model length of 8192. Make sure that `max_model_len` is no smaller than "
            "the number of text tokens."
        ),
        {},
    ),
    "vLLM, input": (
        openai,
        400,
        (
            "You passed 8193 input tokens and requested 1 output tokens. "
            "However, the model's context length is only 8192 tokens."
        ),
        {},
    ),
    "vLLM, prompt": (
        openai,
        400,
        "The prompt is 9000 tokens, which exceeds the model's maximum input length of 8192.",
        {},
    ),
    "SGLang": (
        openai,
        400,
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        {},
    ),
    "LiteLLM": (
        openai,
        400,
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - too long",
        {"type": None, "code": "400"},
    ),
    "Mistral": (
        openai,
        400,
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for "
            "model with 32768 maximum context length"
        ),
        {},
    ),
    "llama.cpp": (
        openai,
        400,
        "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
        {"type": "exceed_context_size_error"},
    ),
    "LM Studio": (
        openai,
        400,
        (
            "Trying to keep the first 9000 tokens when context the overflows. "
            "However, the model is loaded with context length of only 4096 tokens, which "
            "is not enough."
        ),
        {},
    ),
    "Cohere": (
        openai,
        400,
        "too many tokens: the total number of tokens in the prompt exceeds the limit of 4081",
        {},
    ),
    "Fireworks": (
        openai,
        400,
        "The prompt is too long: 9000, model maximum context length: 8192",
        {},
    ),
    "Moonshot": (openai, 400, "Invalid request: Your request exceeded model token limit: 8192", {}),
    "MiniMax": (openai, 400, "invalid params, context window exceeds limit (2013)", {}),
    "DashScope": (
        openai,
        400,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        {},
    ),
    "Perplexity": (openai, 400, "The total length of all messages is too long.", {}),
    "Bedrock": (openai, 400, "Input is too long for requested model.", {}),
    "Bedrock, tokens": (
        openai,
        400,
        (
            "The model returned the following errors: Too many input "
            "tokens. Max input tokens: 8192, request input token count: 9000"
        ),
        {},
    ),
    "Databricks": (openai, 400, "Bad request: prompt token count 9000 cannot exceed 8192", {}),
    "Azure, 413": (openai, 413, "Tokens size exceeded the limit", {}),
    "Anthropic": (anthropic, 400, "prompt is too long: 210094 tokens > 200000 maximum", {}),
    "Anthropic on Bedrock": (anthropic, 400, "Input is too long for requested model.", {}),
    "Gemini": (
        gemini,
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        {},
    ),
    "Vertex": (
        gemini,
        400,
        (
            "Unable to submit request because the input token count is 9000 but "
            "model only supports up to 8192. Reduce the input token count and try again."
        ),
        {},
    ),
    "Ollama": (ollama, 400, "the input length exceeds the context length", {}),
    "Ollama, runner": (ollama, 400, "input length exceeds maximum context length", {}),
}


def _moved(status: int) -> Quirk:
    return answers(always, status, b"", location="https://elsewhere.example/v1/chat/completions")


_PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in</body></html>"


def _words(title: str, quirk: Quirk, end: End, **more: Any) -> Row:
    return openai(title, quirk, end=end, **more)


def _flat(message: str, when: When = always, status: int = 400) -> Quirk:
    return answers(
        when, status, json.dumps({"object": "error", "message": message, "code": status})
    )


ROWS: list[Row] = [
    *[
        wire(
            title,
            refuses(always, status, message, **fields),
            end=fails(*words).but_not(*_NOT_REFUSED),
            most_requests=2,
        )
        for wire, title, status, message, fields, words in _SHARED
    ],
    *[
        wire(
            f"{title}: the stand-in answers",
            refuses(always, status, message, **fields),
            stand_in=(),
        )
        for wire, title, status, message, fields, _words_ in _SHARED
    ],
    *[
        wire(
            f"{title}: the stand-in judges",
            refuses(role("critic"), status, message, **fields),
            stand_in=(),
        )
        for wire, title, status, message, fields, _words_ in _SHARED
    ],
    *[
        wire(
            f"too long for the context, as {provider} says",
            refuses(always, status, message, **fields),
            end=fails("longer than its context").but_not(*_NOT_REFUSED)
            if status != 413
            else fails("too large"),
        )
        for provider, (wire, status, message, fields) in _OVERFLOWS.items()
    ],
    *[
        row(
            "the critic's error has the provider's sentence",
            refuses(role("critic"), 400, "The flux capacitor is out of phase"),
            end=fails("flux capacitor"),
        )
        for row in (openai, anthropic, gemini, ollama)
    ],
    *[
        row(
            f"{title}: the address and its setting are named",
            quirk,
            end=does_not_succeed(_ADDRESSES[wire]).but_not("no such model"),
            most_requests=5,
        )
        for wire, row in (
            ("openai", openai),
            ("anthropic", anthropic),
            ("gemini", gemini),
            ("ollama", ollama),
        )
        for title, quirk in (
            ("moved for good (301)", _moved(301)),
            ("moved (302)", _moved(302)),
            ("moved (307)", _moved(307)),
            ("moved for good (308)", _moved(308)),
            ("a page with status 200", answers(always, 200, _PAGE, "text/html; charset=utf-8")),
            ("a page with status 404", answers(always, 404, _PAGE, "text/html")),
            ("404 page not found", answers(always, 404, "404 page not found", "text/plain")),
            ("FastAPI's Not Found", answers(always, 404, '{"detail": "Not Found"}')),
            (
                "FastAPI's Method Not Allowed",
                answers(always, 405, '{"detail": "Not Allowed"}'),
            ),
            ("an empty 404", answers(always, 404, b"", "")),
            ("an empty 405", answers(always, 405, b"", "")),
        )
    ],
    openai(
        "a page with status 403 (a firewall)",
        answers(always, 403, _PAGE, "text/html"),
        end=does_not_succeed("403"),
    ),
    openai(
        "a gateway's page with status 502, once",
        answers(first(), 502, "<html><body>502 Bad Gateway</body></html>", "text/html"),
    ),
    openai(
        "a gateway's page with status 502, always",
        answers(always, 502, "<html><body>502 Bad Gateway</body></html>", "text/html"),
        end=waits("502"),
    ),
    openai(
        "LM Studio does not know the path, with status 200",
        answers(
            always,
            200,
            '{"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 '
            'anyway"}',
        ),
        end=fails("Unexpected endpoint", _ADDRESS),
    ),
    openai(
        "a path is unknown, as the error says",
        answers(always, 404, '{"error": {"message": "Invalid URL (POST /chat/completions)"}}'),
        end=fails(_ADDRESS).but_not("no such model"),
    ),
    *[
        row(
            "no server listens: the address and its setting are named",
            address="http://127.0.0.1:1/v1",
            end=does_not_succeed(_ADDRESSES[wire]),
        )
        for wire, row in (
            ("openai", openai),
            ("anthropic", anthropic),
            ("gemini", gemini),
            ("ollama", ollama),
        )
    ],
    openai(
        "no such host: the address and its setting are named",
        address="http://no-such-host.invalid/v1",
        end=does_not_succeed(_ADDRESS),
    ),
    openai(
        "https to a server without TLS: the address and its setting are named",
        address="{tls_url}/v1",
        options={"connect_seconds": 0.2, "first_token_seconds": 0.2, "max_retries": 1},
        end=does_not_succeed(_ADDRESS),
    ),
    openai(
        "the address lacks /v1: it and its setting are named",
        address="{url}",
        end=fails(_ADDRESS).but_not("no such model"),
    ),
    openai(
        "the address has the whole path: it and its setting are named",
        address="{url}/v1/chat/completions",
        end=fails(_ADDRESS).but_not("no such model"),
    ),
    openai("the address ends with a slash", address="{url}/v1/"),
    openai(
        "LiteLLM's wait is in a header of its own",
        answers(
            both(second_call, first(1)),
            429,
            '{"error": {"message": "litellm.RateLimitError: slow down", "type": '
            '"throttling_error", "param": null, "code": "429"}}',
            **{"llm_provider-retry-after": "0"},
        ),
    ),
    openai(
        "LiteLLM asks for a long wait in a header of its own",
        answers(
            second_call,
            429,
            '{"error": {"message": "litellm.RateLimitError: slow down", "code": "429"}}',
            **{"llm_provider-retry-after": "900"},
        ),
        end=waits("slow down"),
        most_requests=4,
    ),
    openai(
        "a long wait is asked for in Retry-After",
        answers(second_call, 429, '{"error": {"message": "slow down"}}', retry_after="900"),
        end=waits("slow down"),
        most_requests=4,
    ),
    openai(
        "too many tokens a minute is no overflow",
        refuses(second_call, 429, "Too many tokens, please wait before trying again."),
        end=waits("please wait"),
    ),
    openai(
        "a request too large for a rate limit is no overflow (Groq)",
        refuses(
            second_call,
            413,
            "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000",
            code="rate_limit_exceeded",
        ),
        end=does_not_succeed("tokens per minute"),
    ),
    _words("a flat error object", _flat("The flux capacitor fails"), fails("flux capacitor")),
    _words(
        "an error in `detail`",
        answers(always, 400, '{"detail": "The flux capacitor fails"}'),
        fails("flux capacitor"),
    ),
    _words(
        "an error in `message`",
        answers(always, 400, '{"message": "The flux capacitor fails"}'),
        fails("flux capacitor"),
    ),
    _words(
        "an error in `errors`",
        answers(always, 400, '{"errors": [{"code": 5, "message": "The flux capacitor fails"}]}'),
        fails("flux capacitor"),
    ),
    _words(
        "an error as a text",
        answers(always, 400, "The flux capacitor fails", "text/plain"),
        fails("flux capacitor"),
    ),
    _words(
        "an error as a JSON text",
        answers(always, 400, '"The flux capacitor fails"'),
        fails("flux capacitor"),
    ),
    _words("an error without a body", answers(always, 400, b""), fails("400")),
    _words(
        "OpenRouter's error has the provider's own words in its metadata",
        refuses(
            always,
            400,
            "Provider returned error",
            metadata={"raw": '{"error":{"message":"The flux capacitor fails"}}'},
        ),
        fails("flux capacitor"),
        name="openrouter:some/model",
    ),
    _words(
        "an error object in place of a reply, with status 200",
        answers(always, 200, '{"error": {"message": "The flux capacitor fails", "code": 400}}'),
        fails("flux capacitor"),
    ),
    _words(
        "an error object with a code as text in place of a reply, with status 200",
        answers(always, 200, '{"error": {"message": "The flux capacitor fails", "code": "400"}}'),
        fails("flux capacitor"),
    ),
    _words(
        "a flat error object in place of a reply, with status 200",
        answers(
            always, 200, '{"object": "error", "message": "The flux capacitor fails", "code": 400}'
        ),
        does_not_succeed("flux capacitor"),
    ),
    _words(
        "the model is still loaded (llama.cpp), once",
        refuses(first(), 503, "Loading model", type="unavailable_error"),
        End(("succeeded",)),
    ),
    _words(
        "Groq's capacity is used up (498), once",
        refuses(first(), 498, "Flex tier capacity exceeded"),
        End(("succeeded",)),
        name="groq:openai/gpt-oss-20b",
    ),
    anthropic("overloaded (529), once", refuses(first(), 529, "Overloaded")),
    gemini("overloaded (503), once", refuses(first(), 503, "The model is overloaded.")),
    *on_all("an internal error (500), once", refuses(first(), 500, "Internal server error")),
    *on_all(
        "an internal error (500), always: the stand-in answers",
        refuses(always, 500, "Internal server error"),
        stand_in=(),
    ),
    *on_all(
        "the key is not accepted (401): the stand-in answers",
        refuses(always, 401, "Invalid API Key"),
        stand_in=(),
    ),
    *on_all(
        "the key is not accepted (401): its setting is named",
        refuses(always, 401, "Invalid API Key"),
        end=fails("Invalid API Key", "_API_KEY"),
        most_requests=1,
    ),
    *on_all("too many requests (429), once", refuses(first(), 429, "Rate limit reached")),
    *on_all(
        "an odd refusal of the request is not sent to another provider",
        refuses(always, 400, "The flux capacitor is out of phase"),
        stand_in=(),
        end=fails("flux capacitor"),
    ),
]
