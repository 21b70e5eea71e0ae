"""The programs with bugs, and the classification of their failures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from agents.failures.classify import classify
from agents.failures.failure import Failure
from sandbox.protocol import Command, Limits, Sandbox

FILE = Path(__file__).with_name("programs.yaml")
LIMITS = Limits(wall_seconds=30.0)
"""By default long enough for a busy machine; a program about a limit sets its own limits."""
SHELL = ("bash", "-c")


@dataclass(frozen=True, slots=True)
class BuggyProgram:
    """A program with a bug; `kind` is the expected class of its failure."""

    name: str
    kind: str
    code: str
    files: Mapping[str, str] = field(default_factory=dict)
    shell: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, bytes]:
        """The files of the program, by path."""
        return {name: text.encode() for name, text in self.files.items()}

    async def run(self, sandbox: Sandbox) -> Classified:
        """Run the program, and classify its failure."""
        command = Command.python(self.code, self.sources)
        if self.shell:
            command = replace(command, argv=(*SHELL, self.code))
        result = await sandbox.run(command, replace(LIMITS, **self.limits))
        return Classified(self, classify(result, shell=self.shell))


@dataclass(frozen=True, slots=True)
class Classified:
    """A program, and the classification of its failure."""

    program: BuggyProgram
    failure: Failure

    @property
    def right(self) -> bool:
        """Whether the class is the expected one."""
        return self.failure.kind == self.program.kind


def load(path: Path = FILE) -> list[BuggyProgram]:
    """All programs, in the order of the file."""
    listed = yaml.safe_load(path.read_text())
    return [
        BuggyProgram(kind=kind, **fields)
        for kind, programs in listed.items()
        for fields in programs
    ]


async def run_all(
    sandbox: Sandbox, programs: Sequence[BuggyProgram], at_once: int = 2
) -> list[Classified]:
    """Run every program, `at_once` in parallel."""
    gate = asyncio.Semaphore(at_once)

    async def run_program(program: BuggyProgram) -> Classified:
        async with gate:
            return await program.run(sandbox)

    return list(await asyncio.gather(*map(run_program, programs)))
