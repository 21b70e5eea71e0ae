"""Jobs are recorded from providers over HTTP and then replayed without any network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment

from jobs.model.record import Status
from jobs.model.spec import JobSpec
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn

TESTS = Path(__file__).parents[2]
PLAIN = JobSpec(task="6 times 7", model="google_genai:gemini-2.5-flash")
FIXED = JobSpec(task="Write add.", model="anthropic:claude-haiku-4-5", write_tests=True)
TEST = "from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
WRONG = "def add(a, b): return a + c\n"
RIGHT = "def add(a, b): return a + b\n"
CHECK = "from solution import add\nprint(add(1, 2))\n"
OF_THE_CALL = {"call", "model", "cost_usd", "seconds", "recorded"}
"""Fields that differ between two calls, or between two runs of the same code."""
OF_THE_ATTEMPT = {"submitted", "started"}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GOOGLE_API_KEY="a", ANTHROPIC_API_KEY="b") as running:
        yield running


def fixes(request: Request) -> Turn:
    """A model that writes tests first; then code that fails its verification, and code that
    passes.
    """
    if FIXED.task not in str(request.body):
        return works(request)
    if request.forced_tool == "Tests":
        files = [{"path": "test_add.py", "content": TEST}]
        reply_fields = {"interface": "solution.py: add(a, b)", "files": files}
        return Reply(tool_calls=(ToolCall("Tests", reply_fields),))
    if request.forced_tool == "Verdict":
        reply_fields = {"verdict": "approve", "runs": ["r2"]}
        return Reply(tool_calls=(ToolCall("Verdict", reply_fields),))
    if request.forced_tool == "Plan":
        return works(request)
    if request.messages[-1].speaker != "tool":
        return wrote(WRONG)
    return wrote(RIGHT) if "NameError" in request.last_text else Reply("It adds.")


def wrote(content: str) -> Reply:
    """A turn that writes the solution, and verifies it."""
    write = ToolCall("write_file", {"path": "solution.py", "content": content})
    return Reply(tool_calls=(write, ToolCall("verify", {"command": ["python", "-c", CHECK]})))


async def test_a_recording_plays_back_equally_without_a_network(
    deployment: Deployment,
) -> None:
    folder = deployment.folder / "recordings"
    folder.mkdir()
    recorded = []
    async with deployment.operations() as operations:
        with ProviderServer(fixes) as server:
            deployment.worker(
                google_base_url=server.gemini_url,
                anthropic_base_url=server.url,
                record=str(folder),
            )
            for spec in (PLAIN, FIXED):
                job_id = await deployment.submit(operations, spec)
                job = await deployment.until(operations, job_id)
                assert job.status is Status.SUCCEEDED, (job.detail, deployment.logs())
                recorded.append((job, await operations.store.events(job_id)))
    kinds = [event.kind for event in recorded[1][1]]
    assert {"tests_written", "repaired", "checked", "verified"} <= set(kinds)

    bodies = [
        {"task": job.spec.task, "write_tests": job.spec.write_tests, "model": f"recording:{job.id}"}
        for job, _ in recorded
    ]
    elsewhere = played(folder, bodies)
    assert elsewhere["interfaces"] == ["lo"]
    for (job, events), again in zip(recorded, elsewhere["jobs"], strict=True):
        assert again["job"]["status"] == "succeeded", again["job"]["detail"]
        assert job.result is not None
        assert again["job"]["result"]["answer"] == job.result.answer
        assert facts(again["events"]) == facts({"kind": e.kind, "data": e.data} for e in events)


def facts(events: Iterable[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The events of the work, without times, prices and the answering models."""
    return [
        (event["kind"], without(event["data"]))
        for event in json.loads(json.dumps([dict(event) for event in events], default=dict))
        if event["kind"] not in OF_THE_ATTEMPT
    ]


def without(data: Any) -> Any:
    """The data without the fields that differ between two calls, and without pytest's times."""
    if isinstance(data, str):
        return re.sub(r"\bin \d+\.\d\ds\b", "in 0.00s", data)
    if isinstance(data, dict):
        return {name: without(value) for name, value in data.items() if name not in OF_THE_CALL}
    return [without(item) for item in data] if isinstance(data, list) else data


def played(folder: Path, bodies: list[Mapping[str, Any]]) -> Any:
    done = subprocess.run(
        [sys.executable, str(TESTS / "support/graph/offline_playback.py"), str(folder)],
        cwd=TESTS.parent,
        input=json.dumps(bodies),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
