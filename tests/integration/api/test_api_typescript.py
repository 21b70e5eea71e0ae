"""A TypeScript client that openapi-typescript makes from /openapi.json: the compiler accepts a
program for it in its strict mode, and the program works with the API and a real worker.
"""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from support.graph.recorded import one_run
from support.processes.deployment import running_deployment
from support.processes.fronts import front
from support.processes.node import installed, run_node

from settings.base import DEVELOPMENT_KEY


@pytest.mark.timeout(300)  # npm, the generator and the compiler take most of the time
def test_a_generated_typescript_client_runs_a_job_and_handles_a_problem(tmp_path: Path) -> None:
    folder = installed("typescript", tmp_path / "client")
    programs = Path("node_modules")
    with running_deployment(tmp_path / "deployment") as deployment, front(deployment) as api:
        deployment.record("once", one_run("once", "print('x')"))
        deployment.worker()
        (folder / "openapi.json").write_text(httpx.get(f"{api.url}/openapi.json", timeout=60).text)
        generator = programs / "openapi-typescript" / "bin" / "cli.js"
        run_node(
            folder, generator, "openapi.json", "--default-non-nullable=false", "-o", "api.d.ts"
        )
        run_node(folder, programs / "typescript" / "bin" / "tsc", "--project", ".")
        outcome, problem = map(
            json.loads, run_node(folder, "job.js", api.url, DEVELOPMENT_KEY).splitlines()
        )
    assert outcome == {"status": "succeeded", "output": "x\n"}
    assert (problem["status"], problem["retryable"]) == (404, False)
    assert problem["type"].endswith("/not-found")
