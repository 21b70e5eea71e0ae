"""A sample of the attack suite, as an operator runs it, on each backend."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.servers import docker_engine as engines

TOP = Path(__file__).resolve().parents[2]
SAMPLE = (
    "resources/fork_bomb",
    "resources/memory_eight_processes",
    "resources/pid_hopping",
    "resources/raise_rlimits",
    "resources/shm_fill",
    "hostdata/canary_files",
    "hostdata/environments",
    "hostdata/own_descriptors",
    "network/stand_ins",
    "network/loopback_tcp",
    "kernel/namespaces",
    "kernel/mount",
    "artifacts/symlink_file",
    "protocol/forged_frames",
    "protocol/odd_bytes",
    "protocol/worker_killed",
)
AS_NOBODY = (
    "resources/daemon",
    "resources/fork_bomb",
    "resources/leader_gone",
    "resources/memory_burst",
    "resources/memory_eight_processes",
    "resources/memory_hidden",
    "resources/memory_shared",
    "resources/socket_buffers",
    "resources/socket_buffers_tcp",
)
"""The attacks that control groups limit: an unprivileged user has no control groups."""
NOBODY = 61_150
PYTHON = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
"""An interpreter that every user may start, with the version of the project's packages."""
PACKAGES = Path(click.__file__).parent.parent
IS_OPEN = all(folder.stat().st_mode & stat.S_IXOTH for folder in (*PACKAGES.parents, PACKAGES, TOP))
UNPRIVILEGED = ("local-as-nobody",) if os.geteuid() == 0 and PYTHON.exists() and IS_OPEN else ()
SAMPLES = {
    "local": SAMPLE,
    **dict.fromkeys(UNPRIVILEGED, AS_NOBODY),
    **dict.fromkeys(engines.BACKENDS, SAMPLE),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=SAMPLES)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def drill(
    request: pytest.FixtureRequest, backend: str, home: Path
) -> subprocess.CompletedProcess[str]:
    words = ["-m", "lab.drills.attacks", "--json", "--backend", backend.removesuffix("-as-nobody")]
    words += [word for name in SAMPLES[backend] for word in ("--only", name)]
    env = {**os.environ, "HOME": str(home)}
    if backend == "docker":
        env["FETTLE_SANDBOX_ENGINE"] = request.getfixturevalue("docker_engine").host
        env["FETTLE_SANDBOX_IMAGE"] = engines.IMAGE
    if backend in UNPRIVILEGED:
        return _as_nobody(words)
    return subprocess.run(
        [sys.executable, *words],
        check=False,
        cwd=TOP,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
    )


def _as_nobody(words: list[str]) -> subprocess.CompletedProcess[str]:
    """The command as an unprivileged user, with an interpreter that every user may read."""
    return subprocess.run(
        [str(PYTHON), "-B", *words],
        check=False,
        cwd=TOP,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "PYTHONPATH": str(PACKAGES),
            "FETTLE_SANDBOX_PYTHON": str(PYTHON),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )


def test_every_attack_of_the_sample_fails(
    drill: subprocess.CompletedProcess[str], backend: str
) -> None:
    for name in SAMPLES[backend]:
        mention = f": {name} on {backend.removesuffix('-as-nobody')},"
        matching_lines = [line for line in drill.stderr.splitlines() if mention in line]
        assert len(matching_lines) == 1, drill.stderr
        assert matching_lines[0].startswith("held: "), matching_lines[0]


def test_the_last_line_is_an_object_for_machines(
    drill: subprocess.CompletedProcess[str], backend: str
) -> None:
    count = len(SAMPLES[backend])
    assert json.loads(drill.stdout.splitlines()[-1]) == {
        "attacks": count,
        "backends": [backend.removesuffix("-as-nobody")],
        "tried": count,
        "held": count,
        "failed": [],
        "unproved": [],
    }
    assert drill.returncode == 0


def test_no_canary_remains_on_the_host(drill: subprocess.CompletedProcess[str], home: Path) -> None:
    assert drill.returncode == 0
    assert not [path for path in home.iterdir() if path.name.startswith(".fettle-")]
