"""Where sandboxes can be made, as whom, and what is said where they cannot."""

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
# In bubblewrap's place: a zygote whose sandboxes are no sandboxes, and whose agents lie.
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
    for each in fds: os.close(each)
"""


MORTAL = """#!/bin/sh
# bubblewrap, but the FIRST of it are killed before their zygotes are ready.
[ "$1" = --version ] && exit
echo >> "$0.starts"
[ $(wc -l < "$0.starts") -le FIRST ] && kill -9 $$
exec bwrap "$@"
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that every user reaches; pytest's own is closed to others."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def doctor(public: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Run this package's doctor as a user who owns nothing; the words `before` go before it."""
    shutil.copytree(TOP / "sandbox", public / "sandbox", dirs_exist_ok=True)
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    python = str(SYSTEM_PYTHON)
    return subprocess.run(
        [*before, python, "-B", "-m", "sandbox.doctor", "--python", python, "--json"],
        cwd=public, env={}, capture_output=True, text=True, timeout=60, check=False, **identity,
    )  # fmt: skip


def test_it_works_as_an_unprivileged_user(public: Path) -> None:
    ran = doctor(public)
    assert (ran.returncode, ran.stderr) == (0, "")
    facts = json.loads(ran.stdout)
    layers = {layer["name"]: layer for layer in facts["layers"]}
    uid = NOBODY if os.geteuid() == 0 else os.geteuid()
    assert facts["available"]
    assert f"uid {uid} " in layers["unprivileged"]["detail"]
    assert [name for name, layer in layers.items() if not layer["active"]] == ["cgroup"]


def test_without_user_namespaces_it_names_the_switch(public: Path) -> None:
    # A user namespace has a count of its own, so this touches nothing of the machine.
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    ran = doctor(public, "unshare", "--user", "--map-root-user", "/bin/sh", "-c", forbid, "sh")
    assert ran.returncode == 1, ran
    assert "sysctl -w user.max_user_namespaces=" in json.loads(ran.stdout)["reason"]


@pytest.fixture
def venv() -> Iterator[Path]:
    """An environment below /tmp, in a directory that only this user reaches."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        base, venv = VENV_PYTHON.resolve(), Path(folder) / "venv"
        subprocess.run([base, "-I", "-m", "venv", "--without-pip", venv], check=True)
        (next(venv.glob("lib/*/site-packages")) / "found.py").write_text("")
        yield venv


async def test_an_environment_below_tmp_works(venv: Path) -> None:
    sandbox = LocalSandbox(venv / "bin" / "python", pool_size=0)
    code = f"import found, os; print(found.__file__, os.path.exists({str(venv)!r}))"
    result = await sandbox.run(Command.python(code), Limits())
    await sandbox.close()
    assert result.stdout.text.startswith("/opt/venv/lib/")
    assert result.stdout.text.endswith("/found.py False\n")


async def test_without_bubblewrap_it_names_the_package() -> None:
    sandbox = LocalSandbox(VENV_PYTHON, bwrap=Path("/nonexistent/bwrap"))
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        await sandbox.run(Command.python(""), Limits())
    await sandbox.close()


async def test_a_sandbox_that_cannot_be_made_is_unavailability_with_the_complaint(
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


async def test_a_zygote_killed_before_it_is_ready_costs_a_run_nothing(public: Path) -> None:
    sandbox, starts = _mortal(public, 1)
    assert (await sandbox.run(Command.python(""), Limits())).succeeded
    assert len(starts.read_text()) == 2
    await sandbox.close()


async def test_two_zygotes_killed_before_they_are_ready_are_unavailability(public: Path) -> None:
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
    """A sandbox whose first zygotes are killed, and a file with a line for each of all."""
    bwrap = _program(public, MORTAL.replace("FIRST", str(starts)))
    counted = public / "bwrap.starts"
    counted.touch()
    counted.chmod(0o666)
    return LocalSandbox(SYSTEM_PYTHON, bwrap=bwrap, pool_size=0), counted


def _program(directory: Path, text: str) -> Path:
    program = directory / "bwrap"
    program.write_text(text)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("below", ["/usr/local/fettle", "{prefix}/data"])
async def test_no_run_is_made_where_code_would_see_what_is_private(below: str) -> None:
    directory = Path(below.format(prefix=VENV_PYTHON.parent.parent))
    sandbox = LocalSandbox(VENV_PYTHON, pool_size=0, private=(Path.cwd(), directory))
    try:
        with pytest.raises(SandboxUnavailable, match=re.escape(f"{directory} is in ")):
            await sandbox.run(Command.python(""), Limits())
    finally:
        await sandbox.close()
