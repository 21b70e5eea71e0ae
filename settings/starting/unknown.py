"""Names that look like settings and are none. A misspelt one would count as unset: the address of
a model server, for example, and code would go to the public one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from settings.base import Environment, Origin, StoreSettings
from settings.reading.config_file import VARIABLE, named_file, read_file, unread_file
from settings.starting.environment import DROPPED, library_variables, sends_data
from settings.starting.provenance import spellings, variable
from settings.starting.sections import SECTIONS

PREFIX = "FETTLE_"
OF_DEPLOY = frozenset(
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
_NO_INSTALL = (  # Why: docs/decisions/0087-no-tool-installs-packages.md
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
"""Settings of earlier releases, and their remedy."""
SIMILAR = 0.75


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that no process reads; `nearest` is the setting that was meant, as far as its spelling
    says."""

    name: str
    origin: Origin
    nearest: str | None

    def __str__(self) -> str:
        if remedy := REMOVED.get(f"{PREFIX}{self.name.upper().removeprefix(PREFIX)}"):
            return f"{self.name} ({self.origin}) is no longer a setting: {remedy}"
        guess = f": did you mean {self.nearest}?" if self.nearest else ""
        return f"{self.name} ({self.origin}) is not a setting{guess}"


def unread_settings() -> list[str]:
    """One sentence for each name that is no setting, and for a fettle.toml that is not named.
    Raises ConfigFileError."""
    sentences = [str(unknown) for unknown in unknown_settings()]
    if path := unread_file():
        sentences.append(
            f"{path} is not read, since nothing names it: set {VARIABLE}={path} to use it, or "
            f"{VARIABLE}= (empty) to leave it out"
        )
    return sentences


def unknown_settings() -> list[Unknown]:
    """The names that are no settings: in the environment among the names that begin with FETTLE_,
    and among all names in the named file."""
    known = {
        spelled: variable(kind, name, field)
        for _, kind in SECTIONS
        for name, field in kind.model_fields.items()
        for spelled in spellings(name, field)
    }
    meant = {_plain(spelled): name for spelled, name in known.items()}
    meant[_plain(VARIABLE)] = VARIABLE
    in_environment = {name for name in os.environ if name.upper().startswith(PREFIX)}
    # Settings are valid in capitals and in small letters, other names only in capitals.
    candidates = in_environment - OF_DEPLOY - {DROPPED}
    wrong = (name for name in candidates if name.upper() not in known.values())
    return [
        *(Unknown(name, Origin.ENVIRONMENT, _nearest(name, meant)) for name in sorted(wrong)),
        *(
            Unknown(name, Origin.FILE, _nearest(name, meant))
            for name in read_file(named_file())
            if name not in known
        ),
    ]


def refused_names(settings: StoreSettings) -> list[str]:
    """Why production refuses to start: names that are no settings, a file that is not read, and
    variables that have a library send the content of jobs to another service. Raises
    ConfigFileError."""
    if settings.env is not Environment.PRODUCTION:
        return []
    return [
        *unread_settings(),
        *(_unwanted(name) for name in library_variables() if sends_data(name)),
    ]


def _unwanted(name: str) -> str:
    return (
        f"{name} has a library send the content of jobs to another service, which Fettle does not "
        "do: unset it where API and workers start"
    )


def _nearest(name: str, meant: Mapping[str, str]) -> str | None:
    close = get_close_matches(_plain(name), meant, 1, SIMILAR)
    if not close:
        return None
    found = meant[close[0]]
    return found if name.upper().startswith(PREFIX) else found.removeprefix(PREFIX).lower()


def _plain(name: str) -> str:
    """Underscores are what people leave out."""
    return name.upper().removeprefix(PREFIX).replace("_", "")
