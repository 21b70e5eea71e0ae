"""A sample of the attack suite, as an operator runs it, on each backend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import docker_engine as engines
import pytest

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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=["local", *engines.BACKENDS])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def drill(
    request: pytest.FixtureRequest, backend: str, home: Path
) -> subprocess.CompletedProcess[str]:
    words = [word for name in SAMPLE for word in ("--only", name)]
    if backend == "docker":
        words += ["--engine", request.getfixturevalue("docker_engine").host]
        words += ["--image", engines.IMAGE]
    return subprocess.run(
        [sys.executable, "-m", "drills.attacks", "--backend", backend, "--json", *words],
        check=False,
        cwd=TOP,
        env={**os.environ, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
    )


@pytest.mark.parametrize("name", SAMPLE)
def test_it_holds(drill: subprocess.CompletedProcess[str], backend: str, name: str) -> None:
    told = [line for line in drill.stderr.splitlines() if f": {name} on {backend}," in line]
    assert len(told) == 1, drill.stderr
    assert told[0].startswith("held: "), told[0]


def test_the_last_line_is_an_object_for_machines(
    drill: subprocess.CompletedProcess[str], backend: str
) -> None:
    assert json.loads(drill.stdout.splitlines()[-1]) == {
        "attacks": len(SAMPLE),
        "backends": [backend],
        "tried": len(SAMPLE),
        "held": len(SAMPLE),
        "failed": [],
        "unproved": [],
    }
    assert drill.returncode == 0


def test_no_canary_stays_on_the_host(drill: subprocess.CompletedProcess[str], home: Path) -> None:
    assert drill.returncode == 0
    assert not [each for each in home.iterdir() if each.name.startswith(".fettle-")]
