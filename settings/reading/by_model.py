"""Settings in JSON that apply to some models: by `provider:model`, or `provider:*` for all models
of a provider."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Secret, ValidationError
from pydantic_settings import NoDecode

from settings.starting.provider_rows import PROVIDERS

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")


class _Capabilities(BaseModel):
    """The JSON that an operator may write. Types and names are strict, so that a mistake ends the
    start of a process, and `fettle config` reports it.

    The fields are also in `agents.models.capabilities.record`, but a record is another contract: it
    ignores unknown fields, because another release may have stored it, and has times.
    """

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    drop: list[str] = Field(default_factory=list)
    rename: dict[str, str] = Field(default_factory=dict)
    add: dict[str, str] = Field(default_factory=dict)
    short_ids: bool = False
    named_results: bool = False
    max_output_tokens: int | None = Field(None, gt=0)
    context_tokens: int | None = Field(None, gt=0)


def _headers(headers: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of an HTTP header")
        if value is not None and not (isinstance(value, str) and _HEADER_VALUE.fullmatch(value)):
            raise ValueError(f"the value of {name} has to be one line of ASCII text, or null")
    return headers


def _capabilities(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return _Capabilities.model_validate(fields).model_dump(exclude_unset=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, fault["loc"]))
        valid = ", ".join(_Capabilities.model_fields)
        raise ValueError(f"{field}: {fault['msg']} (the fields are {valid})") from None


def _by_model(
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]], empty: Any = None
) -> BeforeValidator:
    """Reads a setting from JSON or, in a file of settings, from a table. An error names the model,
    and repeats no value: it may be a secret. `empty` is the value of an unset setting."""

    def parse(value: Any) -> Any:
        if not value:  # compose sends an empty text
            return empty
        if isinstance(value, str):
            value = _parse_json(value)
        if not isinstance(value, Mapping):
            example = '{"compatible:*": {...}}'
            raise ValueError(f"is not a JSON object such as {example}")  # noqa: TRY004 - for pydantic
        parsed: dict[str, Any] = {}
        for name, fields in value.items():
            model = _pattern(name)
            if not isinstance(fields, Mapping):
                raise ValueError(f"the value of {name!r} is not a JSON object")  # noqa: TRY004
            try:
                parsed[model] = dict(check(fields))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return parsed

    return BeforeValidator(parse)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"is not valid JSON: {error}") from None


def _pattern(name: str) -> str:
    """`provider:model` or `provider:*`; the name of a provider means all of its models."""
    provider, _, model = name.partition(":")
    providers = [row.provider for row in PROVIDERS]
    if provider not in providers:
        raise ValueError(
            f"{name!r}: there is no provider {provider!r}; the providers are {', '.join(providers)}"
        )
    return f"{provider}:{model or '*'}"


Headers = dict[str, dict[str, str | None]]
"""HTTP headers by model; null removes one."""
Bodies = dict[str, dict[str, Any]]
"""Fields of the JSON body by model, as a merge patch (RFC 7396)."""

ModelHeaders = Annotated[Secret[Headers] | None, NoDecode, _by_model(_headers)]
ModelBodies = Annotated[Bodies, NoDecode, _by_model(lambda body: body, {})]
ModelCapabilities = Annotated[Bodies, NoDecode, _by_model(_capabilities, {})]
