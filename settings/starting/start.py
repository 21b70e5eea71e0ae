"""The settings of a process that starts."""

from __future__ import annotations

import errno
import sys
import tempfile
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
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE)


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
    _refuse_unwritable(settings)
    unknown = unknown_settings()
    if unknown and settings.env is Environment.PRODUCTION:
        _refuse(map(str, unknown))
    for each in unknown:
        structlog.get_logger(kind.__module__).warning("unknown setting", what=str(each))
    return settings


def _refuse_unwritable(settings: StoreSettings) -> None:
    """Exit where bytes could never be kept. A disk that is full can be emptied while the process
    runs, so that is no reason: `/readyz` reports it."""
    for variable, directory in settings.directories():
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            if error.errno in _PASSING:
                continue
            why = error.strerror or type(error).__name__
            advice = "let the user of this process write there, or name another directory"
            _refuse([f"{variable} is {directory}, which cannot be written ({why}): {advice}"])


def _refuse(reasons: Iterable[str]) -> NoReturn:
    listed = "".join(f"  - {reason}\n" for reason in reasons)
    sys.stderr.write(f"fettle: a setting does not fit:\n{listed}")
    sys.exit(BAD_SETTINGS)
