"""The conditions for sandboxes: users, interpreters, directories, and the errors without them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.local import LocalSandbox
from sandbox.protocol import Command, End, Limits, SandboxUnavailable
from sandbox.result import HEADER_BYTES

TOP = Path(__file__).resolve().parents[3]
VENV_PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
SYSTEM_PYTHON = Path("/usr/bin/python3")
NOBODY = 61_150  # unused, like policy.HOST_UID

HOSTILE = """#!/usr/bin/python3 -IS
# Takes the place of bubblewrap: its zygote makes no sandboxes, and its agents send forged answers.
import os, signal, socket, sys
if sys.argv[1:] == ["--version"]: sys.exit()
info = int(sys.argv[sys.argv.index("--info-fd") + 1])
control = int(sys.argv[-1].split("prepare_agent(")[1].split(",")[0])
wait, go = os.pipe()
zygote = os.fork()
if zygote:
    os.write(info, b'{"child-pid": %d}' % zygote)
    os.write(go, b".")  # as bubblewrap does: its child starts when this is written
    os.close(control)
    os.waitpid(zygote, 0)
    sys.exit()
os.read(wait, 1)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
talk = socket.socket(fileno=control)
talk.send(b"ready")
while True:
    data, fds, _, _ = socket.recv_fds(talk, 4096, 8)
    if not data: sys.exit()
    agent = os.fork()
    if not agent:
        os.write(fds[0], b"R")
        os.read(fds[0], 1)
        os.write(fds[0], ANSWER)
        sys.exit()
    socket.send_fds(talk, [b"made"], [os.pidfd_open(agent)])
    for fd in fds: os.close(fd)
"""


MORTAL = """#!/bin/sh
# bubblewrap, but the FIRST processes are killed before their zygotes are ready.
[ "$1" = --version ] && exit
echo >> "$0.starts"
[ $(wc -l < "$0.starts") -le FIRST ] && kill -9 $$
exec bwrap "$@"
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that every user can enter; pytest's own directory is closed to others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def run_doctor(public: Path, *wrapper: str) -> subprocess.CompletedProcess[str]:
    """Run this package's doctor as an unprivileged user, by the command `wrapper`."""
    shutil.copytree(TOP / "sandbox", public / "sandbox", dirs_exist_ok=True)
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    python = str(SYSTEM_PYTHON)
    return subprocess.run(
        [*wrapper, python, "-B", "-m", "sandbox.doctor", "--python", python, "--json"],
        cwd=public, env={}, capture_output=True, text=True, timeout=60, check=False, **identity,
    )  # fmt: skip


def test_the_doctor_works_as_an_unprivileged_user(public: Path) -> None:
    process = run_doctor(public)
    assert (process.returncode, process.stderr) == (0, "")
    report = json.loads(process.stdout)
    layers = {layer["name"]: layer for layer in report["layers"]}
    uid = NOBODY if os.geteuid() == 0 else os.geteuid()
    assert report["available"]
    assert f"uid {uid} " in layers["unprivileged"]["detail"]
    assert [name for name, layer in layers.items() if not layer["active"]] == ["cgroup"]


def test_without_user_namespaces_the_doctor_names_the_setting(public: Path) -> None:
    # Each user namespace has its own limit, so this does not change the machine.
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    unshare = ("unshare", "--user", "--map-root-user", "/bin/sh", "-c", forbid, "sh")
    process = run_doctor(public, *unshare)
    assert process.returncode == 1, process
    assert "sysctl -w user.max_user_namespaces=" in json.loads(process.stdout)["reason"]


