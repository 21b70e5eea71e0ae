"""The settings of a command, with the flags before the command's name; and the service that they
name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from cli.errors import BadSettings
from fettle import Service
from fettle.addresses import is_loopback
from settings.base import FettleSettings, StoreSettings
from settings.client import ClientSettings
from settings.starting.environment import unusable_proxies
from settings.starting.provenance import complaints
from settings.starting.unknown import refused_names

Kind = TypeVar("Kind", bound=FettleSettings)


def load(kind: type[Kind], **flags: Any) -> Kind:
    """Load the settings of a kind. Raises BadSettings, which names the invalid settings."""
    try:
        return kind(**flags)
    except ValidationError as error:
        raise bad_settings(kind, error, flags) from None


def bad_settings(
    kind: type[FettleSettings], error: ValidationError, flags: Mapping[str, Any]
) -> BadSettings:
    """The error that names the invalid settings, as in the environment, and the sources of their
    values."""
    return BadSettings("a setting does not fit", "; ".join(complaints(kind, error, flags)))


def refuse_names(settings: StoreSettings) -> None:
    """Raises BadSettings if production refuses names in the environment or in the file."""
    if reasons := refused_names(settings):
        raise BadSettings("a setting does not fit", "; ".join(reasons))


def open_service(flags: Mapping[str, Any]) -> Service:
    """The service that the settings name. Raises BadSettings."""
    settings = load(ClientSettings, **flags)
    # A proxy cannot reach this machine's loopback.
    for name, kind in () if is_loopback(settings.url) else unusable_proxies():
        raise BadSettings(
            f"{name} names a {kind} proxy",
            "Fettle can use http and https proxies only",
            "set HTTPS_PROXY to one of those, or unset it",
        )
    return Service(settings.url, settings.api_key.get_secret_value())
