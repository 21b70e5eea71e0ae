"""Describes a provider's error: its meaning, the provider's message, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agents.errors import ErrorKind, ModelError, ModelRefused, ModelUnavailable
from agents.models.name import ModelName
from agents.models.providers.kind import ADDRESS, SettingNamer
from agents.texts import bounded

_SHOWN_CHARACTERS = 500
_SHOWN_FROM_STATUS = 300
_GATEWAY = " (a gateway may mean its own key)"
_MEANINGS: Final[Mapping[ErrorKind, tuple[str, str]]] = {
    ErrorKind.REQUEST: ("the request is not accepted", ""),
    ErrorKind.POLICY: ("the provider's content policy blocks the request", ""),
    ErrorKind.TOO_LONG: (
        "the request is longer than its context",
        (
            "give the job less to read, start the server with a larger context, "
            "set FETTLE_CONTEXT_TOKENS for the workers, or name another model"
        ),
    ),
    ErrorKind.TOO_LARGE: (
        "the request is too large",
        "give the job fewer or shorter files, or set FETTLE_MAX_OUTPUT_TOKENS lower",
    ),
    ErrorKind.KEY: ("the key is not accepted", "put a valid key in {key} for the workers{gateway}"),
    ErrorKind.ACCESS: (
        "the key may not use this model",
        "allow the model for the key, put another key in {key}, or name another model",
    ),
    ErrorKind.CREDIT: ("the account has no credit left", "top it up, or name another model"),
    ErrorKind.ACCOUNT: (
        "the provider does not serve this account or its region",
        "enable the account, put the key of another account in {key}, or name another model",
    ),
    ErrorKind.MODEL: ("there is no such model", "{install}see `fettle models`, and name another"),
    ErrorKind.TOOLS: (
        "the model cannot call tools on its server",
        "name a model that can, or start the server with --jinja or a tool-call parser",
    ),
    ErrorKind.ADDRESS: (
        "no model's server answers at its address",
        "correct {address} for the workers, as in {example}",
    ),
    ErrorKind.CERTIFICATE: (
        "its server's certificate is not trusted",
        "name a file with its authority's certificate in SSL_CERT_FILE, or correct {address}",
    ),
    ErrorKind.NO_SERVER: (
        "no server answers at its address",
        "start the server, or correct {address} for the workers, as in {example}",
    ),
    ErrorKind.RATE: ("too many requests, or the quota is used up", ""),
    ErrorKind.QUOTA: ("the quota of the day is used up", "wait, raise it, or name another model"),
    ErrorKind.OVERLOADED: ("the provider has an error or no capacity", ""),
}


def describe_error(error: ModelError, full_name: str, name_setting: SettingNamer) -> str:
    """`groq:x: the key is not accepted (401: Invalid API Key); put a valid key in GROQ_API_KEY`.

    An error within a reply keeps its text, after the model's name.
    """
    message = str(error)
    if message.startswith(full_name):
        return message
    message = bounded(" ".join(message.split()), _SHOWN_CHARACTERS)
    if not isinstance(error, ModelRefused | ModelUnavailable):
        return f"{full_name}: {message}"
    status = error.status or 0
    if error.kind is ErrorKind.REPLY or (status == 200 and error.kind is ErrorKind.POLICY):
        return f"{full_name}: {message}"
    reason = f"{status}: {message}" if status >= _SHOWN_FROM_STATUS else message
    means, advice = _MEANINGS[error.kind]
    text = f"{full_name}: {means} ({reason})"
    return f"{text}; {_fill(advice, full_name, name_setting)}" if advice else text


def too_long(full_name: str, reason: str) -> str:
    """That a request does not fit into a model's context, and what to do."""
    means, advice = _MEANINGS[ErrorKind.TOO_LONG]
    return f"{full_name}: {means} ({reason}); {advice}"


def _fill(advice: str, full_name: str, name_setting: SettingNamer) -> str:
    """The advice for this model, with the names of its provider's settings."""
    name = ModelName.parse(full_name)
    install = name.of.install.format(model=name.model)
    return advice.format(
        key=name.of.key_settings(name_setting),
        address=name_setting(ADDRESS),
        example=name.of.public or name.of.example,
        gateway="" if name.of.public or name.of.key_is_needed else _GATEWAY,
        install=f"{install}, or " if install else "",
    )
