"""How much text fits into the context of a role's model."""

from __future__ import annotations

from agents.context.ranked import BYTES_A_TOKEN
from agents.errors import ModelNotConfigured
from agents.models.provider import ProviderModel
from agents.models.role_models import RoleModels
from agents.ports import Role


async def context_characters(models: RoleModels, role: Role) -> int | None:
    """The context of the role's first model in characters of code; None: it is not known."""
    try:
        model = models.named(models.name(role), role)
    except ModelNotConfigured:  # a fallback may be
        return None
    if not isinstance(model, ProviderModel):
        return None
    await model.learn_context()
    return None if model.context is None else model.context * BYTES_A_TOKEN
