"""The programs that code finds: those of the policy and the operator, not those of the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sandbox import programs
from sandbox.local import LocalSandbox
from sandbox.policy import SYSTEM_PATH
from sandbox.protocol import Command, Limits
from settings.sandbox import sandbox_python

SEARCH = ":".join(SYSTEM_PATH)
LISTED = 'for place in ${PATH//:/ }; do cd "$place" && printf "%s\\n" *; done'
"""Prints every program that code finds, one per line."""


async def printed(sandbox: LocalSandbox, line: str) -> str:
    result = await sandbox.run(Command(("bash", "-ec", line)), Limits())
    assert result.succeeded, result.stderr
    return result.stdout.text


async def programs_in_sandbox(
    *, python: Path | None = None, further: tuple[str, ...] = ()
) -> set[str]:
    sandbox = LocalSandbox(python or sandbox_python(), pool_size=0, programs=further)
    try:
        return set((await printed(sandbox, LISTED)).split())
    finally:
        await sandbox.close()


async def test_code_finds_only_programs_that_the_policy_names() -> None:
    names = await programs_in_sandbox()
    host_programs = {name for name in programs.PROGRAMS if shutil.which(name, path=SEARCH)}
    assert {"bash", "ls", "git", "grep"} <= host_programs <= names
    interpreter_programs = {path.name for path in sandbox_python().parent.iterdir()}
    assert names <= host_programs | interpreter_programs | {"python", "python3"}


async def test_an_operator_can_name_further_programs() -> None:
    assert shutil.which("perl", path=SEARCH)
    assert "perl" not in await programs_in_sandbox()
    assert "perl" in await programs_in_sandbox(further=("perl", "no-such-program"))


async def test_the_systems_own_python_brings_no_other_program() -> None:
    names = await programs_in_sandbox(python=Path("/usr/bin/python3"))
    assert {"python", "python3", "git"} <= names
    assert "perl" not in names


@pytest.mark.parametrize("line", ["git init -q . && git status", "echo 3 | awk '{print $1}'"])
async def test_the_programs_work(line: str) -> None:
    sandbox = LocalSandbox(sandbox_python(), pool_size=0)
    try:
        assert await printed(sandbox, line)
    finally:
        await sandbox.close()
