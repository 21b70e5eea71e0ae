"""A job from the command line, on a user's repository that needs a package for its tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph.setup_job import MODEL, PACKAGES, TASK, GreetingModel, project
from support.processes.deployment import running_deployment
from support.processes.fettle_command import environment, fettle
from support.processes.fronts import front
from support.servers.package_index import serve
from support.servers.web_server import web_server

from lab.provider import ProviderServer

pytestmark = pytest.mark.e2e


def test_dependencies_are_installed_and_the_steps_are_shown(tmp_path: Path) -> None:
    repository = project(tmp_path / "project")
    with (
        running_deployment(tmp_path, GROQ_API_KEY="a") as deployment,
        ProviderServer(GreetingModel().turn) as provider,
        web_server() as index,
    ):
        serve(index, PACKAGES)
        indexes = {"setup_index": index.url("/simple/")}
        deployment.worker(groq_base_url=provider.groq_url, **indexes)
        with front(deployment) as api:
            env = environment(tmp_path, FETTLE_URL=api.url)
            options = ("--model", MODEL, "--run-time", "60s", "--verify", "python -m pytest -q")
            command = ("run", "--repo", ".", *options, TASK)
            failed = fettle(
                *command, "--setup", "pip install nothing", cwd=repository.folder, env=env
            )
            assert failed.returncode != 0
            output = failed.stdout + failed.stderr
            assert "setup: pip install nothing" in output
            assert "No matching distribution found for nothing" in output
            job_id = output.partition("job: ")[2].split()[0]
            again = ("retry", job_id, "--setup", "pip install shout")
            done = fettle(*again, cwd=repository.folder, env=env)
            assert done.returncode == 0, done.stdout + done.stderr + deployment.logs()
            assert "repository: unpacking what was sent" in done.stdout
            assert "setup: pip install shout\nsetup: done in " in done.stdout
            third = fettle(*command, "--setup", "pip install shout", cwd=repository.folder, env=env)
            assert "setup: pip install shout: there already" in third.stdout
            assert third.returncode == 0, third.stdout + third.stderr
            doctor = fettle("doctor", cwd=repository.folder, env=env)
            assert f"dependencies: from http://127.0.0.1:{index.port}" in doctor.stdout
