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
from settings.base import StoreSettings
from settings.reading.config_file import ConfigFileError
from settings.starting.environment import library_variables
from settings.starting.provenance import complaints
from settings.starting.unknown import refused_names, unread_settings

Kind = TypeVar("Kind", bound=StoreSettings)
BAD_SETTINGS = 2
_PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE)


def load_settings(kind: type[Kind]) -> Kind:
    """Read the settings, and set up logs by them.

    Exits with BAD_SETTINGS, and writes the reason to stderr, if a value is invalid. Unknown names,
    a file that is not read, and variables of libraries are logged. Production refuses such names
    and files, and variables that would send the content of jobs to another service.
    """
    try:
        settings = kind()
        unread = unread_settings()
    except ConfigFileError as error:
        _refuse([str(error)])
    except ValidationError as error:
        _refuse(complaints(kind, error))
    logs.configure(settings.log_format, settings.log_level)
    if reasons := refused_names(settings):
        _refuse(reasons)
    _refuse_unwritable(settings)
    log = structlog.get_logger(kind.__module__)
    for sentence in unread:
        log.warning("unknown setting", what=sentence)
    if dropped := library_variables():
        log.warning("variables of libraries dropped", names=dropped)
    return settings


def _refuse_unwritable(settings: StoreSettings) -> None:
    """Exit if the process could never write its files. A full disk is no reason to exit, because it
    can be emptied while the process runs: `/readyz` reports it."""
    for variable, directory in settings.directories():
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            if error.errno in _PASSING:
                continue
            reason = error.strerror or type(error).__name__
            advice = "let the user of this process write there, or name another directory"
            _refuse([f"{variable} is {directory}, which cannot be written ({reason}): {advice}"])


def _refuse(reasons: Iterable[str]) -> NoReturn:
    listed = "".join(f"  - {reason}\n" for reason in reasons)
    sys.stderr.write(f"fettle cannot start with these settings:\n{listed}")
    sys.exit(BAD_SETTINGS)
