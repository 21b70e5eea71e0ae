"""Fettle's files in a sandbox's image, and whether an engine's image has just those.

`deploy/sandbox-image.sh` puts the contents into the image and their digest on its label. A worker
compares that label with its own digest, so host and sandbox always speak the same protocol.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.docker import profile
from sandbox.policy import HostEnvironment
from sandbox.protocol import SandboxUnavailable

LABEL = "fettle.sandbox"
BUILD = "deploy/sandbox-image.sh"
PYTHON = f"{policy.VENV}/bin/python"

_TOP = Path(__file__).resolve().parent.parent.parent
_SOURCES = ("sandbox/__init__.py", "sandbox/paths.py")
BASE = "/base"
"""Where an image of layers has them (`layered/image.py`)."""
_NOT_HERE = {"server.py", "probe.py", "isolation.py"}
"""What makes sandboxes of the local backend, and what is sent in as a program."""
_ETC = {
    **policy.ETC,
    # The engine empties the image's /etc/hosts; this module knows localhost without it.
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files myhostname\n",
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image that was found in order."""

    id: str
    name: str


def contents() -> Mapping[str, bytes]:
    """Files of the image by their absolute path: the agent, what it is given, and `/etc`."""
    inside = [*_TOP.glob("sandbox/agent/*.py"), *_TOP.glob("sandbox/zygote/*.py")]
    sources = [_TOP / each for each in _SOURCES]
    sources += sorted(each for each in inside if each.name not in _NOT_HERE)
    texts = {f"{policy.AGENT_ROOT}/{each.relative_to(_TOP)}": each.read_bytes() for each in sources}
    texts[policy.AGENT_GIVEN] = given().encode()
    users = {path: _of_all(policy.ETC[path]) for path in ("/etc/passwd", "/etc/group")}
    return texts | {path: text.encode() for path, text in {**_ETC, **users}.items()}


def write(top: Path) -> None:
    """Lay the contents below `top`."""
    for path, data in contents().items():
        place = top / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def given() -> str:
    """What the agent gets: the interpreter, where the code lies, the code's environment."""
    own = (f"env {name}={value}" for name, value in environment().items())
    return "\n".join((f"python {PYTHON}", f"main {policy.MAIN}", *own))


def environment() -> Mapping[str, str]:
    """The whole environment of a sandbox."""
    return policy.environment(HostEnvironment("", PYTHON, ()))


def digest() -> str:
    """One digest of all `contents`."""
    whole = hashlib.sha256()
    for path, data in sorted(contents().items()):
        whole.update(f"{path} {len(data)}\n".encode() + data)
    return whole.hexdigest()


def require(name: str, answer: Mapping[str, Any] | None) -> Image:
    """The image that the engine describes (None: it has none of this name), if it is Fettle's.

    Raises SandboxUnavailable with the command that makes it.
    """
    if answer is None:
        raise SandboxUnavailable(f"the engine has no image {name!r}. Make it: {BUILD} {name}")
    labels = (answer.get("Config") or {}).get("Labels") or {}
    if labels.get(LABEL) != digest():
        found = "is of another release" if LABEL in labels else "is no sandbox of Fettle's"
        raise SandboxUnavailable(f"the engine's image {name!r} {found}. Make it: {BUILD} {name}")
    return Image(str(answer["Id"]), name)


def _of_all(line: str) -> str:
    """The user's line of `/etc/passwd` or `/etc/group`, for each uid that a sandbox may have."""
    return "".join(line.replace(str(policy.UID), str(uid)) for uid in profile.UIDS)
