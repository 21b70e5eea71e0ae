"""Providers with paths, keys, ids or errors of their own: Azure OpenAI, Mistral, Vertex AI."""

from __future__ import annotations

import json
import re

from support.quirks.edits import each_delta, finish
from support.quirks.quirk import (
    Event,
    ReceivedRequest,
    always,
    answers,
    each_event,
    has,
    refuses,
    role,
)
from support.quirks.row import Ran, Row, anthropic, fails, gemini, openai

AZURE = "azure:my-deployment"
MISTRAL = "mistral:mistral-medium-latest"
VERTEX = "vertex:gemini-2.5-flash"
_EXTRA = {
    "type": "extra_forbidden",
    "loc": ["body", "stream_options"],
    "msg": "Extra inputs are not permitted",
}


def _azure_error(code: str, message: str) -> str:
    return json.dumps({"error": {"code": code, "message": message}})


def _mistral_error(message: str, **fields: object) -> str:
    """Mistral's error object is the body itself."""
    error = {"object": "error", "message": message, "type": "invalid_request_error"}
    return json.dumps({**error, "param": None, "code": None, **fields})


def _google_error(code: int, message: str, status: str) -> str:
    return json.dumps({"error": {"code": code, "message": message, "status": status}})


def _asked_azure(ran: Ran) -> bool:
    path = "/openai/deployments/my-deployment/chat/completions?api-version="
    return all(
        request.path.startswith(path) and request.headers["api-key"] == "azure-key"
        for request in ran.requests
    )


def _asked_with_a_token_alone(ran: Ran) -> bool:
    return all(
        request.headers["authorization"] == "Bearer bedrock-key"
        and "x-api-key" not in request.headers
        for request in ran.requests
    )


def _asked_vertex(ran: Ran) -> bool:
    path = "/v1beta1/publishers/google/models/gemini-2.5-flash:streamGenerateContent"
    return all(
        request.path.startswith(path) and request.headers["x-goog-api-key"] == "vertex-key"
        for request in ran.requests
    )


def _filter_results(event: Event) -> Event:
    for choice in event["choices"]:
        choice["content_filter_results"] = {"hate": {"filtered": False, "severity": "safe"}}
    return event


def _with_prompt_results(event: Event) -> list[Event]:
    """Azure's first event has no choice."""
    if event["choices"] and event["choices"][0]["delta"].get("role"):
        results = [{"prompt_index": 0, "content_filter_results": {}}]
        return [{**event, "choices": [], "prompt_filter_results": results}, event]
    return [event]


def _thinks_in_blocks(delta: Event) -> None:
    """Magistral's content is a list while the model thinks, and a text afterwards."""
    if delta.get("role"):
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}
        delta["content"] = [thought]


def _wrong_ids(received: ReceivedRequest) -> bool:
    ids = [
        call["id"]
        for message in received.body["messages"]
        for call in message.get("tool_calls") or ()
    ]
    results = [m["tool_call_id"] for m in received.body["messages"] if m["role"] == "tool"]
    return not all(re.fullmatch(r"[a-zA-Z0-9]{9}", call_id) for call_id in (*ids, *results))


def _short_choice(received: ReceivedRequest) -> bool:
    return received.body.get("tool_choice") not in (None, "auto", "none", "any", "required")


