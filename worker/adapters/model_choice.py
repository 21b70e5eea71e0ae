"""Which models play which role: for a worker, and for one job."""

from __future__ import annotations

from agents.models.build import installed
from agents.models.pool import ModelPool
from agents.models.providers import PROVIDERS, Provider
from agents.models.role_models import LIGHT, Chains, RoleModels
from settings.models import ModelSettings


def chains(settings: ModelSettings) -> Chains:
    """The models of the settings. Where none is set, the first provider with a key answers, without
    a fallback: a key alone never means that another provider may receive prompts.
    """
    by_role, default = settings.role_chains(), settings.model
    if not default and (able := _first_able(settings)) is not None:
        default = (f"{able.name}:{able.large}",)
        by_role = {**dict.fromkeys(LIGHT, (f"{able.name}:{able.small}",)), **by_role}
    return Chains(default, by_role, settings.escalation_chains())


def _first_able(settings: ModelSettings) -> Provider | None:
    """Of those whose library is here; else of all, so that its error says how to install it."""
    keys = settings.api_keys()
    with_key = [each for each in PROVIDERS.values() if each.name in keys and each.large]
    return next(iter([*filter(installed, with_key), *with_key]), None)


def models_of(pool: ModelPool, wanted: str | None, chosen: Chains) -> RoleModels:
    """The models of one job; `wanted` is the one that its spec names.

    A job that names a model gets that one in every role, or an error: there is no fallback and no
    escalation.
    """
    return RoleModels.alone(pool, wanted) if wanted else RoleModels(pool, chosen)
