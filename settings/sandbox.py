"""Settings of the sandbox: its backend, and the limits of one run."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from settings.base import FettleSettings, Names
from settings.reading.addresses import none_if_empty, parse_engine

MIB = 1024 * 1024
SPARE = 5
"""Seconds of processor time beyond a run's wall time, so that the wall time ends most runs."""
REPOSITORY = Path(__file__).resolve().parent.parent


class Backend(StrEnum):
    """The backend of the sandboxes. Fettle never falls back to the other backend."""

    LOCAL = "local"
    DOCKER = "docker"


def sandbox_python() -> Path:
    """The interpreter that `make install` makes for the sandbox."""
    return REPOSITORY / ".venv" / "sandbox" / "bin" / "python"


class SandboxSettings(FettleSettings):
    """Sizes in bytes, times in seconds."""

    sandbox: Backend = Field(
        Backend.LOCAL,
        description="what runs the code: `local` (namespaces, no daemon, no root) or `docker`; "
        "never swapped silently",
    )
    sandbox_rooms: int = Field(
        2, ge=0, le=64, description="sandboxes kept ready; 0 makes each when it is needed"
    )
    sandbox_python: Path = Field(
        default_factory=sandbox_python, description="`local`: the interpreter inside the sandboxes"
    )
    sandbox_programs: Names = Field(
        (),
        description="`local`: programs of this machine that code finds in addition to the usual"
        " programs (`sandbox/programs.py`), by name, separated by commas: `node, gcc, as, ld`",
    )
    sandbox_own_interpreter: bool = Field(
        False,
        description="`local`: whether each run starts an interpreter of its own, which shares no "
        "hash seed, address layout or page count with other runs; it takes longer",
    )
    sandbox_image: str = Field(
        "fettle-sandbox",
        min_length=1,
        description="`docker`: image of the sandboxes; `deploy/sandbox-image.sh` makes one",
    )
    sandbox_images: Names = Field(
        (),
        description="`docker`: images that jobs may ask for by `image`, made by the same script",
    )
    sandbox_engine: Annotated[
        Annotated[str, AfterValidator(parse_engine)] | None, BeforeValidator(none_if_empty)
    ] = Field(
        None,
        description="`docker`: the engine, `unix:///path` or `tcp://host:port`; else Docker's "
        "usual socket",
    )
    sandbox_engine_tls: Annotated[Path | None, BeforeValidator(none_if_empty)] = Field(
        None,
        description="`docker`: folder with `ca.pem`, `cert.pem` and `key.pem` for an engine on tcp",
    )
    sandbox_runtime: str | None = Field(
        None,
        description="`docker`: another runtime, such as `runsc` (gVisor) or `kata-runtime`, tried "
        "with 50 runs at the start",
    )
    run_seconds: float = Field(15.0, gt=0, description="wall time of one run")
    run_cpu_seconds: int | None = Field(
        None,
        gt=0,
        description="processor time of one run; unset: its wall time on each of `FETTLE_RUN_CPUS` "
        "processors, and 5 s. A run time that a job asks for moves it in any case",
    )
    run_cpus: float = Field(
        1.0, gt=0, description="processors that one run may keep busy, if there are control groups"
    )
    run_memory_bytes: int = Field(512 * MIB, gt=0, description="memory of one run")
    run_processes: int = Field(64, gt=0, description="processes and threads of one run")
    run_output_bytes: int = Field(
        64 * 1024,
        gt=0,
        description="bytes of stdout, and of stderr, that are kept of one run",
    )
    workspace_bytes: int = Field(
        192 * MIB,
        gt=0,
        description="a workspace's bytes together: the files that a job came with, and those that "
        "its runs make",
    )

    def cpu_seconds(self, run_seconds: int | None = None) -> int:
        """The processor time of a run; of one that a job gives `run_seconds`."""
        if run_seconds is None and self.run_cpu_seconds is not None:
            return self.run_cpu_seconds
        return math.ceil((run_seconds or self.run_seconds) * max(1.0, self.run_cpus)) + SPARE

    @model_validator(mode="after")
    def _images_of_an_engine(self) -> Self:
        if self.sandbox_images and self.sandbox is not Backend.DOCKER:
            raise ValueError(
                "FETTLE_SANDBOX_IMAGES is for FETTLE_SANDBOX=docker: set that, or unset the images"
            )
        return self

    @model_validator(mode="after")
    def _tls_of_an_engine(self) -> Self:
        engine = self.sandbox_engine or "Docker's usual socket"
        if self.sandbox_engine_tls is not None and not engine.startswith("tcp://"):
            raise ValueError(
                f"FETTLE_SANDBOX_ENGINE_TLS is for an engine on tcp, but the engine is {engine}: "
                f"set FETTLE_SANDBOX_ENGINE=tcp://host:2376, or unset FETTLE_SANDBOX_ENGINE_TLS"
            )
        return self
