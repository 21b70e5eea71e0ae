from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import groq
import httpx
import pytest

from agents.errors import ContextExceeded, ModelError, ModelRefused, ModelUnavailable
from agents.models.error_mapping.error_body import LONGEST_SECONDS, retry_after_seconds
from agents.models.error_mapping.mapping import classify, error_from_response

REQUEST = httpx.Request("POST", "http://127.0.0.1/")


def error_from_status(
    status: int, message: str, details: dict[str, Any], headers: dict[str, str]
) -> ModelError:
    body = json.dumps({"error": {"message": message, **details}}).encode()
    return error_from_response(body, httpx.Response(status, headers=headers, request=REQUEST))


@pytest.mark.parametrize("status", [408, 409, 429, 498, 500, 502, 503, 504, 529])
def test_temporary_errors_are_unavailable(status: int) -> None:
    error = error_from_status(status, "", {}, {})
    assert type(error) is ModelUnavailable
    assert error.status == status


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (413, "rate_limit_exceeded", "Request too large for model"),
        (400, None, "This model's maximum context length is 8192 tokens."),
        (400, None, "The input token count (1100000) exceeds the maximum number of tokens allowed"),
    ],
)
def test_requests_that_are_too_long_have_their_own_error(
    status: int, code: str | None, words: str
) -> None:
    error = error_from_status(status, words, {"code": code}, {})
    assert type(error) is ContextExceeded
    assert error.status == status


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_lasting_errors_are_refusals(status: int) -> None:
    error = error_from_status(status, "", {}, {})
    assert type(error) is ModelRefused
    assert error.status == status


@pytest.mark.parametrize(
    "error",
    [
        groq.APIConnectionError(request=REQUEST),
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("peer closed connection"),
        ConnectionResetError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_faults_of_the_connection_are_unavailable(error: Exception) -> None:
    if isinstance(error, groq.APIConnectionError):
        error.__cause__ = httpx.ConnectError("refused")
    mapped = classify(error)
    assert type(mapped) is ModelUnavailable
    assert str(mapped)


def test_the_wait_is_read_from_the_header_of_groq() -> None:
    error = error_from_status(429, "", {}, {"retry-after": "7.5"})
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_seconds == 7.5


def test_the_wait_is_read_from_the_body_of_gemini() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    help_link = {"@type": "type.googleapis.com/google.rpc.Help"}
    error = error_from_status(429, "", {"code": 429, "details": [help_link, info]}, {})
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_seconds == 34.5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None),
        ("Mon, 99 Jan 99999999999999999999 00:00:00 GMT", None),
        ("9" * 400, None),
        ("1e300", LONGEST_SECONDS),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_SECONDS),
    ],
)
def test_an_invalid_wait_is_ignored_and_a_long_wait_is_bounded(
    header: str, seconds: float | None
) -> None:
    error = error_from_status(429, "", {}, {"retry-after": header})
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_seconds == seconds


def test_classification_imports_no_provider_library() -> None:
    code = (
        "import sys; from agents.models.error_mapping.mapping import classify;"
        "classify(ValueError());"
        "print([m for m in ('groq', 'google.genai', 'langchain_groq', 'langchain_google_genai')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("headers", "details", "message", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "2"}, {}, "", 1.5),
        ({"llm_provider-retry-after": "12"}, {}, "", 12),
        (
            {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m26.4s"},
            {},
            "",
            86.4,
        ),
        (
            {"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "1m26.4s"},
            {},
            "",
            None,
        ),
        (
            {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "60ms"},
            {},
            "",
            0.06,
        ),
        ({}, {}, "Please try again in 2h3m4.5s.", 7_384.5),
        ({}, {}, "Please retry after 26 seconds.", 26),
        ({}, {}, "Try again in 5 minutes", 300),
        ({}, {}, "Retry after 500 milliseconds", None),
        ({}, {}, "slow down", None),
        ({"retry-after": "3"}, {}, "Please try again in 20s", 3),
        ({"retry-after": "5, 10"}, {}, "", 5),
        ({"retry-after": "120; comment"}, {}, "", 120),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "3"}, {}, "", 3),
        ({}, {"retry_after": 4}, "", 4),
        ({}, {"metadata": {"retry_after_seconds": "4"}}, "", 4),
        ({}, {"error": "Model x is currently loading", "estimated_time": 20.5}, "", 20.5),
        ({}, {}, "Please wait 12 seconds", 12),
    ],
)
def test_a_wait_is_read_from_headers_details_and_messages(
    headers: dict[str, str], details: dict[str, Any], message: str, seconds: float | None
) -> None:
    actual = retry_after_seconds(headers, details, message)
    assert actual == (None if seconds is None else pytest.approx(seconds))


def test_a_time_as_a_number_is_read_in_an_error_as_openrouter_sends_it() -> None:
    reset = str(int((time.time() + 90) * 1_000))
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    seconds = retry_after_seconds({}, {"metadata": {"headers": headers}})
    assert seconds is not None
    assert 80 < seconds <= 90
    for odd in ({"headers": [1]}, "text", None):
        assert retry_after_seconds({}, {"metadata": odd}) is None
