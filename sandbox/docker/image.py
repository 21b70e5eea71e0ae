"""Fettle's files in the sandboxes' image, and the check that an engine's image has these files.

`deploy/sandbox-image.sh` puts the files into the image and their digest on its label. A worker
compares that label with its own digest, so that host and sandbox always use the same protocol.
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
TREES = "/base"
"""The directory of the trees in an image of trees (`tree_images.py`)."""

_TOP = Path(__file__).resolve().parent.parent.parent
_SOURCES = ("sandbox/__init__.py", "sandbox/paths.py")
_EXCLUDED = {"server.py", "probe.py", "isolation.py"}
"""Modules that only the backend `local` needs, and a module that is sent as the code of a run."""
_ETC = {
    **policy.ETC,
    # The engine empties the image's /etc/hosts; this module resolves localhost without it.
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files myhostname\n",
}


@dataclass(frozen=True, slots=True)
class SandboxImage:
    """An image of the engine that has been checked."""

    id: str
    name: str


def image_files() -> Mapping[str, bytes]:
    """Fettle's files of the image, by absolute path: the agent, its context, and `/etc`."""
    modules = [*_TOP.glob("sandbox/agent/*.py"), *_TOP.glob("sandbox/zygote/*.py")]
    sources = [_TOP / path for path in _SOURCES]
    sources += sorted(path for path in modules if path.name not in _EXCLUDED)
    files = {f"{policy.AGENT_ROOT}/{path.relative_to(_TOP)}": path.read_bytes() for path in sources}
    files[policy.AGENT_CONTEXT] = agent_context().encode()
    users = {path: _for_all_uids(policy.ETC[path]) for path in ("/etc/passwd", "/etc/group")}
    return files | {path: text.encode() for path, text in {**_ETC, **users}.items()}


def write_files(directory: Path) -> None:
    """Write the files below `directory`."""
    for path, data in image_files().items():
        target = directory / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def agent_context() -> str:
    """The agent's context: the interpreter, the path of the code, the code's environment."""
    env = (f"env {name}={value}" for name, value in environment().items())
    return "\n".join((f"python {PYTHON}", f"main {policy.MAIN}", *env))


def environment() -> Mapping[str, str]:
    """The full environment of a sandbox."""
    return policy.environment(HostEnvironment("", PYTHON, ()))


def digest() -> str:
    """One digest of all `image_files`."""
    total = hashlib.sha256()
    for path, data in sorted(image_files().items()):
        total.update(f"{path} {len(data)}\n".encode() + data)
    return total.hexdigest()


def require_image(name: str, description: Mapping[str, Any] | None) -> SandboxImage:
    """The image of the engine's `description`, if it has Fettle's files. None: the engine has no
    image of this name.

    Raises SandboxUnavailable with the command that builds the image.
    """
    if description is None:
        raise SandboxUnavailable(f"the engine has no image {name!r}. Build it: {BUILD} {name}")
    labels = (description.get("Config") or {}).get("Labels") or {}
    if labels.get(LABEL) != digest():
        is_fettles = LABEL in labels
        fault = "is of another release" if is_fettles else "is not a sandbox image of Fettle"
        raise SandboxUnavailable(f"the engine's image {name!r} {fault}. Build it: {BUILD} {name}")
    return SandboxImage(str(description["Id"]), name)


def _for_all_uids(line: str) -> str:
    """The user's line of `/etc/passwd` or `/etc/group`, for each uid that a sandbox may have."""
    return "".join(line.replace(str(policy.UID), str(uid)) for uid in profile.UIDS)
