"""The environment that processes started by `fettle up` and `fettle demo` are given."""

from __future__ import annotations

import os
from collections.abc import Mapping

from settings.providers import PROVIDERS

ROLES = ("PLANNER", "EXECUTOR", "CRITIC", "TESTER", "SUMMARY", "ROUTER")
ESCALATING = ("EXECUTOR", "CRITIC")
TAKEN_OVER = (
    "FETTLE_MODEL",
    *(f"FETTLE_{role}_MODEL" for role in ROLES),
    *(f"FETTLE_{role}_ESCALATION" for role in ESCALATING),
    "FETTLE_CONTEXT_TOKENS",
    *(f"FETTLE_{provider.upper()}_" for provider in PROVIDERS),
    "FETTLE_SANDBOX",
    "FETTLE_SANDBOX_",
)
"""What a throw-away deployment takes over: which model answers and where, and what this machine
has. FETTLE_MODELS is the front's allow-list, and none of these."""


def inherited(values: Mapping[str, str]) -> dict[str, str]:
    """This process' environment, with `values` over it."""
    return {**os.environ, **values}


def sealed(values: Mapping[str, str]) -> dict[str, str]:
    """The same without this deployment's own settings: what is not in `values` is the default."""
    kept = {name: value for name, value in os.environ.items() if not _of_deployment(name)}
    return {**kept, **values}


def _of_deployment(name: str) -> bool:
    if not name.startswith("FETTLE_"):
        return False
    by_prefix = tuple(prefix for prefix in TAKEN_OVER if prefix.endswith("_"))
    return name not in TAKEN_OVER and not name.startswith(by_prefix)


def model_keys() -> list[str]:
    """The providers that have a key, by the name of their variable."""
    names = (f"{provider.upper()}_API_KEY" for provider in PROVIDERS)
    return [name for name in names if os.environ.get(name)]
