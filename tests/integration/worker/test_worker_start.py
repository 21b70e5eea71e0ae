"""A worker does not start with settings that would not do what their names say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"FETTLE_ENV": "production", "FETTLE_MAXSTEPS": "9"},
            "FETTLE_MAXSTEPS (environment) is not a setting: did you mean FETTLE_MAX_STEPS?",
        ),
        ({"GROQ_API_KEY": "k", "GROQ_PROXY": "http://proxy"}, "GROQ_PROXY is set"),
        ({"FETTLE_LEASE_SECONDS": "1"}, "FETTLE_LEASE_SECONDS"),
    ],
)
def test_a_setting_that_does_not_fit_ends_the_start(
    tmp_path: Path, given: dict[str, str], said: str
) -> None:
    env = {"PATH": os.environ["PATH"], "FETTLE_CONFIG": str(tmp_path / "fettle.toml"), **given}
    argv = [sys.executable, "-m", "worker"]
    ended = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
