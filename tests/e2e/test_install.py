"""`make install` where it cannot go on: it says what is missing, and changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NOBODY = 65534

pytestmark = pytest.mark.e2e


def install(python: str, venv: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHON": python}
    command = [DEPLOY / "install.sh", venv]
    return subprocess.run(command, check=False, env=env, capture_output=True, text=True)


def test_a_python_that_is_not_there_is_named(tmp_path):
    done = install("python3.99", tmp_path / "venv")
    assert done.returncode == 1
    assert "'python3.99' is not there" in done.stderr
    assert "make install PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old_is_named_with_its_version(tmp_path):
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\necho 0 3.10.13 /usr/bin/python3.10\n")
    old.chmod(0o755)
    done = install(str(old), tmp_path / "venv")
    assert done.returncode == 1
    assert f"'{old}' is Python 3.10.13; 3.11 or newer is needed" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("there", "command"),
    [
        (("sudo",), "    sudo apt-get update && sudo apt-get install"),
        ((), "    su -c 'apt-get update && apt-get install"),
    ],
)
def test_who_is_no_root_is_reported_the_command(tmp_path, there, command):
    """Also where `sudo` is there and wants a password."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "grep"):
        (programs / name).symlink_to(shutil.which(name) or name)
    for name, script in {"apt-get": "", "sudo": "exit 1", "id": f"echo {NOBODY}"}.items():
        if name in ("apt-get", "id", *there):
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
    done = subprocess.run(
        [DEPLOY / "packages.sh", "no-such-package"],
        check=False,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"{command} --yes --no-install-recommends no-such-package" in done.stderr
