"""The drills and the benchmark of the sandbox, each a short slice, as an operator starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.servers import docker_engine

from benchmarks.sandbox.figures import GOALS
from drills.leaks import census
from settings.sandbox import Backend, SandboxSettings

TOP = Path(__file__).resolve().parents[2]


def run_drill(*argv: str, **env: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the object on the last line of stdout."""
    done = subprocess.run(
        [sys.executable, "-m", *argv, "--json"],
        check=False,
        cwd=TOP,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_a_hundred_runs_leave_nothing_behind() -> None:
    code, outcome = run_drill("drills.leaks", "--runs", "100", "--backend", "local")
    assert code == 0, outcome
    assert outcome["passed"] is True
    assert outcome["wrong"] == {}
    closed = {what: count["closed"] for what, count in outcome["counts"].items()}
    assert (closed["processes"], closed["cgroups"], closed["files"]) == (0, 0, 0)


@pytest.mark.parametrize("_backend", docker_engine.BACKENDS)
def test_a_container_of_a_sandbox_is_counted_with_its_control_groups(
    _backend: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # of one's own: sandboxes of another test may come and go on the engine meanwhile
    monkeypatch.setattr(census, "LABEL", f"{census.LABEL}.counted-by-a-test")
    own = request.getfixturevalue("docker_engine")
    engine = own.host

    def docker(*words: str) -> str:
        command = ["docker", "--host", engine, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    settings = SandboxSettings(sandbox=Backend.DOCKER, sandbox_engine=engine)
    counting = census.Census(settings, census.uids(settings))
    assert counting.count()["containers"] == 0
    made = docker("run", "--detach", "--label", census.LABEL, docker_engine.IMAGE, "sleep", "60")
    try:
        assert counting.count()["containers"] == 1
        if own.folder is not None:  # another's engine has another group, or none that we see
            assert any(made in group for group in counting._groups())
    finally:
        docker("rm", "--force", made)


def test_a_file_of_a_sandboxes_user_is_counted_unless_it_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census, "_TEMPORARY", (str(tmp_path),))
    (tmp_path / "before").touch()
    for backend in Backend if os.geteuid() == 0 else (Backend.LOCAL,):
        settings = SandboxSettings(sandbox=backend)
        uid = min(census.uids(settings))
        counting = census.Census(settings, census.uids(settings))
        left = tmp_path / f"left-{backend}"
        left.touch()
        os.chown(left, uid, -1)
        assert list(counting._files()) == [left]


def test_the_benchmark_measures_both_sides_of_each_ratio() -> None:
    quick = ("--pairs", "1", "--slices", "1", "--seconds", "0.3")
    code, found = run_drill("benchmarks.sandbox", "--backend", "local", *quick)
    assert code == 0
    assert {key for key in GOALS if key.startswith("local")} <= found.keys()
    ratio = found["local_print_ms"] / found["local_print_baseline_ms"]
    # Each side is rounded: of a run that was held up the ratio is, too, and is large.
    assert found["local_print_ratio"] == pytest.approx(ratio, rel=0.01, abs=0.01)
    assert all(value > 0 for value in found.values())


def fettle(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "fettle"), *argv],
        check=False,
        cwd=TOP,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=110,
    )


def test_the_command_runs_the_attacks_that_are_asked_for() -> None:
    done = fettle("attack", "--backend", "local", "--only", "resources/zombie_bomb", "--json")
    assert done.returncode == 0, done.stderr
    run_drill = json.loads(done.stdout.splitlines()[-1])
    counted = {"attacks": 1, "backends": ["local"], "tried": 1, "held": 1}
    assert run_drill == {**counted, "failed": [], "unproved": []}


def test_an_engine_that_is_not_there_is_no_success() -> None:
    nowhere = "unix:///nonexistent/engine.sock"
    only = ("--only", "resources/zombie_bomb")
    done = fettle("attack", "--backend", "docker", *only, FETTLE_SANDBOX_ENGINE=nowhere)
    assert done.returncode == 1
    assert "nonexistent" in done.stdout
    assert "Traceback" not in done.stderr