ROWS: list[Row] = [
    openai("Azure OpenAI, a plain server", name=AZURE, check=_asked_azure),
    openai(
        "Azure OpenAI reports its content filter in each event",
        each_event(_filter_results),
        each_event(_with_prompt_results),
        name=AZURE,
    ),
    openai(
        "Azure OpenAI refuses the key",
        answers(
            always,
            401,
            _azure_error(
                "401",
                "Access denied due to invalid subscription key or wrong API endpoint. Make sure to "
                "provide a valid key for an active subscription and use a correct regional API "
                "endpoint for your resource.",
            ),
        ),
        name=AZURE,
        end=fails(
            "the key is not accepted", "invalid subscription key", "AZURE_OPENAI_API_KEY"
        ).but_not("gateway"),
    ),
    openai(
        "Azure OpenAI does not know the address",
        answers(always, 404, _azure_error("404", "Resource not found")),
        name=AZURE,
        end=fails("FETTLE_AZURE_BASE_URL", "https://NAME.openai.azure.com"),
    ),
    openai(
        "Azure OpenAI does not know the deployment",
        answers(
            always,
            404,
            _azure_error(
                "DeploymentNotFound",
                "The API deployment for this resource does not exist. If you created the "
                "deployment within the last 5 minutes, please wait a moment and try again.",
            ),
        ),
        name=AZURE,
        end=fails("no such model", "The API deployment for this resource does not exist"),
    ),
    openai(
        "Azure OpenAI's content filter refuses the prompt",
        refuses(
            role("executor"),
            400,
            "The response was filtered due to the prompt triggering Azure OpenAI's content "
            "management policy. Please modify your prompt and retry.",
            type=None,
            param="prompt",
            code="content_filter",
            status=400,
            innererror={"code": "ResponsibleAIPolicyViolation"},
        ),
        name=AZURE,
        end=fails("triggering Azure OpenAI's content management policy").but_not("credit", "key"),
    ),
    openai(
        "Azure OpenAI's content filter cuts the reply",
        finish("content_filter", role("executor")),
        name=AZURE,
        end=fails("declined to answer"),
    ),
    openai(
        "Azure OpenAI: a model that thinks, behind a deployment's name",
        refuses(
            has("temperature"),
            400,
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the "
            "default (1) value is supported.",
            type="invalid_request_error",
            param="temperature",
            code="unsupported_value",
        ),
        name=AZURE,
    ),
    openai(
        "Azure OpenAI of an API version without stream_options",
        refuses(
            has("stream_options"),
            400,
            "Unknown parameter: 'stream_options'.",
            type="invalid_request_error",
            param="stream_options",
            code="unknown_parameter",
        ),
        name=AZURE,
    ),
    openai(
        "Mistral, a strict server: ids of nine characters, no stream_options",
        answers(
            _wrong_ids,
            400,
            _mistral_error("Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9."),
        ),
        answers(
            has("stream_options"),
            422,
            json.dumps({"detail": [_EXTRA]}),
        ),
        name=MISTRAL,
        check=lambda ran: (
            len(ran.requests) == 4 and all(charge.cost_usd for charge in ran.charges())
        ),
    ),
    openai(
        "Mistral refuses the key",
        answers(always, 401, json.dumps({"detail": "Unauthorized"})),
        name=MISTRAL,
        end=fails("the key is not accepted", "Unauthorized", "MISTRAL_API_KEY"),
    ),
    openai(
        "Mistral does not know the model",
        answers(
            always,
            400,
            _mistral_error("Invalid model: mistral-medium-latest", type="invalid_model"),
        ),
        name=MISTRAL,
        end=fails("Invalid model: mistral-medium-latest"),
    ),
    openai(
        "Mistral refuses a named object in tool_choice",
        answers(_short_choice, 422, _mistral_error("tool_choice must be auto, none or any")),
        name=MISTRAL,
    ),
    openai(
        "Mistral refuses every forced tool",
        answers(
            lambda received: received.body.get("tool_choice") not in (None, "auto"),
            400,
            _mistral_error("tool_choice is not supported by this model"),
        ),
        name=MISTRAL,
    ),
    openai(
        "Mistral's thoughts are blocks in the content",
        each_delta(_thinks_in_blocks),
        name="mistral:magistral-medium-latest",
    ),
    gemini("Vertex AI with a key, a plain server", name=VERTEX, check=_asked_vertex),
    gemini(
        "Vertex AI refuses the key",
        answers(
            always,
            401,
            _google_error(
                401,
                "API keys are not supported by this API. Expected OAuth2 access token or other "
                "authentication credentials that assert a principal.",
                "UNAUTHENTICATED",
            ),
        ),
        name=VERTEX,
        end=fails("the key is not accepted", "Expected OAuth2 access token"),
    ),
    gemini(
        "Vertex AI does not know the model",
        answers(
            always,
            404,
            _google_error(
                404,
                "Publisher Model `projects/p/locations/global/publishers/google/models/"
                "gemini-2.5-flash` was not found or your project does not have access to it.",
                "NOT_FOUND",
            ),
        ),
        name=VERTEX,
        end=fails("no such model", "was not found or your project does not have access to it"),
    ),
    anthropic(
        "Claude on Amazon Bedrock takes its key as a bearer token",
        name="anthropic:anthropic.claude-haiku-4-5",
        options={
            "headers": {"anthropic:*": {"authorization": "Bearer bedrock-key", "x-api-key": None}}
        },
        check=_asked_with_a_token_alone,
    ),
]
