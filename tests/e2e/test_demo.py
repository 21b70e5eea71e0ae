"""`make demo`: five jobs run, and no process or file remains, even if it is stopped at any time."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.graph import recorded_provider
from support.processes.fettle_command import environment, fettle, started

from cli.demo.jobs import JOBS
from lab.provider import ProviderServer

pytestmark = pytest.mark.e2e


ENDS_WITHIN = 240.0
"""The time limit in seconds. Each job's verification runs a dozen times or more, and the machine
may be busy.
"""


@pytest.fixture
def env(tmp_path) -> dict[str, str]:
    return environment(tmp_path)


def test_the_demo_shows_five_jobs_and_leaves_no_process_or_file(tmp_path, env):
    with started("demo", cwd=tmp_path, env=env) as demo:
        demo.wait_for("recordings play the models")
        assert demo.worked() < 2
        assert demo.end(ENDS_WITHIN) == 0

    assert demo.text.count("no GROQ_API_KEY or GOOGLE_API_KEY") == 1
    jobs = re.split(r"\n== (?=\d of 5)", demo.text)[1:]
    assert len(jobs) == 5
    for job in jobs:
        for heading in ("task: ", "\nplan: ", "\nrun 1: ", "    > ", "\nverdict: ", "\ncost: "):
            assert heading in job or (heading == "\nverdict: " and "\ndecided: approve" in job), (
                heading
            )
        assert "\nsucceeded: approved by " in job
    assert "20" in jobs[0]
    assert "the demo approves by itself" in jobs[2]
    assert re.search(r"\nrun 1: (?!exit 0).*(.|\n)*\nrun 2: verify, exit 0", jobs[3])
    project = Path(re.search(r"\napplied: to (.*)", jobs[4])[1])
    changed = subprocess.run(
        ["git", "diff", "--cached", "--name-only"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    assert changed.stdout.split() == ["parking/fees.py", "tests/test_fees.py"]
    assert "not installed" not in jobs[4]
    plot = Path(re.search(r"\nplot: (.*)", jobs[2])[1])
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "tmp").glob("fettle-*")) == []


@pytest.mark.matrix
def test_on_a_terminal_the_demo_draws_the_plot_and_asks_a_person_who_may_refuse(tmp_path, env):
    env["COLORTERM"] = "truecolor"
    with started("demo", cwd=tmp_path, env=env, terminal=True) as demo:
        demo.wait_for("Approve this? [Y/n]")
        assert "▀" in demo.text
        assert "\x1b[38;2;" in demo.text
        demo.type("n\n")
        assert demo.end(ENDS_WITHIN) == 0
    assert "the person at the demo said no" in demo.text
    assert "in fine fettle" in demo.text


@pytest.mark.matrix
def test_with_a_key_the_real_client_calls_its_provider(tmp_path, env):
    with ProviderServer(recorded_provider.play) as provider:
        env |= {"GROQ_API_KEY": "gsk_x", "FETTLE_GROQ_BASE_URL": provider.groq_url}
        done = fettle("demo", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout
    assert "GROQ_API_KEY is set: that provider is asked" in done.stdout
    assert "recording" not in done.stdout
    assert done.stdout.count("\nsucceeded: approved by ") == len(JOBS)
    assert {request.headers["authorization"] for request in provider.requests} == {"Bearer gsk_x"}


def test_a_refusal_of_the_provider_ends_the_demo_soon_with_a_clear_message(tmp_path, env):
    with ProviderServer(recorded_provider.refuse) as provider:
        env |= {"GROQ_API_KEY": "gsk_x", "FETTLE_GROQ_BASE_URL": provider.groq_url}
        done = fettle("demo", cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "failed: model_unavailable: " in done.stdout
    assert "Invalid API Key" in done.stdout
    assert "correct the key or unset it" in done.stdout
    assert "2 of 5" not in done.stdout


def test_an_interrupt_during_the_start_stops_all_processes(tmp_path, env):
    with started("demo", cwd=tmp_path, env=env) as demo:
        demo.wait_for("redis: ")
        demo.interrupt()
        assert demo.end(25) == 130
    assert "Traceback" not in demo.text
    assert list((tmp_path / "tmp").glob("fettle-*")) == []


def test_without_bubblewrap_the_demo_names_the_command_that_installs_it(tmp_path, env):
    (tmp_path / "bin").mkdir()
    env["PATH"] = str(tmp_path / "bin")
    done = fettle("demo", cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "sudo apt-get install" in done.stderr
    assert "bubblewrap" in done.stderr
