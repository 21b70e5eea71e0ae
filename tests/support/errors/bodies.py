"""Real error bodies of providers, and the error that Fettle must read from each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.errors import ErrorKind as K


@dataclass(frozen=True)
class Body:
    """A response, and the error that it means. `retry`: the seconds to wait; None: the error is
    final; -1: the model is unavailable, and the response names no time.
    """

    source: str
    status: int
    body: Any
    kind: K
    words: tuple[str, ...] = ()
    stand_in: bool = True
    retry: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def openai(message: str, code: Any = None, kind: Any = "invalid_request_error", **more: Any) -> Any:
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}


def litellm(message: str, code: str, **more: Any) -> Any:
    return openai(message, code, None, **more)


def anthropic(message: str, kind: str = "invalid_request_error") -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}}


def google(code: int, message: str, status: str, *details: Any) -> Any:
    error = {"code": code, "message": message, "status": status}
    return {"error": {**error, **({"details": list(details)} if details else {})}}


def quota(name: str) -> Any:
    violation = {"quotaMetric": "generate_content_free_tier_requests", "quotaId": name}
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


def retry_info(delay: str) -> Any:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


GEMINI_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)
ACCOUNTS = [
    Body(
        "Anthropic, no credit",
        400,
        anthropic("Your credit balance is too low to access the Anthropic API. Please go to Plans"),
        K.CREDIT,
        ("no credit left", "400: Your credit balance is too low", "top it up"),
    ),
    Body(
        "Gemini, wrong key",
        400,
        google(
            400,
            "API key not valid. Please pass a valid API key.",
            "INVALID_ARGUMENT",
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ),
        K.KEY,
        ("the key is not accepted", "FETTLE_COMPATIBLE_API_KEY"),
    ),
    Body(
        "Gemini, expired key",
        400,
        google(400, "API key expired. Please renew the API key.", "INVALID_ARGUMENT"),
        K.KEY,
    ),
    Body(
        "Gemini, region",
        400,
        google(400, "User location is not supported for the API use.", "FAILED_PRECONDITION"),
        K.ACCOUNT,
        ("region", "User location is not supported"),
    ),
    Body(
        "OpenAI, region",
        403,
        openai(
            "Country, region, or territory not supported", "unsupported_country_region_territory"
        ),
        K.ACCOUNT,
        ("region",),
    ),
    Body(
        "OpenAI, hard limit",
        400,
        openai("Billing hard limit has been reached", "billing_hard_limit_reached"),
        K.CREDIT,
    ),
    Body(
        "OpenAI, inactive account",
        429,
        openai("Your account is not active, please check your billing", "billing_not_active"),
        K.CREDIT,
    ),
    Body(
        "OpenAI, no money",
        429,
        openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
        K.CREDIT,
    ),
    Body("DeepSeek, no money", 402, openai("Insufficient Balance"), K.CREDIT),
    Body(
        "Moonshot, no money",
        429,
        openai(
            "Your account org-x is suspended, please check your plan",
            None,
            "exceeded_current_quota",
        ),
        K.CREDIT,
    ),
    Body(
        "Zhipu, no money",
        429,
        {"error": {"code": "1113", "message": "Insufficient balance. Please recharge."}},
        K.CREDIT,
    ),
    Body(
        "xAI, no money",
        403,
        {"code": "forbidden", "error": "Your newly created team doesn't have any credits yet."},
        K.CREDIT,
    ),
    Body(
        "Qwen, overdue account",
        400,
        {
            "code": "Arrearage",
            "message": "Access denied, make sure your account is in good standing",
        },
        K.CREDIT,
    ),
    Body("Anthropic, disabled", 400, anthropic("This organization has been disabled."), K.ACCOUNT),
    Body(
        "OpenRouter, data policy",
        404,
        {"error": {"message": "No endpoints found matching your data policy.", "code": 404}},
        K.ACCOUNT,
    ),
    Body(
        "Gemini, no quota for a model",
        429,
        google(
            429,
            f"{GEMINI_QUOTA}\n* Quota exceeded for metric: generativelanguage.googleapis.com/"
            "generate_content_free_tier_requests, limit: 0\nPlease retry in 7.1s.",
            "RESOURCE_EXHAUSTED",
            retry_info("7s"),
        ),
        K.ACCESS,
        ("the key may not use this model", "limit: 0"),
    ),
    Body(
        "LiteLLM, key without the model",
        401,
        litellm("key not allowed to access model. It can only access models=['a']", "401"),
        K.ACCESS,
    ),
    Body(
        "Groq, terms",
        400,
        openai("The model `m` requires terms acceptance.", "model_terms_required"),
        K.ACCESS,
    ),
]
MODELS = [
    Body(
        "Groq, shut down",
        400,
        openai(
            "The model `llama3-70b` has been decommissioned and is no longer supported.",
            "model_decommissioned",
        ),
        K.MODEL,
        ("there is no such model", "has been decommissioned", "fettle models"),
    ),
    Body(
        "OpenAI, unknown",
        404,
        openai("The model `x` does not exist or you do not have access to it.", "model_not_found"),
        K.MODEL,
    ),
    Body(
        "OpenRouter, unknown",
        400,
        {"error": {"message": "foo/bar is not a valid model ID", "code": 400}},
        K.MODEL,
    ),
    Body("DeepSeek, unknown", 400, openai("Model Not Exist"), K.MODEL),
    Body("Mistral, unknown", 400, {"object": "error", "message": "Invalid model: x"}, K.MODEL),
    Body(
        "LiteLLM, unknown",
        400,
        litellm(
            "/chat/completions: Invalid model name passed in model=x. Call `/v1/models`", "400"
        ),
        K.MODEL,
    ),
    Body("Ollama, unknown", 404, {"error": "model 'x' not found, try pulling it first"}, K.MODEL),
    Body(
        "Gemini, unknown",
        404,
        google(404, "models/g is not found for API version v1beta", "NOT_FOUND"),
        K.MODEL,
    ),
    Body("Anthropic, unknown", 404, anthropic("model: claude-x", "not_found_error"), K.MODEL),
    Body(
        "Azure, no deployment",
        404,
        openai("The API deployment for this resource does not exist.", "DeploymentNotFound"),
        K.MODEL,
    ),
    Body(
        "Bedrock, unknown", 400, {"message": "The provided model identifier is invalid."}, K.MODEL
    ),
    Body(
        "Ollama, no tools",
        400,
        {"error": "registry.ollama.ai/library/gemma:2b does not support tools"},
        K.TOOLS,
        ("cannot call tools", "gemma:2b does not support tools"),
    ),
    Body(
        "OpenRouter, no tools",
        404,
        {"error": {"message": "No endpoints found that support tool use.", "code": 404}},
        K.TOOLS,
    ),
    Body(
        "vLLM, started without a parser",
        400,
        {
            "object": "error",
            "message": '"auto" tool choice requires --enable-auto-tool-choice and '
            "--tool-call-parser to be set",
            "type": "BadRequestError",
            "code": 400,
        },
        K.TOOLS,
        ("tool-call parser",),
    ),
    Body(
        "llama.cpp, started without --jinja",
        500,
        {"error": {"code": 500, "message": "tools param requires --jinja flag"}},
        K.TOOLS,
        ("start the server with --jinja",),
    ),
]
POLICY = [
    Body(
        "Azure",
        400,
        openai(
            "The response was filtered due to Azure's content management policy", "content_filter"
        ),
        K.POLICY,
        stand_in=False,
    ),
    Body("DeepSeek", 400, openai("Content Exists Risk"), K.POLICY, stand_in=False),
    Body(
        "Qwen", 400, {"code": "data_inspection_failed", "message": "No."}, K.POLICY, stand_in=False
    ),
    Body(
        "OpenRouter",
        403,
        {"error": {"code": 403, "message": "x requires moderation. Your input was flagged"}},
        K.POLICY,
        stand_in=False,
    ),
]
