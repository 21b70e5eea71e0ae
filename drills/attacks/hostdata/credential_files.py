"""Reads files where people keep keys: dotenv files of the checkout, ssh, clouds, netrc, kube."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.outcome import Observation

if TYPE_CHECKING:
    from drills.attacks.context import Context

_NAMES = (".env", ".env.local", ".netrc", ".pgpass", ".git-credentials", ".pypirc", ".bash_history")
_FOLDERS = (".ssh", ".aws", ".kube", ".docker", ".gnupg", ".config/gcloud", ".fettle", ".git")


def probe(given: dict[str, Any]) -> str | None:
    import os

    for path in given["paths"]:
        try:
            if os.path.isdir(path):
                return f"a folder {path} with {len(os.listdir(path))} names"
            with open(path, "rb") as file:
                return f"{len(file.read())} bytes of {path}"
        except OSError:
            continue
    return None


async def drive(context: Context) -> Observation:
    """Names alone are tried for real ones; what is read in a control is a planted file."""
    planted = []
    homes = [Path.home(), Path.cwd(), context.host.folder, Path("/root"), Path("/work")]
    for home in homes[1:3]:
        path = home / f".env.{context.mark}"
        with contextlib.suppress(OSError):
            path.write_text("KEY=none\n")
            path.chmod(0o644)
            planted.append(path)
    real = [str(home / name) for home in homes for name in (*_NAMES, *_FOLDERS)]
    try:
        paths = [str(each) for each in planted] + ([] if context.is_control else real)
        return await context.run(given={"paths": paths})
    finally:
        for path in planted:
            path.unlink(missing_ok=True)


ATTACK = Attack(
    probe,
    expects="no such file or folder is there",
    drive=drive,
)
