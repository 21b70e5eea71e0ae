"""The version of this program, from git."""

import re
import subprocess
from pathlib import Path

UNKNOWN = "0+unknown"


def own_version(folder=Path(__file__).parent):
    """`1.2.0` at its tag, `1.2.1.dev3` three commits after it; UNKNOWN outside of a clone."""
    command = ["git", "describe", "--tags", "--long", "--match", "v*"]
    try:
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN
    return version_of(said.stdout.strip())


def version_of(described):
    tag, count, _ = described.rsplit("-", 2)
    major, minor, patch = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", tag).groups()
    if count == "0":
        return f"{major}.{minor}.{patch}"
    return f"{major}.{minor}.{int(patch) + 1}.dev{count}"
