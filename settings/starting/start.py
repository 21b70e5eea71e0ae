"""The settings of a process that starts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NoReturn, TypeVar

import structlog
from pydantic import ValidationError

from settings import logs
from settings.base import Environment, StoreSettings
from settings.starting.provenance import complaints
from settings.starting.unknown import unknown_settings

Kind = TypeVar("Kind", bound=StoreSettings)
BAD_SETTINGS = 2


def started(kind: type[Kind]) -> Kind:
    """The settings, with logs set up as they say.

    Exits with BAD_SETTINGS, and says why on stderr, where a value does not fit. Names that are no
    settings are logged; in production they are refused.
    """
    try:
        settings = kind()
    except ValidationError as error:
        _refuse(complaints(kind, error))
    logs.configure(settings.log_format, settings.log_level)
    unknown = unknown_settings()
    if unknown and settings.env is Environment.PRODUCTION:
        _refuse(map(str, unknown))
    for each in unknown:
        structlog.get_logger(kind.__module__).warning("unknown setting", what=str(each))
    return settings


def _refuse(reasons: Iterable[str]) -> NoReturn:
    listed = "".join(f"  - {reason}\n" for reason in reasons)
    sys.stderr.write(f"fettle: a setting does not fit:\n{listed}")
    sys.exit(BAD_SETTINGS)
