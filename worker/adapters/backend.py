"""From settings to the backend that runs code. Imports little, for the laboratory."""

from __future__ import annotations

from pathlib import Path

from jobs.model.spec import JobSpec
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits
from settings.reading.config_file import named_file
from settings.sandbox import Backend, SandboxSettings


def backend(
    settings: SandboxSettings,
    *private: Path,
    ready_for: Limits | None = None,
    layers: Path | None = None,
    image: str | None = None,
) -> LocalSandbox | DockerSandbox:
    """The backend that FETTLE_SANDBOX names; there is no fallback. It refuses a run in which code
    could see a `private` path, the working directory or the configuration. Commands name layers in
    the folder `layers`. An `image` (only for the backend docker) replaces the image of the
    settings; its pool is empty.

    The pool is prepared for runs with the limits `ready_for`, by default the limits of the
    settings. The backend starts nothing: its first run, or `check`, reports missing parts.
    """
    pool_limits = ready_for or limits(settings)
    match settings.sandbox:
        case Backend.LOCAL:
            return LocalSandbox(
                settings.sandbox_python,
                pool_size=settings.sandbox_rooms,
                cpus=settings.run_cpus,
                own_interpreter=settings.sandbox_own_interpreter,
                programs=settings.sandbox_programs,
                private=(Path.cwd(), *filter(None, [named_file()]), *private),
                limits=pool_limits,
                trees_directory=layers,
            )
        case Backend.DOCKER:
            return DockerSandbox(
                image or settings.sandbox_image,
                pool_size=settings.sandbox_rooms if image is None else 0,
                engine=settings.sandbox_engine,
                tls=settings.sandbox_engine_tls,
                runtime=settings.sandbox_runtime,
                cpus=settings.run_cpus,
                limits=pool_limits,
                trees_directory=layers,
            )


def limits(settings: SandboxSettings, spec: JobSpec | None = None) -> Limits:
    """The limits of one run, by the settings and the job's `spec`."""
    seconds = spec.run_seconds if spec else None
    memory = spec.run_memory_bytes if spec else None
    return Limits(
        wall_seconds=seconds or settings.run_seconds,
        cpu_seconds=settings.cpu_seconds(seconds),
        memory_bytes=memory or settings.run_memory_bytes,
        processes=settings.run_processes,
        file_bytes=settings.workspace_bytes,
        workspace_bytes=settings.workspace_bytes,
        output_bytes=settings.run_output_bytes,
    )
