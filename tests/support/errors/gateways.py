"""Error bodies of gateways, waits that providers ask for, and answers from wrong addresses."""

from __future__ import annotations

import json

from support.errors.bodies import (
    GEMINI_QUOTA,
    Body,
    anthropic,
    google,
    litellm,
    openai,
    quota,
    retry_info,
)

from agents.errors import ErrorKind as K

_INNER_429 = (
    'litellm.RateLimitError: RateLimitError: GroqException - {"error":{"message":"Rate limit '
    "reached for model `m` in organization `o` on tokens per minute (TPM): Limit 6000, Used 5000, "
    'Requested 2000. Please try again in 7.66s.","type":"tokens","code":"rate_limit_exceeded"}}'
)
_OPENAI_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes"
)
PAGE = "<html><head><title>{}</title></head><body><center>nginx</center></body></html>"
GATEWAYS = [
    Body(
        "LiteLLM, the provider's key",
        401,
        litellm(
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - Incorrect API key "
            "provided: sk-a***b.",
            "401",
        ),
        K.KEY,
        ("a gateway may mean its own key",),
    ),
    Body(
        "LiteLLM, 500 with the status in `code`",
        500,
        litellm("litellm.AuthenticationError: x - token refused", "401"),
        K.KEY,
    ),
    Body(
        "LiteLLM, 500 with the status in a name",
        500,
        litellm(
            'litellm.AuthenticationError: GroqException - {"error":{"message":"Denied"}}', "500"
        ),
        K.KEY,
        ("(401: Denied)",),
    ),
    Body(
        "LiteLLM, text code", 500, litellm(_INNER_429, "429"), K.RATE, ("(429: Rate",), True, 7.66
    ),
    Body(
        "LiteLLM, the provider's wait",
        429,
        litellm("litellm.RateLimitError: slow down", "429"),
        K.RATE,
        retry=12,
        headers={"llm_provider-retry-after": "12"},
    ),
    Body(
        "LiteLLM, no money at OpenAI",
        429,
        litellm(f"litellm.RateLimitError: OpenAIException - {_OPENAI_QUOTA}", "429"),
        K.CREDIT,
    ),
    Body(
        "LiteLLM, its own budget",
        400,
        litellm("Budget has been exceeded! Current cost: 11, Max budget: 10", "400"),
        K.CREDIT,
    ),
    Body(
        "OpenRouter, the provider's sentence",
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(anthropic("messages.1: all messages must have content")),
                    "provider_name": "Anthropic",
                },
            }
        },
        K.REQUEST,
        ("(400: messages.1: all messages must have content)",),
        False,
    ),
    Body(
        "a wrapper of OpenAI's library",
        400,
        {"detail": "Error code: 400 - {'error': {'message': \"Unsupported value: 'x'\"}}"},
        K.REQUEST,
        ("(400: Unsupported value: 'x')",),
        False,
    ),
    Body(
        "Vertex behind LiteLLM",
        400,
        litellm(
            'litellm.BadRequestError: VertexAIException BadRequestError - b\'{\\n  "error": {\\n '
            '"code": 400,\\n "message": "Unable to submit request",\\n "status": "X"\\n }\\n}\'',
            "400",
        ),
        K.REQUEST,
        ("(400: Unable to submit request)",),
        False,
    ),
    Body(
        "FastAPI, a list",
        422,
        {
            "detail": [
                {"loc": ["body", "messages", 0], "msg": "field required", "input": {"message": "x"}}
            ]
        },
        K.REQUEST,
        ("(422: body.messages.0: field required)",),
        False,
    ),
    Body(
        "errors as a list",
        400,
        {"errors": [{"code": 7003, "message": "No."}]},
        K.REQUEST,
        ("No.",),
        False,
    ),
    Body("nothing at all", 400, "", K.REQUEST, ("Bad Request",), False),
]
WAITS = [
    Body(
        "Gemini, a day",
        429,
        google(
            429,
            f"{GEMINI_QUOTA}\nPlease retry in 38.2s.",
            "RESOURCE_EXHAUSTED",
            quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
            retry_info("38s"),
        ),
        K.QUOTA,
        ("the quota of the day is used up",),
        True,
        3_600,
    ),
    Body(
        "Gemini, a minute",
        429,
        google(
            429,
            f"{GEMINI_QUOTA}\nPlease retry in 38.2s.",
            "RESOURCE_EXHAUSTED",
            quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
            retry_info("38s"),
        ),
        K.RATE,
        retry=38,
    ),
    Body(
        "Groq, a day",
        429,
        openai(
            "Rate limit reached for model `m` on requests per day (RPD): Limit 1000, Used 1000, "
            "Requested 1. Please try again in 1m26.4s. Need more tokens? Upgrade at "
            "https://console.groq.com/settings/billing",
            "rate_limit_exceeded",
            "requests",
        ),
        K.QUOTA,
        retry=86.4,
    ),
    Body(
        "OpenRouter, a day",
        429,
        {
            "error": {
                "message": "Rate limit exceeded: free-models-per-day. Add 10 credits",
                "code": 429,
            }
        },
        K.QUOTA,
        retry=3_600,
    ),
    Body(
        "Groq, the limit of tokens",
        429,
        openai("Rate limit reached", "rate_limit_exceeded"),
        K.RATE,
        retry=7.66,
        headers={
            "x-ratelimit-remaining-requests": "999",
            "x-ratelimit-reset-requests": "1m26.4s",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "7.66s",
        },
    ),
    Body(
        "Azure, milliseconds",
        429,
        openai("Please retry after 1 second."),
        K.RATE,
        retry=0.25,
        headers={"retry-after-ms": "250", "retry-after": "1"},
    ),
    Body("a wait in words", 429, openai("Please retry after 26 seconds."), K.RATE, retry=26),
    Body("Anthropic", 529, anthropic("Overloaded", "overloaded_error"), K.OVERLOADED, retry=-1),
    Body(
        "llama.cpp, starting",
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        K.OVERLOADED,
        retry=-1,
    ),
    Body(
        "Bedrock, busy",
        429,
        {"message": "Too many tokens, please wait before trying again."},
        K.RATE,
        retry=-1,
    ),
    Body(
        "a gateway's page",
        502,
        PAGE.format("502 Bad Gateway"),
        K.OVERLOADED,
        ("a web page, '502 Bad Gateway'",),
        retry=-1,
    ),
]
ADDRESSES = [
    Body("nginx, Go", 404, "404 page not found", K.ADDRESS, ("404: 404 page not found, from ",)),
    Body("FastAPI", 404, {"detail": "Not Found"}, K.ADDRESS),
    Body("FastAPI, method", 405, {"detail": "Method Not Allowed"}, K.ADDRESS),
    Body("APIM", 404, {"statusCode": 404, "message": "Resource not found"}, K.ADDRESS),
    Body("Azure", 404, {"error": {"code": "404", "message": "Resource not found"}}, K.ADDRESS),
    Body(
        "llama.cpp",
        404,
        {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}},
        K.ADDRESS,
    ),
    Body("OpenAI", 404, openai("Invalid URL (POST /v1/v1/chat/completions)"), K.ADDRESS),
    Body("nothing", 404, "", K.ADDRESS),
    Body("nginx, a page", 404, PAGE.format("404 Not Found"), K.ADDRESS, ("'404 Not Found'",)),
    Body("Cloudflare", 403, f"<!DOCTYPE html>{PAGE.format('Just a moment...')}", K.ADDRESS),
    Body(
        "a redirect",
        302,
        "",
        K.ADDRESS,
        ("302: a redirect to https://login.internal/start, from ",),
        headers={"location": "https://me:secret@login.internal/start?token=secret"},
    ),
    Body(
        "a relative redirect",
        308,
        "",
        K.ADDRESS,
        ("/v2, from http://",),
        headers={"location": "/v2"},
    ),
    Body("plain HTTP to TLS", 400, "Client sent an HTTP request to an HTTPS server.", K.ADDRESS),
]
