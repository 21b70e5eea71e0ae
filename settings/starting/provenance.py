"""The origin of each setting's value: a flag, the environment, a file or the default."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import AliasChoices, Secret, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource

from settings.base import FettleSettings, ValueOrigin
from settings.reading.addresses import MASK


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting's value; `variable` is its name in the environment, secrets are masked."""

    name: str
    variable: str
    value: str
    origin: ValueOrigin
    description: str


def trace(kind: type[FettleSettings], flags: Mapping[str, Any] | None = None) -> list[Setting]:
    """Every setting of `kind`. Raises pydantic's ValidationError for an invalid value."""
    return trace_values(kind(**(flags or {})), flags or {})


def trace_values(settings: FettleSettings, flag_values: Mapping[str, Any]) -> list[Setting]:
    """Every setting of a process, with the value that it has in `settings`."""
    kind = type(settings)
    layers = _layers(kind, flag_values)
    return [
        Setting(
            name=name,
            variable=variable(kind, name, field),
            value=_masked(getattr(settings, name)),
            origin=_origin(layers, spellings(name, field)),
            description=field.description or "",
        )
        for name, field in kind.model_fields.items()
    ]


def complaints(
    kind: type[FettleSettings], error: ValidationError, flags: Mapping[str, Any] | None = None
) -> list[str]:
    """The invalid values, one text a setting: `FETTLE_PORT (environment): Input should be ...`."""
    layers = _layers(kind, dict(flags or {}))
    listed = []
    for wrong in error.errors(include_url=False, include_input=False):
        spelling = str(wrong["loc"][0]) if wrong["loc"] else ""
        name = next((n for n, f in kind.model_fields.items() if spelling in spellings(n, f)), "")
        message = str(wrong["ctx"]["error"] if wrong["type"] == "value_error" else wrong["msg"])
        if not name:
            listed.append(message)
            continue
        field = kind.model_fields[name]
        origin = _origin(layers, spellings(name, field))
        origin = ValueOrigin.FLAG if origin is ValueOrigin.DEFAULT else origin  # a default is valid
        listed.append(f"{variable(kind, name, field)} ({origin}): {message}")
    return listed


def variable(kind: type[FettleSettings], name: str, field: FieldInfo) -> str:
    """The name of a setting in the environment."""
    if isinstance(field.validation_alias, AliasChoices):
        return str(field.validation_alias.choices[0])
    return f"{kind.model_config.get('env_prefix', '')}{name}".upper()


def _layers(
    kind: type[FettleSettings], flags: Mapping[str, Any]
) -> tuple[tuple[ValueOrigin, Mapping[str, Any]], ...]:
    environment = EnvSettingsSource(kind)()
    return ((ValueOrigin.FLAG, flags), (ValueOrigin.ENVIRONMENT, environment), kind.read_file())


def spellings(name: str, field: FieldInfo) -> set[str]:
    """The names that a setting may have in the file, with its other names in the environment."""
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else ()
    return {name, *(str(choice) for choice in choices)}


def _origin(
    layers: tuple[tuple[ValueOrigin, Mapping[str, Any]], ...], names: set[str]
) -> ValueOrigin:
    return next((origin for origin, layer in layers if names & layer.keys()), ValueOrigin.DEFAULT)


def _masked(value: Any) -> str:
    if isinstance(value, SecretStr | Secret):
        return MASK
    if isinstance(value, dict):
        return json.dumps(value) if value else ""
    if isinstance(value, tuple):
        return ", ".join(str(item) for item in value)
    if isinstance(value, str) and "://" in value:
        return _without_secrets(value)
    return "" if value is None else str(value)


def _without_secrets(url: str) -> str:
    """The address without its password, its query, and long parts of its path (maybe tokens)."""
    parts = urlsplit(url)
    if parts.password:
        _, _, host = parts.netloc.rpartition("@")
        parts = parts._replace(netloc=f"{parts.username or ''}:{MASK}@{host}")
    parts = parts._replace(path=re.sub(r"[^/]{16,}", MASK, parts.path))
    return urlunsplit(parts._replace(query=MASK if parts.query else ""))