@pytest.fixture
def venv() -> Iterator[Path]:
    """An environment below /tmp, in a directory that only this user can enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        base, environment = VENV_PYTHON.resolve(), Path(folder) / "venv"
        subprocess.run([base, "-I", "-m", "venv", "--without-pip", environment], check=True)
        (next(environment.glob("lib/*/site-packages")) / "found.py").write_text("")
        yield environment


async def test_an_environment_below_tmp_works(venv: Path) -> None:
    sandbox = LocalSandbox(venv / "bin" / "python", pool_size=0)
    code = f"import found, os; print(found.__file__, os.path.exists({str(venv)!r}))"
    result = await sandbox.run(Command.python(code), Limits())
    await sandbox.close()
    assert result.stdout.text.startswith("/opt/venv/lib/")
    assert result.stdout.text.endswith("/found.py False\n")


async def test_without_bubblewrap_the_error_names_the_package() -> None:
    sandbox = LocalSandbox(VENV_PYTHON, bwrap=Path("/nonexistent/bwrap"))
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        await sandbox.run(Command.python(""), Limits())
    await sandbox.close()


async def test_if_no_sandbox_can_be_made_the_error_contains_the_reason(
    public: Path,
) -> None:
    broken = _program(
        public, "#!/bin/sh\necho 'bwrap: Creating new namespace failed' >&2; exit 1\n"
    )
    sandbox = LocalSandbox(SYSTEM_PYTHON, bwrap=broken)
    for _ in range(2):
        with pytest.raises(SandboxUnavailable, match="Creating new namespace failed"):
            await sandbox.run(Command.python(""), Limits())
    await sandbox.close()


async def test_a_run_succeeds_after_a_zygote_was_killed_before_it_was_ready(public: Path) -> None:
    sandbox, starts = _mortal(public, 1)
    assert (await sandbox.run(Command.python(""), Limits())).succeeded
    assert len(starts.read_text()) == 2
    await sandbox.close()


async def test_a_run_fails_after_two_zygotes_were_killed_before_they_were_ready(
    public: Path,
) -> None:
    sandbox, starts = _mortal(public, 2)
    with pytest.raises(SandboxUnavailable, match="the zygote ended early"):
        await sandbox.run(Command.python(""), Limits())
    assert (await sandbox.run(Command.python(""), Limits())).succeeded
    assert len(starts.read_text()) == 3
    await sandbox.close()


@pytest.mark.parametrize(
    "answer",
    [
        "b''",
        "b'\\0\\0\\0\\4nope'",
        f"({HEADER_BYTES} + 1).to_bytes(4, 'big') + b' ' * 100",
        "b'\\0\\0\\1\\0' + b'[' * 256",
    ],
)
async def test_a_forged_answer_is_a_killed_run(public: Path, answer: str) -> None:
    hostile = _program(public, HOSTILE.replace("ANSWER", answer))
    sandbox = LocalSandbox(SYSTEM_PYTHON, bwrap=hostile, pool_size=0)
    result = await sandbox.run(Command.python(""), Limits())
    assert (result.end, result.stdout.text, result.changed) == (End.KILLED, "", {})
    await sandbox.close()


def _mortal(public: Path, starts: int) -> tuple[LocalSandbox, Path]:
    """A backend that kills its first zygotes, and a file with a line for each start."""
    bwrap = _program(public, MORTAL.replace("FIRST", str(starts)))
    starts_file = public / "bwrap.starts"
    starts_file.touch()
    starts_file.chmod(0o666)
    return LocalSandbox(SYSTEM_PYTHON, bwrap=bwrap, pool_size=0), starts_file


def _program(directory: Path, text: str) -> Path:
    program = directory / "bwrap"
    program.write_text(text)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("below", ["/usr/local/fettle", "{prefix}/data"])
async def test_no_run_starts_if_code_would_see_a_private_path(below: str) -> None:
    private = Path(below.format(prefix=VENV_PYTHON.parent.parent))
    sandbox = LocalSandbox(VENV_PYTHON, pool_size=0, private=(Path.cwd(), private))
    try:
        with pytest.raises(SandboxUnavailable, match=re.escape(f"{private} is in ")):
            await sandbox.run(Command.python(""), Limits())
    finally:
        await sandbox.close()
