"""Keeps the contexts of models known, so that they are reported before a job asks a model."""

from __future__ import annotations

import asyncio

from agents.models.pool import ModelPool

SECONDS = 20.0
"""How often the models are looked at. A list that was read is not read again for minutes."""


async def learn_contexts_forever(models: ModelPool) -> None:
    """Read the lists of models of the operator's own servers."""
    while True:
        await models.learn_contexts()
        await asyncio.sleep(SECONDS)
