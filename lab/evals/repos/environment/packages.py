"""A task's pinned requirements, as a layer of the sandbox: `/work/.fettle/packages`.

pip takes them from the index that its own environment and configuration name. It takes only wheels,
which it unpacks: no code of a package runs outside of the sandbox (`sources` builds packages
without a wheel there).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from lab.evals.repos.pytest_run import LIMITS, one_line, source
from sandbox.local.stepdown import give_to_sandbox_user
from sandbox.protocol import Command, Sandbox, SandboxUnavailable

FOLDER = ".fettle/packages"
SECONDS = 600.0
ERROR_CHARACTERS = 400
_HASH = re.compile(r"\s--hash[= ]\S+")
_PROJECT = re.compile(r"(-e\s*|--editable[= ])?[\"']?\./?(\[(?P<extras>[\w\s,.-]*)\])?[\"']?")
_NO_WHEEL = re.compile(
    r"No matching distribution found for ([^\n]+?)( \(from [^\n]*\))?$", re.MULTILINE
)
_OPTIONS = (
    *("--quiet", "--no-input", "--disable-pip-version-check", "--no-color"),
    *("--no-compile", "--no-warn-conflicts", "--only-binary", ":all:"),
)


class NoPackages(Exception):
    """A requirement cannot be met. The message names the requirement and the reason."""


class NoWheel(NoPackages):
    """A requirement that the index has no wheel for."""

    def __init__(self, requirement: str) -> None:
        super().__init__(f"setup: {requirement}: no wheel for the sandbox's Python")
        self.requirement = requirement


@dataclass(frozen=True, slots=True)
class Target:
    """The sandbox's interpreter: its full version, the platforms of its wheels, and its values of
    markers.
    """

    version: str
    implementation: str
    platforms: tuple[str, ...]
    markers: Mapping[str, str] = field(default_factory=dict, compare=False)


async def target(sandbox: Sandbox) -> Target:
    """The description of the interpreter by itself. Raises SandboxUnavailable."""
    result = await sandbox.run(Command(("python", "-I", "-c", source("interpreter"))), LIMITS)
    if not result.succeeded:
        raise SandboxUnavailable(f"its interpreter did not answer: {one_line(result.stderr.text)}")
    report = json.loads(result.stdout.text)
    platforms = dict.fromkeys(tag.rpartition("-")[2] for tag in report["tags"])
    version = report["markers"]["python_full_version"].rstrip("+")
    named_platforms = tuple(platform for platform in platforms if platform != "any")
    return Target(version, report["tags"][0][:2], named_platforms, report["markers"])


def requirements(setup: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines for pip, and the extras that lines of the project itself (`.`, `-e .[test]`) name;
    the project is always installed. Raises NoPackages for an option, an address or a path.
    """
    pinned, extras = [], []
    for line in setup:
        bare = re.sub(r"(^|\s)#.*$", "", line).strip()
        if project_match := _PROJECT.fullmatch(bare):
            extras += [
                extra.strip()
                for extra in (project_match["extras"] or "").split(",")
                if extra.strip()
            ]
        elif bare:
            _require_plain(bare)
            pinned.append(bare)
    return pinned, extras


def setup_command(setup: Sequence[str]) -> str | None:
    """The shell command that installs these packages together with the project, or without it if
    the project cannot be built; None without packages. Raises NoPackages."""
    pinned, extras = requirements(setup)
    if not pinned and not extras:
        return None
    project = f".[{','.join(extras)}]" if extras else "."
    packages = [_HASH.sub("", line) for line in pinned]
    both = shlex.join(["pip", "install", *packages, "-e", project])
    return f"{both} || {shlex.join(['pip', 'install', *packages])}" if packages else both


def _require_plain(line: str) -> None:
    try:
        requirement = Requirement(_HASH.sub("", line))
    except InvalidRequirement as error:
        raise NoPackages(f"setup: {line!r} is no requirement: {error}") from None
    if requirement.url:
        raise NoPackages(f"setup: {line!r}: a package comes from the index, not from an address")


async def layer(
    layers: Path, requirements: Sequence[str], of: Target, wheels: Path, *, folder: str = FOLDER
) -> str | None:
    """The name of the layer that has the packages in `folder`; None without requirements. The
    packages in the folder `wheels` count like packages of the index. Raises NoPackages.
    """
    if not requirements:
        return None
    key = json.dumps([list(requirements), of.version, of.platforms, folder])
    name = f"packages-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    if (layers / name).exists():
        return name
    part = layers / f".{name}.{secrets.token_hex(8)}"
    try:
        (part / folder).mkdir(parents=True)
        await _install(part / folder, requirements, of, wheels)
        await asyncio.to_thread(_settle, part, part / folder)
        if not (layers / name).exists():  # otherwise another task has made the layer first
            part.rename(layers / name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return name


def names(layers: Path, name: str | None) -> frozenset[str]:
    """The packages that a layer has."""
    metadata_folders = (layers / name / FOLDER).glob("*.dist-info") if name else ()
    return frozenset(
        canonicalize_name(folder.name.partition("-")[0]) for folder in metadata_folders
    )


async def newest(name: str, before: str) -> str | None:
    """The newest version of a package that the index had at a time; None if the index does not say
    when."""
    words = ("index", "versions", name, "--json", "--uploaded-prior-to", before)
    with suppress(NoPackages, ValueError, LookupError):
        code, stdout, _ = await ran(sys.executable, "-I", "-m", "pip", *words)
        if code == 0:
            return str(Version(json.loads(stdout)["versions"][0]))
    return None


async def _install(into: Path, requirements: Sequence[str], of: Target, wheels: Path) -> None:
    """Run pip in this process's environment, which names the index. Raises NoPackages with pip's
    error.
    """
    listed = into.parent / "requirements.txt"
    listed.write_text("".join(f"{line}\n" for line in requirements))
    code, _, stderr = await ran(
        *(sys.executable, "-I", "-m", "pip", "install", *_OPTIONS),
        *("--target", str(into), "--python-version", of.version),
        *("--implementation", of.implementation),
        *(part for platform in of.platforms for part in ("--platform", platform)),
        *("--find-links", str(wheels), "--requirement", str(listed)),
    )
    listed.unlink()
    if code != 0:
        if missing := _NO_WHEEL.search(stderr):
            raise NoWheel(missing[1])
        raise NoPackages(f"setup: {_pip_error(stderr)}")


async def ran(*words: str) -> tuple[int, str, str]:
    """Run a program of this environment; its exit code and outputs. Raises NoPackages if it takes
    too long."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            out, errors = await process.communicate()
    except TimeoutError:
        raise NoPackages(f"setup: the index took longer than {SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode(errors="replace"), errors.decode(errors="replace")


def _pip_error(stderr: str) -> str:
    """pip's errors."""
    lines = [line for line in stderr.splitlines() if line.startswith("ERROR: ")]
    text = one_line("\n".join(line.removeprefix("ERROR: ") for line in lines) or stderr)
    return text[:ERROR_CHARACTERS]


def _settle(part: Path, folder: Path) -> None:
    """Let programs start with the sandbox's interpreter, and let its code read and copy all
    files.
    """
    for script in (folder / "bin").glob("*"):
        head, _, body = script.read_bytes().partition(b"\n")
        if head.startswith(b"#!") and b"python" in head:
            script.write_bytes(b"#!/usr/bin/env python\n" + body)
    for path in (part, *part.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o444))
    give_to_sandbox_user(part)
