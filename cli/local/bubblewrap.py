"""bubblewrap, the only package of the system that the sandbox needs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from cli.errors import CliError

INSTALLER = Path(__file__).resolve().parents[2] / "deploy" / "packages.sh"
_INSTALL = "apt-get install --yes --no-install-recommends bubblewrap"
BY_HAND = f"sudo apt-get update && sudo {_INSTALL}"


def ensure() -> None:
    """Install bubblewrap if it is missing. Raises CliError, with the command, if that fails."""
    if shutil.which("bwrap"):
        return
    if not INSTALLER.exists() or not shutil.which("dpkg-query"):
        raise _missing("bwrap is not on the PATH")
    if subprocess.run([INSTALLER, "bubblewrap"], check=False).returncode or not shutil.which(
        "bwrap"
    ):
        raise _missing("the installation failed")


def _missing(reason: str) -> CliError:
    return CliError("the sandbox needs bubblewrap", reason, f"run: {BY_HAND}")
