"""The programs with bugs, and how each is classified."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from agents.failures.classify import classify
from agents.failures.failure import Failure
from sandbox.protocol import Command, Limits, RunResult, Sandbox

FILE = Path(__file__).with_name("programs.yaml")
LIMITS = Limits(wall_seconds=30.0)
"""Time limits that a program is not about leave room for a machine that is busy."""
SHELL = ("bash", "-c")


@dataclass(frozen=True, slots=True)
class Program:
    """One with a bug; `kind` is the class of its failure."""

    name: str
    kind: str
    code: str
    files: Mapping[str, str] = field(default_factory=dict)
    shell: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, bytes]:
        """Its files, by path."""
        return {name: text.encode() for name, text in self.files.items()}

    async def run(self, sandbox: Sandbox) -> RunResult:
        """How it ends."""
        command = Command.python(self.code, self.sources)
        if self.shell:
            command = replace(command, argv=(*SHELL, self.code))
        return await sandbox.run(command, replace(LIMITS, **self.limits))

    def classified(self, result: RunResult) -> Classified:
        """How it is classified where it ends so. Pure."""
        return Classified(self, result, classify(result, shell=self.shell))


@dataclass(frozen=True, slots=True)
class Classified:
    """A program, and how its failure was classified."""

    program: Program
    result: RunResult
    failure: Failure

    @property
    def right(self) -> bool:
        """Whether that is what it is."""
        return self.failure.kind == self.program.kind


def load(path: Path = FILE) -> list[Program]:
    """All programs, in the order of the file."""
    listed = yaml.safe_load(path.read_text())
    return [Program(kind=kind, **fields) for kind, many in listed.items() for fields in many]


async def run_all(
    sandbox: Sandbox, programs: Sequence[Program], at_once: int = 2
) -> list[Classified]:
    """Run every program, `at_once` side by side."""
    gate = asyncio.Semaphore(at_once)

    async def one(program: Program) -> Classified:
        async with gate:
            return program.classified(await program.run(sandbox))

    return list(await asyncio.gather(*map(one, programs)))
