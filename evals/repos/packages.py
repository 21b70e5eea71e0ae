"""A task's pinned requirements, as a layer of the sandbox: `/work/.fettle/packages`.

pip takes them from the index that its own environment and configuration name. It takes wheels
alone, which it unpacks: no code of a package runs outside of the sandbox.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from agents.tools.inside import source
from evals.repos.pytest_run import LIMITS, one_line
from sandbox.local.stepdown import give
from sandbox.protocol import Command, Sandbox, SandboxUnavailable

FOLDER = ".fettle/packages"
SECONDS = 600.0
ERROR_CHARACTERS = 400
_HASH = re.compile(r"\s--hash[= ]\S+")
_PROJECT = re.compile(r"(-e\s*|--editable[= ])?\.(\[(?P<extras>.*)\])?")
_OPTIONS = (
    *("--quiet", "--no-input", "--disable-pip-version-check", "--no-color"),
    *("--no-compile", "--no-warn-conflicts", "--only-binary", ":all:"),
)


class NoPackages(Exception):
    """A requirement cannot be met. Its text says which and why."""


@dataclass(frozen=True, slots=True)
class Target:
    """The sandbox's interpreter: its full version, and the platforms of its wheels."""

    version: str
    implementation: str
    platforms: tuple[str, ...]


async def target(sandbox: Sandbox) -> Target:
    """What the interpreter says of itself. Raises SandboxUnavailable."""
    result = await sandbox.run(Command(("python", "-I", "-c", source("target"))), LIMITS)
    if not result.succeeded:
        raise SandboxUnavailable(f"its interpreter did not answer: {one_line(result.stderr.text)}")
    said = json.loads(result.stdout.text)
    platforms = dict.fromkeys(tag.rpartition("-")[2] for tag in said["tags"])
    version = said["markers"]["python_full_version"].rstrip("+")
    return Target(version, said["tags"][0][:2], tuple(each for each in platforms if each != "any"))


def requirements(setup: Sequence[str]) -> list[str]:
    """The lines for pip. The project itself (`.`, `-e .`) is left out: it is always there.

    Raises NoPackages for an option, an address or a path.
    """
    found = []
    for line in setup:
        bare = re.sub(r"(^|\s)#.*$", "", line).strip()
        own = _PROJECT.fullmatch(bare)
        if own and own["extras"]:
            raise NoPackages(f"setup: {line!r}: list what the project's extras require instead")
        if bare and not own:
            _require_plain(bare)
            found.append(bare)
    return found


def _require_plain(line: str) -> None:
    try:
        requirement = Requirement(_HASH.sub("", line))
    except InvalidRequirement as error:
        raise NoPackages(f"setup: {line!r} is no requirement: {error}") from None
    if requirement.url:
        raise NoPackages(f"setup: {line!r}: a package comes from the index, not from an address")


async def layer(
    layers: Path, wanted: Sequence[str], of: Target, *, folder: str = FOLDER
) -> str | None:
    """The name of the layer that has the packages in `folder`; None where none are wanted.

    Raises NoPackages.
    """
    if not wanted:
        return None
    key = json.dumps([list(wanted), of.version, of.platforms, folder])
    name = f"packages-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    if (layers / name).exists():
        return name
    part = layers / f".{name}.{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    try:
        (part / folder).mkdir(parents=True)
        await _install(part / folder, wanted, of)
        await asyncio.to_thread(_settle, part, part / folder)
        part.rename(layers / name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return name


async def _install(into: Path, wanted: Sequence[str], of: Target) -> None:
    """Run pip, in this environment: it has the index. Raises NoPackages with what it says."""
    listed = into.parent / "requirements.txt"
    listed.write_text("".join(f"{line}\n" for line in wanted))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "pip", "install", *_OPTIONS),
        *("--target", str(into), "--python-version", of.version),
        *("--implementation", of.implementation),
        *(part for each in of.platforms for part in ("--platform", each)),
        *("--requirement", str(listed)),
        cwd=into,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            _, said = await process.communicate()
    except TimeoutError:
        raise NoPackages(f"setup: the index took longer than {SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        listed.unlink()
    if process.returncode != 0:
        raise NoPackages(f"setup: {_why(said.decode(errors='replace'))}")


def _why(said: str) -> str:
    """pip's errors; where a version has no wheel, that this is what is missing."""
    lines = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    text = one_line("\n".join(line.removeprefix("ERROR: ") for line in lines) or said)
    if "No matching distribution" in text:
        text = f"no wheel for the sandbox's Python (building one would run its code): {text}"
    return text[:ERROR_CHARACTERS]


def _settle(part: Path, folder: Path) -> None:
    """Programs start with the sandbox's interpreter; its code may read all, and copy it."""
    for script in (folder / "bin").glob("*"):
        head, _, rest = script.read_bytes().partition(b"\n")
        if head.startswith(b"#!") and b"python" in head:
            script.write_bytes(b"#!/usr/bin/env python\n" + rest)
    for path in (part, *part.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
    give(part)
