"""The one thing that the sandbox needs from the system: bubblewrap."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cli.errors import CliError

INSTALLER = Path(__file__).resolve().parents[2] / "deploy" / "packages.sh"
_INSTALL = "apt-get install --yes --no-install-recommends bubblewrap"
BY_HAND = f"sudo apt-get update && sudo {_INSTALL}"


def ensure() -> None:
    """Install it where it is missing and can be; raises CliError with the command where not."""
    if shutil.which("bwrap"):
        return
    if not INSTALLER.exists() or not shutil.which("dpkg-query"):
        raise _missing("bwrap is not on the PATH")
    if subprocess.run([INSTALLER, "bubblewrap"], check=False).returncode or not shutil.which(
        "bwrap"
    ):
        raise _missing("it could not be installed here")


def _missing(why: str) -> CliError:
    return CliError("the sandbox needs bubblewrap", why, f"run: {BY_HAND}")
