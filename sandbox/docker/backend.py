"""The backend `docker`: each command in a container of its own, of an engine near or far."""

from __future__ import annotations

from pathlib import Path

from sandbox import layered_trial
from sandbox.backend import PooledSandbox, run_once
from sandbox.docker import garbage_collection, trial
from sandbox.docker.address import DEFAULT, Tls, parse
from sandbox.docker.engine import Engine
from sandbox.docker.layers import layers
from sandbox.docker.session import DockerSession, open_session
from sandbox.pool import Pool
from sandbox.protocol import DEFAULT_LIMITS, Layer, Limits


class DockerSandbox(PooledSandbox[DockerSession]):
    """Runs each command in a container of its own; implements `protocol.Sandbox`.

    `image` is one that `deploy/sandbox-image.sh` has made, `pool_size` the number of containers
    that stand ready (0: each is made when it is asked for) for runs with `limits`, which differ in
    no memory, processes or size of the workspace, `engine` an address as in DOCKER_HOST
    (None: the system's socket), `layers` the directory below which are those that commands may
    name, `tls` a directory with ca.pem, cert.pem and key.pem, `runtime` one
    that the engine has beside its own (runsc, kata), `cpus` how many processors a run may use.

    The engine is looked for with the first run, and again after it was lost.
    """

    def __init__(
        self,
        image: str = "fettle-sandbox",
        *,
        pool_size: int = 2,
        engine: str | None = None,
        tls: Path | None = None,
        runtime: str | None = None,
        cpus: float = 1.0,
        layers: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(pool_size, limits, None if layers is None else layers.absolute())
        self._image, self._engine, self._tls = image, engine or DEFAULT, tls
        self._runtime, self._cpus = runtime, cpus
        self._owner: garbage_collection.Owner | None = None
        self._trusted: set[trial.Subject] = set()

    async def _start(self) -> DockerSession:
        tls = None
        if self._tls is not None:
            tls = Tls(*(self._tls / name for name in ("ca.pem", "cert.pem", "key.pem")))
        engine = Engine(parse(self._engine, tls))
        self._owner = self._owner or garbage_collection.look()
        layers = self._prepared_layers(lambda _: None)
        return await open_session(
            engine, self._owner, self._image, self._runtime, self._cpus, layers
        )

    async def _try_out(self, session: DockerSession, pool: Pool) -> None:
        """Another runtime than the engine's own has to show first that it can be relied on."""
        if self._runtime is None:
            return
        subject = trial.Subject(self._runtime, session.facts.version, session.image.id)
        if subject in self._trusted:
            return
        await trial.require(subject, lambda: run_once(session, pool, trial.COMMAND, self._limits))
        self._trusted.add(subject)

    def _layers(self, session: DockerSession, found: str) -> tuple[Layer, ...]:
        return layers(found, session.facts, session.template)

    def _way(self, session: DockerSession) -> str:  # noqa: ARG002
        return f"{layered_trial.COPIES}, because a container may mount no overlay"
