"""The tool `install`: packages that the operator allows, for the workspace.

The port Packages gets the wheels outside of the sandbox. They are written to the workspace as they
are, one file per package, before any of their code has run. A sandbox unpacks them when a run
begins (`agents.runs.installed`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pydantic import Field

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.paths import exceeded_limit, own_files
from agents.ports.network import Target, Wheel
from agents.runs.helper import run_helper
from agents.runs.installed import FOLDER, is_package, too_much
from agents.tools.call import Answer, Runtime
from agents.tools.inside import source
from agents.tools.trace import of_use
from sandbox.protocol import Command

Package = Annotated[str, Field(max_length=120)]
"""Longer names exceed the recursion of their parser, which calls itself for each bracket."""


async def install(
    packages: Annotated[list[Package], Field(min_length=1, max_length=20)], runtime: Runtime
) -> Answer:
    """Install packages and their dependencies, so that later runs can import them.

    Only packages that the operator allows, and only wheels: nothing is compiled.

    Args:
        packages: The packages, such as `attrs` or `attrs>=23`.
    """
    ports: Ports = runtime.context
    if ports.packages is None:
        raise ToolRefused("the operator allows no packages")
    wheels = await ports.packages.wheels(packages, await _target(ports, packages))
    if not wheels:
        return "all of these are installed already", of_use("install", None, ok=True)
    new_files = {f"{FOLDER}/{wheel.filename}": wheel.content for wheel in wheels}
    present = own_files(ports.workspace)
    names = {_named(path)[0] for path in new_files}
    old = frozenset(path for path in present if is_package(path) and _named(path)[0] in names)
    old -= new_files.keys()
    sizes = {path: len(content) for path, content in new_files.items()}
    other = [path for path in present if is_package(path) and path not in {*old, *new_files}]
    contents = [await ports.workspace.read(path) or b"" for path in other]
    if why := exceeded_limit(present, sizes, ports.limits, old) or too_much(
        [*new_files.values(), *contents]
    ):
        raise ToolRefused(f"{why}; nothing was installed")
    await ports.workspace.apply(new_files, old)
    found = ", ".join(f"{wheel.filename} (sha256 {wheel.digest})" for wheel in wheels)
    return _text(wheels), of_use("install", None, ok=True, note=found)


async def _target(ports: Ports, packages: Sequence[str]) -> Target:
    """The sandbox's interpreter, as it describes itself, with the packages installed before. A
    package that is requested now is chosen again."""
    command = Command(("python", "-I", "-c", source("target")))
    result = await run_helper(ports, command, "that describes its interpreter")
    try:
        found = json.loads(result.stdout.text)
        tags, markers, present = tuple(found["tags"]), found["markers"], found["there"]
    except (ValueError, KeyError):
        last = result.stderr.text.strip().rpartition("\n")[2]
        raise ToolRefused(f"the sandbox does not describe its interpreter: {last}") from None
    asked = {_asked(each) for each in packages}
    installed = dict(map(_named, filter(is_package, ports.workspace.list())))
    other = {name: version for name, version in installed.items() if name not in asked}
    return Target(tags, markers, {**other, **present})


def _asked(text: str) -> str:
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement as error:
        raise ToolRefused(f"{text!r} is not a valid requirement: {error}") from None


def _named(path: str) -> tuple[str, str]:
    """Package and version of a wheel's path; the path itself if it is no wheel's name."""
    try:
        name, version, _, _ = parse_wheel_filename(path.rpartition("/")[2])
    except InvalidWheelFilename:
        return path, "0"
    return name, str(version)


def _text(wheels: Sequence[Wheel]) -> str:
    return "installed " + ", ".join(" ".join(_named(wheel.filename)) for wheel in wheels)
