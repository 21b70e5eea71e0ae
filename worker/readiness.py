"""Whether this worker can do jobs: its sandbox, its storage and its default model have to work.

Why: docs/decisions/0071-a-storage-that-fails.md
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.errors import ModelError
from agents.models.chains import LIGHT, Chains
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from jobs.blobs.directory import Blobs
from sandbox.protocol import Layer
from worker.adapters.sandbox import Readiness

FRESH_SECONDS = 5.0
"""A probe of `/readyz` tries the storage again if the last try is older."""
IDLE_SECONDS = 60.0
"""How often a storage that works is tried, so that a worker without jobs notices an outage."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Implements `worker.adapters.sandbox.Checked` over the artifact store."""

    blobs: Blobs

    async def check(self) -> tuple[Layer, ...]:
        """Try the store. Raises BlobsUnavailable if it fails."""
        await self.blobs.probe()
        return ()


def storage_readiness(blobs: Blobs, name: str) -> Readiness:
    """The readiness of the artifact store, which was not tried yet. `name`: the kind of store."""
    return Readiness(Storage(blobs), name, part="storage", idle_seconds=IDLE_SECONDS)


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """Implements `worker.adapters.sandbox.Checked` over the default models of jobs. Builds models,
    and sends no request."""

    models: ModelPool
    chains: tuple[tuple[str, ...], ...]

    async def check(self) -> tuple[Layer, ...]:
        """Raises ModelError if no model of a chain can be built: jobs would fail for good."""
        for chain in self.chains:
            self._build_one(chain)
        return ()

    def _build_one(self, chain: tuple[str, ...]) -> None:
        """Build a model of the chain. Raises the first model's ModelError if no model works."""
        errors = []
        for name in chain:
            try:
                self.models.get(ModelName.parse(name), "executor")
            except ModelError as error:
                errors.append(error)
            else:
                return
        raise errors[0]


def model_readiness(models: ModelPool, chains: Chains) -> Readiness:
    """The readiness of the default models, which were not tried yet. A worker without a default is
    always ready, because its jobs have to name a model. The roles in LIGHT do not count: a job
    continues without their models."""
    role_chains = (chain for role, chain in chains.by_role.items() if role not in LIGHT)
    required = tuple(dict.fromkeys(filter(None, (chains.default, *role_chains))))
    name = "; ".join(", ".join(chain) for chain in required)
    return Readiness(DefaultModel(models, required), name, part="default model")


@dataclass(frozen=True, slots=True)
class WorkerReadiness:
    """The parts of a worker without which it takes no job."""

    sandbox: Readiness
    storage: Readiness
    model: Readiness

    @property
    def works(self) -> bool:
        """Whether all parts worked when they were tried last."""
        return all(part.works for part in self._parts())

    async def wait(self) -> None:
        """Return when all parts work."""
        while not self.works:
            for part in self._parts():
                await part.wait()

    async def look(self) -> bool:
        """Try all parts; returns whether all of them work."""
        for part in self._parts():
            await part.look()
        return self.works

    def facts(self) -> Mapping[str, Any]:
        """{sandbox, storage, default_model}: the facts of each part; safe to call from any
        thread."""
        return {
            "sandbox": self.sandbox.facts(),
            "storage": self.storage.facts(),
            "default_model": self.model.facts(),
        }

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Try broken parts again at intervals, for the length of the block."""
        async with contextlib.AsyncExitStack() as watching:
            for part in self._parts():
                await watching.enter_async_context(part.watched())
            yield

    def _parts(self) -> tuple[Readiness, ...]:
        return self.sandbox, self.storage, self.model
