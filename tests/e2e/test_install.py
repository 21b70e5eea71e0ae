"""`make install` names a missing requirement and stops before it changes anything."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NOBODY = 65534

pytestmark = pytest.mark.e2e


def install(python: str, venv: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHON": python}
    command = [DEPLOY / "install.sh", venv, *options]
    return subprocess.run(command, check=False, env=env, capture_output=True, text=True)


def test_a_missing_python_is_named(tmp_path):
    done = install("python3.99", tmp_path / "venv")
    assert done.returncode == 1
    assert "'python3.99' is not there" in done.stderr
    assert "make install PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_an_old_python_is_named_with_its_version(tmp_path):
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\necho 0 3.10.13 /usr/bin/python3.10\n")
    old.chmod(0o755)
    done = install(str(old), tmp_path / "venv")
    assert done.returncode == 1
    assert f"'{old}' is Python 3.10.13; 3.11 or newer is needed" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("installed", "command"),
    [
        (("sudo",), "    sudo apt-get update && sudo apt-get install"),
        ((), "    su -c 'apt-get update && apt-get install"),
    ],
)
def test_a_user_without_root_gets_the_command(tmp_path, installed, command):
    """The command is also printed if `sudo` exists but asks for a password."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "grep"):
        (programs / name).symlink_to(shutil.which(name) or name)
    for name, script in {"apt-get": "", "sudo": "exit 1", "id": f"echo {NOBODY}"}.items():
        if name in ("apt-get", "id", *installed):
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


@pytest.fixture
def recorded_uv(tmp_path):
    """An environment with pip, and with a fake uv that writes its calls to a file."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    python = venv / "bin/python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    uv = venv / "bin/uv"
    uv.write_text(f'#!/bin/sh\necho "$@" "cert=$SSL_CERT_FILE" >>"{tmp_path}/calls"\n')
    for program in (python, uv):
        program.chmod(0o755)
    lock = "requirements/installer.lock"
    digest = hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()
    interpreter = Path(sys.executable).resolve()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (venv / ".installed").write_text(f"{interpreter} {version} {ROOT}\n{digest}  {lock}\n")
    return venv


def installed_locks(venv: Path) -> list[str]:
    lines = (venv / ".installed").read_text().splitlines()[1:]
    return [line.split()[1].removeprefix("requirements/") for line in lines]


def test_uv_uses_the_private_index_of_pip(recorded_uv, tmp_path, monkeypatch):
    """uv itself does not read pip's configuration."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://a.example/simple https://b.example/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "b.example")
    monkeypatch.setenv("PIP_CERT", "/etc/bank.pem")
    done = install("", recorded_uv)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 4
    for call in calls:
        assert "--default-index https://index.example/simple" in call
        assert "--index https://a.example/simple --index https://b.example/simple" in call
        assert "--allow-insecure-host b.example" in call
        assert call.endswith("cert=/etc/bank.pem")


def test_the_demo_installs_no_test_tools_and_the_tests_add_them(recorded_uv, tmp_path):
    assert install("", recorded_uv).returncode == 0
    assert set(installed_locks(recorded_uv)) == {
        *("installer.lock", "service.lock", "sandbox.lock"),
        *("fettle/pyproject.toml", "pyproject.toml"),
    }
    assert install("", recorded_uv, "dev").returncode == 0
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 6
    assert "--requirement requirements/dev.lock" in calls[-2]
    assert "--editable lab" in calls[-1]
    again = install("", recorded_uv, "dev")
    assert (again.returncode, again.stdout) == (0, "")


def test_after_a_failure_make_install_continues_with_the_missing_lock(recorded_uv, tmp_path):
    uv = recorded_uv / "bin/uv"
    script = uv.read_text()
    uv.write_text(script + 'case "$*" in *sandbox.lock*) exit 1;; esac\n')
    failed = install("", recorded_uv)
    assert failed.returncode == 1
    assert "Is the package index reachable? Then run it again." in failed.stderr
    assert "sandbox.lock" not in installed_locks(recorded_uv)
    uv.write_text(script)
    (tmp_path / "calls").unlink()
    assert install("", recorded_uv).returncode == 0
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert "--requirement requirements/sandbox.lock" in call
