"""The backend `docker`: each command in a new container of an engine, which may be remote."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox import trees
from sandbox.backend import PooledSandbox, run_once
from sandbox.docker import garbage_collection, runtime_trial
from sandbox.docker.connection import DEFAULT_ENGINE, TlsFiles, parse_address
from sandbox.docker.engine import DockerEngine, EngineFacts
from sandbox.docker.profile import HOSTNAME, UIDS, ContainerTemplate
from sandbox.docker.session import DockerSession, open_session
from sandbox.isolation_layers import (
    ADDRESS_SPACE,
    MEMORY,
    NAMESPACES,
    choose_layer,
    environment,
    network_and_files,
    privileges,
)
from sandbox.pool import Pool
from sandbox.protocol import DEFAULT_LIMITS, IsolationLayer, Limits

_RUNTIMES_WITH_HOST_KERNEL = {None, "runc", "crun"}


class DockerSandbox(PooledSandbox[DockerSession]):
    """Runs each command in a new container; implements `protocol.Sandbox`.

    The first run connects to the engine, and so does the first run after the engine was lost.
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
        trees_directory: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """
        Args:
            image: An image that `deploy/sandbox-image.sh` has built.
            pool_size: The number of containers that are kept ready. They fit runs with `limits`,
                and with other limits of the same memory, processes and workspace size. 0: make each
                one when a run needs it.
            engine: An address as in DOCKER_HOST; None: the system's socket.
            tls: A directory with ca.pem, cert.pem and key.pem.
            runtime: A runtime of the engine (such as runsc or kata); None: the engine's default.
            cpus: How many processors a run may use.
            trees_directory: The directory of the trees that commands may name.
        """
        directory = None if trees_directory is None else trees_directory.absolute()
        super().__init__(pool_size, limits, directory)
        self._image, self._engine, self._tls = image, engine or DEFAULT_ENGINE, tls
        self._runtime, self._cpus = runtime, cpus
        self._owner: garbage_collection.Owner | None = None
        self._tested_runtimes: set[runtime_trial.TestedRuntime] = set()

    async def _start_session(self) -> DockerSession:
        tls = None
        if self._tls is not None:
            tls = TlsFiles(*(self._tls / name for name in ("ca.pem", "cert.pem", "key.pem")))
        engine = DockerEngine(parse_address(self._engine, tls))
        self._owner = self._owner or garbage_collection.current_owner()
        directory = self._prepare_trees_directory(lambda _: None)
        return await open_session(
            engine, self._owner, self._image, self._runtime, self._cpus, directory
        )

    async def _try_session(self, session: DockerSession, pool: Pool) -> None:
        """Test a runtime that is not the engine's default before any run relies on it."""
        if self._runtime is None:
            return
        runtime = runtime_trial.TestedRuntime(
            self._runtime, session.facts.version, session.image.id
        )
        if runtime in self._tested_runtimes:
            return
        await runtime_trial.require_reliable(
            runtime, lambda: run_once(session, pool, runtime_trial.COMMAND, self._limits)
        )
        self._tested_runtimes.add(runtime)

    def _isolation_layers(
        self, session: DockerSession, probe_output: str
    ) -> tuple[IsolationLayer, ...]:
        return docker_layers(probe_output, session.facts, session.template)

    def _describe_tree_mode(self, session: DockerSession) -> str:  # noqa: ARG002
        return f"{trees.COPIES}, because a container may mount no overlay"


def docker_layers(
    probe_output: str, facts: EngineFacts, template: ContainerTemplate
) -> tuple[IsolationLayer, ...]:
    """The isolation layers of a container, from the probe's output and the engine's facts, the most
    important first. The layers of the backend `local` have the same names, so that operators can
    compare the backends.
    """
    findings = json.loads(probe_output)
    variables = {**template.environment, "HOSTNAME": HOSTNAME}
    own_bytes = sum(len(f"{name}={value}\0") for name, value in variables.items())
    engine_text = f"Docker {facts.version}, API {facts.api}, kernel {facts.kernel}"
    return (
        IsolationLayer("engine", True, engine_text),
        choose_layer(
            "kernel of its own",
            f"runtime {template.runtime}",
            "the code and this engine's machine share one kernel; runsc or a VM would not",
            active=template.runtime not in _RUNTIMES_WITH_HOST_KERNEL,
        ),
        *network_and_files(findings),
        environment(findings, own_bytes),
        *privileges(findings),
        *_layers_of_engine(facts),
    )


def _layers_of_engine(facts: EngineFacts) -> tuple[IsolationLayer, ...]:
    """The layers that the engine reports."""
    missing = ", ".join(sorted({"memory", "swap", "pids", "cpu"} - facts.limitable))
    return (
        choose_layer(
            "namespaces",
            NAMESPACES,
            "pid, net, ipc, uts, mount and cgroup are the sandbox's own; the user namespace is the "
            "engine's (a rootless engine, or its userns-remap, would give another)",
            active=bool({"rootless", "userns"} & set(facts.security)),
        ),
        IsolationLayer(
            "unprivileged",
            0 not in UIDS,
            f"each sandbox runs as another user: uid {UIDS[0]} to {UIDS[-1]} of its user namespace",
        ),
        IsolationLayer(
            "processes",
            True,
            "counted per sandbox"
            if "pids" in facts.limitable
            else "counted per user, and each sandbox is another: the engine has no pids controller",
        ),
        MEMORY,
        choose_layer(
            "cgroup",
            "memory without swap, processes and CPU time are bounded by the kernel",
            f"not bounded by the engine: {missing}"
            + (f"; {ADDRESS_SPACE}" if "memory" not in facts.limitable else ""),
            active=not missing,
        ),
    )
