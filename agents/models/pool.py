"""ModelPool: the models of one event loop, built once each and closed together. CircuitBreaker:
which models were unavailable a moment ago, so that calls skip them.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import httpx

from agents.errors import ModelNotConfigured, ModelUnavailable
from agents.models.build import CallableModel, build
from agents.models.capabilities.record import CapabilityStore, MemoryCapabilities
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.ports import Role
from agents.ports.spending import Meter, ModelRateLimit, NoLimit

CONTEXTS_SECONDS: Final = 20.0
"""How often the pool looks whether a list of models is due."""


class ModelPool:
    """Keeps the models that `build` made, with their open connections, for all jobs of a process.

    Connections belong to one event loop, so a process with several loops has a pool for each. A
    recording is read once: a changed file counts from the next pool on. `breaker` knows which
    models were unavailable a moment ago.
    """

    def __init__(
        self,
        options: ModelOptions,
        rate_limit: ModelRateLimit | None = None,
        meter: Meter | None = None,
        capabilities: CapabilityStore | None = None,
    ) -> None:
        self._options = options
        self._rate_limit = rate_limit or NoLimit()
        self._meter = meter
        self._capabilities = capabilities or MemoryCapabilities()
        self._tls: ssl.SSLContext | None = None
        self.breaker = CircuitBreaker()
        self._models: dict[tuple[ModelName, Role | None, float], CallableModel] = {}

    def get(self, name: ModelName, role: Role, *, varied: bool = False) -> CallableModel:
        """The model that answers `role`; `varied`: at the temperature of repairs, if one is set and
        the model takes one. Raises ModelNotConfigured as `build` does."""
        options = self._options
        if varied and options.repair_temperature is not None and not name.is_recording:
            options = replace(options, temperature=options.repair_temperature)
        key = (name, role if name.is_recording else None, options.temperature)
        if key not in self._models:
            if self._tls is None and not name.is_recording:
                self._tls = _load_certificates()
            self._models[key] = build(
                name,
                options,
                role,
                self._tls,
                self._rate_limit,
                self._meter,
                self._capabilities,
            )
        return self._models[key]

    async def learn_contexts_forever(self) -> None:
        """Periodically learn the contexts that servers name for the built models, so that users see
        them before a job calls a model. A list is read again after some minutes."""
        while True:
            await asyncio.gather(*(model.learn_context() for model in self._of_providers()))
            await asyncio.sleep(CONTEXTS_SECONDS)

    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """{context_tokens, error} by the names of the models that were built; null: not known, no
        error. Safe to call from any thread."""
        return {
            model.full_name: {"context_tokens": model.context, "error": model.server_error}
            for model in self._of_providers()
        }

    def _of_providers(self) -> Sequence[ProviderModel]:
        models = list(self._models.values())
        return [model for model in models if isinstance(model, ProviderModel)]

    async def aclose(self) -> None:
        """Closes all connections."""
        models, self._models = self._models, {}
        for model in models.values():
            if isinstance(model, ProviderModel):
                await model.aclose()


def _load_certificates() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as error:  # of which ssl.SSLError is one
        raise ModelNotConfigured(
            f"the certificates of this machine cannot be loaded ({error}): correct SSL_CERT_FILE "
            "or SSL_CERT_DIR where the workers run, or unset it"
        ) from error


_REST_SECONDS = 15.0
"""For this time, a model that failed after all retries is skipped if there is a fallback. Then one
call tries it again."""
_LONGEST_REST_SECONDS = 300.0


class CircuitBreaker:
    """For one process; workers do not share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, tuple[float, str]] = {}

    def note(self, name: str, error: ModelUnavailable) -> None:
        """`name` did not answer."""
        wait = error.retry_after_seconds or 0.0
        pause = min(max(wait, _REST_SECONDS), _LONGEST_REST_SECONDS)
        self._until[name] = (self._clock() + pause, str(error))

    def skip_reason(self, name: str) -> str | None:
        """Why `name` should be skipped now, or None."""
        until, reason = self._until.get(name, (0.0, ""))
        if self._clock() >= until:
            self._until.pop(name, None)
            return None
        return f"it was unavailable a moment ago: {reason}"
