"""An error of a provider is classified by its message: its kind, whether another model may answer,
the wait, and the text.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import httpx
import pytest
from support.errors.bodies import ACCOUNTS, MODELS, POLICY, Body, openai
from support.errors.contradictions import CONTRADICTIONS
from support.errors.gateways import ADDRESSES, GATEWAYS, PAGE, WAITS
from support.errors.lengths import NOT_TOO_LONG, TOO_LONG

from agents.errors import (
    ContextExceeded,
    ErrorKind,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    another_may_answer,
)
from agents.models.error_mapping.describe import describe_error
from agents.models.error_mapping.mapping import (
    at_address,
    error_from_response,
    error_in_reply,
    unreadable,
)
from settings.starting.provider_rows import provider_variable

K = ErrorKind
URL = httpx.URL("http://user:secret@models.internal:8000/chat/completions?key=secret")


def error_of(row: Body) -> ModelError:
    body = row.body if isinstance(row.body, str) else json.dumps(row.body)
    request = httpx.Request("POST", URL)
    response = httpx.Response(row.status, headers=row.headers, content=body, request=request)
    return at_address(error_from_response(body.encode(), response), URL, proven=False)


def describe(error: ModelError, name: str) -> str:
    return describe_error(error, name, partial(provider_variable, name.partition(":")[0]))


@pytest.mark.parametrize(
    "row",
    [*ACCOUNTS, *MODELS, *GATEWAYS, *WAITS, *ADDRESSES, *POLICY, *CONTRADICTIONS],
    ids=lambda row: f"{row.source}-{row.status}",
)
def test_an_error_is_attributed_by_its_message(row: Body) -> None:
    error = error_of(row)
    assert isinstance(error, ModelRefused if row.retry is None else ModelUnavailable)
    assert isinstance(error, ModelRefused | ModelUnavailable)
    assert error.kind is row.kind, error
    assert another_may_answer(error) is row.stand_in
    if isinstance(error, ModelUnavailable):
        wait = None if row.retry == -1 else row.retry
        assert error.retry_after_seconds == (None if wait is None else pytest.approx(wait))
    text = describe(error, "compatible:some-model")
    for words in row.words:
        assert words in text
    assert "secret" not in text


@pytest.mark.parametrize("row", ADDRESSES, ids=lambda row: row.source)
def test_a_wrong_address_is_named_with_its_setting(row: Body) -> None:
    text = describe(error_of(row), "compatible:some-model")
    assert "http://models.internal:8000/chat/completions" in text
    assert "FETTLE_COMPATIBLE_BASE_URL" in text
    assert "/v1" in text


@pytest.mark.parametrize("row", ADDRESSES, ids=lambda row: row.source)
def test_an_address_that_has_replied_before_is_unavailable_and_not_wrong(row: Body) -> None:
    again = at_address(error_of(row), URL, proven=True)
    assert isinstance(again, ModelUnavailable)
    assert (again.kind, again.unproven) == (K.OVERLOADED, False)


@pytest.mark.parametrize("source", TOO_LONG)
def test_a_request_that_is_too_long_is_recognised(source: str) -> None:
    status, message = TOO_LONG[source]
    for body in (openai(message), {"error": message}, {"message": message}, {"detail": message}):
        error = error_of(Body(source, status, body, K.TOO_LONG))
        assert isinstance(error, ContextExceeded)
        assert error.kind is K.TOO_LONG
    for in_reply in ({"message": message}, {"code": str(status), "message": message}, message):
        assert isinstance(error_in_reply(in_reply), ContextExceeded)


@pytest.mark.parametrize("source", NOT_TOO_LONG)
def test_a_limit_on_output_that_is_too_high_is_not_a_long_request(source: str) -> None:
    status, message = NOT_TOO_LONG[source]
    error = error_of(Body(source, status, openai(message), K.REQUEST))
    assert type(error) is ModelRefused
    assert error.kind is K.REQUEST


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"message": "Rate limit", "code": "429"}, K.RATE, 429),
        ({"message": "Rate limit", "type": "rate_limit_error"}, K.RATE, 429),
        ({"message": "Denied", "type": "authentication_error"}, K.KEY, 401),
        ({"message": "Overloaded", "type": "overloaded_error"}, K.OVERLOADED, 529),
        ({"message": "no room"}, K.OVERLOADED, 500),
        ("model requires more system memory", K.OVERLOADED, 200),
        ("Unexpected endpoint or method. (POST /chat/completions)", K.ADDRESS, 200),
    ],
)
def test_an_error_instead_of_a_reply(error: Any, kind: ErrorKind, status: int) -> None:
    mapped = error_in_reply(error)
    assert isinstance(mapped, ModelRefused | ModelUnavailable)
    assert (mapped.kind, mapped.status) == (kind, status)


def test_a_page_instead_of_a_reply_is_retried_only_a_few_times() -> None:
    """A gateway sends such a page while its server restarts; a wrong address always sends such a
    page.
    """
    mapped = at_address(unreadable("text/html", PAGE.format("Sign in")), URL, proven=False)
    assert isinstance(mapped, ModelUnavailable)
    assert (mapped.kind, mapped.unproven) == (K.ADDRESS, True)
    assert "a web page, 'Sign in', from http://models.internal" in str(mapped)


def test_a_limit_of_tokens_per_minute_is_not_a_context() -> None:
    message = (
        "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 8000"
    )
    for status in (413, 429):
        error = error_of(Body("Groq", status, openai(message, "rate_limit_exceeded"), K.TOO_LARGE))
        assert isinstance(error, ContextExceeded)
        assert "set FETTLE_MAX_OUTPUT_TOKENS lower" in describe(error, "groq:x")


def test_the_remedy_for_a_missing_ollama_model_is_a_pull() -> None:
    error = error_of(Body("Ollama", 404, {"error": "model 'qwen3:8b' not found"}, K.MODEL))
    assert "run `ollama pull qwen3:8b`" in describe(error, "ollama:qwen3:8b")


@pytest.mark.parametrize("depth", [10, 50_000])
def test_a_deep_or_long_body_is_read(depth: int) -> None:
    for body in ('{"error":' * depth, '{"error":' * depth + "1" + "}" * depth, "[" * depth):
        error = error_of(Body("odd", 400, body, K.REQUEST))
        assert isinstance(error, ModelRefused)
