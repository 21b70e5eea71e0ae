"""Describes a provider's refusal: what it means, what the provider said, and what to do."""

from __future__ import annotations

from agents.models.errors import ContextExceeded, ModelError
from agents.models.name import ModelName
from agents.models.providers import Provider

_SHOWN_CHARACTERS = 500
_TOO_LONG = (
    "the request is longer than its context",
    "give the job less to read, set FETTLE_CONTEXT_TOKENS for the workers, or name another model",
)


def describe_error(error: ModelError, full_name: str) -> str:
    """`groq:x: the key is not accepted (401: Invalid API Key); put a valid one in GROQ_API_KEY`.

    An error without a status keeps its text, after the model's name.
    """
    said = str(error)
    if said.startswith(full_name):
        return said
    said = said if len(said) <= _SHOWN_CHARACTERS else f"{said[:_SHOWN_CHARACTERS]} ..."
    status = getattr(error, "status", None)
    if status is None or status < 400:
        return f"{full_name}: {said}"
    if isinstance(error, ContextExceeded) and status != 413:
        return too_long(full_name, f"{status}: {said}")
    means, advice = _meaning(status, ModelName.parse(full_name).of)
    text = f"{full_name}: {means} ({status}: {said})"
    return f"{text}; {advice}" if advice else text


def too_long(full_name: str, why: str) -> str:
    """That a request does not fit into a model's context, and what to do."""
    means, advice = _TOO_LONG
    return f"{full_name}: {means} ({why}); {advice}"


def _meaning(status: int, provider: Provider) -> tuple[str, str]:
    """The meaning of a status, and what a person can do about it."""
    match status:
        case 401:
            return "the key is not accepted", f"put a valid one in {provider.key} for the workers"
        case 402:
            return "the account has no credit left", "top it up, or name another model"
        case 403:
            return (
                "the key may not use this model",
                f"have it allowed, put another key in {provider.key}, or name another model",
            )
        case 404:
            return "there is no such model", "see `fettle models`, and name another"
        case 413:
            advice = "give the job fewer or shorter files, or set FETTLE_MAX_OUTPUT_TOKENS lower"
            return "the request is too large", advice
        case 429:
            return "too many requests, or the quota is used up", ""
        case status if status < 500:
            return "the request is not accepted", ""
        case _:
            return "the provider has an error", ""
