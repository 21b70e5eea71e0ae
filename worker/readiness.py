"""Whether this worker can work on jobs: its sandbox, its storage and its default model must work.

See ADR 71.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from agents.errors import ModelError
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from agents.models.role_models import LIGHT, Chains
from jobs.blobs.directory import Blobs
from jobs.errors import BlobsUnavailable
from sandbox.protocol import IsolationLayer, SandboxUnavailable

AGAIN_SECONDS = 1.0
MOST_AGAIN_SECONDS = 30.0
CHECK_SECONDS = 120.0
"""A check may start an engine's first containers. A check that takes longer than this hangs."""
FRESH_SECONDS = 5.0
"""A probe of `/readyz` tries the storage again if the last try is older."""
IDLE_SECONDS = 60.0
"""How often a storage that works is tried, so that a worker without jobs notices an outage."""


log = structlog.get_logger("worker.readiness")


class Checkable(Protocol):
    """A part of a worker that can be tried: its sandbox, its storage or its default model."""

    async def check(self) -> tuple[IsolationLayer, ...]:
        """Try the part. Raises SandboxUnavailable, BlobsUnavailable or ModelError if it is
        broken."""
        ...


class Readiness:
    """Whether a part of this worker works. All methods except `facts` belong to the loop's thread.

    A working part is tried again every `idle_seconds`, if that is not None.
    """

    def __init__(
        self,
        checked: Checkable,
        name: str,
        *,
        part: str = "sandbox",
        again_seconds: float = AGAIN_SECONDS,
        idle_seconds: float | None = None,
    ) -> None:
        self._checked = checked
        self._name = name
        self._part = part
        self._again_seconds = again_seconds
        self._idle_seconds = idle_seconds
        self._tried_at = -math.inf
        self._works = asyncio.Event()
        self._broken = asyncio.Event()
        self._trying: asyncio.Task[None] | None = None
        self._facts = self._new_facts(works=False, reason="not tried yet")

    def facts(self) -> Mapping[str, Any]:
        """{backend, works, why, layers} of the last try; safe to call from any thread."""
        return self._facts

    @property
    def works(self) -> bool:
        """Whether the part worked when it was tried last."""
        return self._works.is_set()

    async def wait(self) -> None:
        """Return when the part works."""
        await self._works.wait()

    async def try_now(self) -> bool:
        """Try the part now; return whether it works. Callers during a try share its result."""
        if self._trying is None:
            self._trying = asyncio.create_task(self._try())
            self._trying.add_done_callback(self._clear_try)
        await asyncio.shield(self._trying)
        return self.works

    async def try_if_older(self, seconds: float) -> None:
        """Try the part if the last try began more than `seconds` ago."""
        if time.monotonic() - self._tried_at > seconds:
            await self.try_now()

    @contextlib.asynccontextmanager
    async def keep_trying(self) -> AsyncIterator[None]:
        """Try a broken part again at intervals, until the block ends."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._idle_seconds):
                    await self._broken.wait()
            if self.works:
                await self.try_now()
            pause = self._again_seconds
            while not self.works:
                await asyncio.sleep(pause)
                pause = min(pause * 2, MOST_AGAIN_SECONDS)
                await self.try_now()

    async def _try(self) -> None:
        self._tried_at = time.monotonic()
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                layers = await self._checked.check()
        except (SandboxUnavailable, BlobsUnavailable, ModelError) as error:
            self._set_broken(str(error))
        except TimeoutError:
            self._set_broken(f"it gave no answer within {CHECK_SECONDS:g} s")
        except Exception as error:
            log.error(f"the {self._part} could not be tried", exc_info=error)
            self._set_broken(f"{type(error).__name__}: {error}")
        else:
            self._set_working(layers)

    def _clear_try(self, _: asyncio.Task[None]) -> None:
        self._trying = None

    def _set_working(self, layers: tuple[IsolationLayer, ...]) -> None:
        rows = [
            {"name": layer.name, "active": layer.active, "detail": layer.detail} for layer in layers
        ]
        self._facts = self._new_facts(works=True, layers=rows)
        if self._broken.is_set():
            log.info(f"the {self._part} works again: jobs are taken")
        self._broken.clear()
        self._works.set()

    def _set_broken(self, reason: str) -> None:
        if reason != self._facts["why"]:
            log.error(f"{self._part} cannot work: no job is taken until it does", why=reason)
        self._facts = self._new_facts(works=False, reason=reason)
        self._works.clear()
        self._broken.set()

    def _new_facts(self, *, works: bool, reason: str = "", layers: Any = ()) -> Mapping[str, Any]:
        return {"backend": self._name, "works": works, "why": reason, "layers": list(layers)}


@dataclass(frozen=True, slots=True)
class Storage:
    """Implements Checkable over the artifact store."""

    blobs: Blobs

    async def check(self) -> tuple[IsolationLayer, ...]:
        """Try the store. Raises BlobsUnavailable if it fails."""
        await self.blobs.probe()
        return ()


def storage_readiness(blobs: Blobs, name: str) -> Readiness:
    """The readiness of the artifact store, which was not tried yet. `name`: the kind of store."""
    return Readiness(Storage(blobs), name, part="storage", idle_seconds=IDLE_SECONDS)


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """Implements Checkable over the default models of jobs. Builds models, and sends no
    request."""

    models: ModelPool
    chains: tuple[tuple[str, ...], ...]

    async def check(self) -> tuple[IsolationLayer, ...]:
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

    async def try_now(self) -> bool:
        """Try all parts; returns whether all of them work."""
        for part in self._parts():
            await part.try_now()
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
    async def keep_trying(self) -> AsyncIterator[None]:
        """Try broken parts again at intervals, for the length of the block."""
        async with contextlib.AsyncExitStack() as watching:
            for part in self._parts():
                await watching.enter_async_context(part.keep_trying())
            yield

    def _parts(self) -> tuple[Readiness, ...]:
        return self.sandbox, self.storage, self.model
