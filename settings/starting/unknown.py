"""Names that look like settings, but are not. A misspelt setting would count as unset: without the
address of its model server, for example, Fettle would send code to the public server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from settings.base import Environment, StoreSettings, ValueOrigin
from settings.reading.config_file import VARIABLE, named_file, read_file, unread_file
from settings.starting.environment import DROPPED, library_variables, sends_data
from settings.starting.provenance import spellings, variable
from settings.starting.sections import SECTIONS

PREFIX = "FETTLE_"
DEPLOY_VARIABLES = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("CONFIG", "PYTHON", "SANDBOX_ENVIRONMENT", "DEBIAN_MIRROR", "DEBIAN_SUITE", "APPARMOR"),
        *("BASE_IMAGE", "API_IMAGE", "WORKER_IMAGE", "REDIS_IMAGE", "ENGINE_IMAGE"),
        *("ENGINE_BASE_IMAGE", "API_MEMORY", "WORKER_MEMORY", "REDIS_MEMORY", "ENGINE_MEMORY"),
        *("PUBLISH", "REDIS_MAXMEMORY", "REDIS_PASSWORD", "SANDBOX_PACKAGES"),
    )
)
"""Read by deploy/ and the compose files, which share an environment with the processes."""
_CONTEXT_BOUNDS = (
    "the model's context bounds a conversation; FETTLE_CONTEXT_SHARE is the part of it that a "
    "conversation may take"
)
_NO_INSTALL = (  # See ADR 87
    "the tool `install` was removed; put packages into the sandbox's environment "
    "(FETTLE_SANDBOX_PYTHON, FETTLE_SANDBOX_IMAGE), or let a repository's setup install them "
    "(FETTLE_SETUP_HOSTS)"
)
REMOVED = {
    "FETTLE_HISTORY_CHARACTERS": _CONTEXT_BOUNDS,
    "FETTLE_CONVERSATION_CHARACTERS": _CONTEXT_BOUNDS,
    "FETTLE_INSTALL_LIST": _NO_INSTALL,
    "FETTLE_INSTALL_INDEX": _NO_INSTALL,
    "FETTLE_INSTALL_HOSTS": _NO_INSTALL,
    "FETTLE_INSTALL_DEPENDENCIES": _NO_INSTALL,
    "FETTLE_INSTALL_BYTES": _NO_INSTALL,
    "FETTLE_INSTALL_SECONDS": _NO_INSTALL,
}
"""Settings of release 0.1.0 that were removed, and their remedy."""
SIMILAR = 0.75


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that no process reads."""

    name: str
    origin: ValueOrigin
    nearest: str | None
    """The setting with the most similar spelling, if a similar one exists."""

    def __str__(self) -> str:
        if remedy := REMOVED.get(f"{PREFIX}{self.name.upper().removeprefix(PREFIX)}"):
            return f"{self.name} ({self.origin}) is no longer a setting: {remedy}"
        guess = f": did you mean {self.nearest}?" if self.nearest else ""
        return f"{self.name} ({self.origin}) is not a setting{guess}"


def unread_settings() -> list[str]:
    """One sentence for each unknown name, and for a fettle.toml that is not named.

    Raises ConfigFileError.
    """
    sentences = [str(unknown) for unknown in unknown_settings()]
    if path := unread_file():
        sentences.append(
            f"{path} is not read, because no setting names it: set {VARIABLE}={path} to use it, or "
            f"{VARIABLE}= (empty) to ignore it"
        )
    return sentences


def unknown_settings() -> list[Unknown]:
    """The unknown names: among the variables that begin with FETTLE_, and among all names in the
    named file. Raises ConfigFileError."""
    settings = {
        spelled: variable(kind, name, field)
        for _, kind in SECTIONS
        for name, field in kind.model_fields.items()
        for spelled in spellings(name, field)
    }
    by_plain_name = {_plain(spelled): name for spelled, name in settings.items()}
    by_plain_name[_plain(VARIABLE)] = VARIABLE
    in_environment = {name for name in os.environ if name.upper().startswith(PREFIX)}
    # Settings are valid in capitals and in small letters, other names only in capitals.
    candidates = in_environment - DEPLOY_VARIABLES - {DROPPED}
    wrong = (name for name in candidates if name.upper() not in settings.values())
    return [
        *(
            Unknown(name, ValueOrigin.ENVIRONMENT, _nearest(name, by_plain_name))
            for name in sorted(wrong)
        ),
        *(
            Unknown(name, ValueOrigin.FILE, _nearest(name, by_plain_name))
            for name in read_file(named_file())
            if name not in settings
        ),
    ]


def refused_names(settings: StoreSettings) -> list[str]:
    """The reasons for which production refuses to start: unknown names, a file that is not read,
    and variables that have a library send the content of jobs to another service.

    Raises ConfigFileError.
    """
    if settings.env is not Environment.PRODUCTION:
        return []
    return [
        *unread_settings(),
        *(_unwanted(name) for name in library_variables() if sends_data(name)),
    ]


def _unwanted(name: str) -> str:
    return (
        f"{name} would have a library send the content of jobs to another service: unset it where "
        "API and workers start"
    )


def _nearest(name: str, by_plain_name: Mapping[str, str]) -> str | None:
    close = get_close_matches(_plain(name), by_plain_name, 1, SIMILAR)
    if not close:
        return None
    setting = by_plain_name[close[0]]
    is_variable = name.upper().startswith(PREFIX)
    return setting if is_variable else setting.removeprefix(PREFIX).lower()


def _plain(name: str) -> str:
    """The name without its underscores, which people often forget."""
    return name.upper().removeprefix(PREFIX).replace("_", "")
