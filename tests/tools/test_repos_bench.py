"""`fettle bench repos --model` through a real service, against a model with known results."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.graph.setup_job import PACKAGES
from support.processes.deployment import running_deployment
from support.processes.fronts import front
from support.servers.package_index import serve
from support.servers.web_server import web_server

from cli.main import run
from fettle import Service
from lab.evals.report.results import read_results
from lab.evals.repos import own
from lab.provider import ProviderServer, Reply, Request, ToolCall
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:designed"
SHIPPED = ("rowquery", "shipnotes", "patience")
REPAIR = {
    "path": "shipnotes/versions.py",
    "old_text": "    parts[raised] += 1\n",
    "new_text": "    parts[raised] += 1\n    parts[raised + 1 :] = [0] * (2 - raised)\n",
}
CHEAT = {
    "path": "tests/test_parser.py",
    "content": "def test_trees():\n    pass\n",
}
CALLS = {
    "1.5.2; I expected 1.5.0": [
        ToolCall("edit_file", REPAIR),
        ToolCall("verify", {"paths": ["tests"]}),
    ],
    "people over 50": [
        ToolCall("write_file", CHEAT),
        ToolCall("verify", {"command": ["python", "-m", "pytest", "tests/test_parser.py"]}),
    ],
    "circuit breaker": [],
}
"""The model's calls by a part of a problem: it repairs one, changes the tests of another, and does
nothing about the third."""


def turn(request: Request) -> Reply:
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Correct it."]}),))
    if request.forced_tool == "Verdict":
        verdict = {"verdict": "approve", "unmet": [], "runs": ["r1"]}
        return Reply(tool_calls=(ToolCall("Verdict", verdict),))
    text = "\n".join(message.text for message in request.messages)
    calls = next(calls for part, calls in CALLS.items() if part in text)
    done = sum(message.speaker == "assistant" for message in request.messages)
    return Reply(tool_calls=(calls[done],)) if done < len(calls) else Reply("That is all.")


@dataclass
class Measuring:
    """A service, the model that it calls, and a folder of tasks."""

    url: str
    server: ProviderServer
    data: Path
    out: Path

    def bench(self, *options: str) -> int:
        fixed = ["--data", str(self.data), "--model", MODEL, "--out", str(self.out)]
        return run(["--url", self.url, "bench", "repos", *fixed, *options])


def until(holds: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def index() -> Iterator[str]:
    """A package index; returns its address."""
    with web_server() as server:
        yield serve(server, PACKAGES)


@pytest.fixture(params=[{}])
def measuring(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str
) -> Iterator[Measuring]:
    """The worker has the settings of the parameter. If these name the setting of the index, they
    get the test's index.
    """
    monkeypatch.setenv("FETTLE_CONFIG", "")
    monkeypatch.setenv("PIP_INDEX_URL", index)
    for name in ("FETTLE_URL", "FETTLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    data = tmp_path / "tasks"
    data.mkdir()
    for task in own.tasks(data):
        if task.id not in SHIPPED:
            shutil.rmtree(data / task.id)
    settings = dict.fromkeys(request.param, index)
    with (
        ProviderServer(turn) as server,
        running_deployment(tmp_path, GROQ_API_KEY="a") as deployment,
    ):
        deployment.worker(groq_base_url=server.groq_url, **settings)
        with front(deployment) as api:
            with Service(api.url, DEVELOPMENT_KEY) as service:
                until(lambda: service.system()["workers"])
            yield Measuring(api.url, server, data, tmp_path / "out")


def test_jobs_are_judged_by_tests_that_they_do_not_see(measuring, capsys):
    assert measuring.bench("--json") == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (printed["first"], printed["tries"], printed["measured"]) == (None, 3, 3)
    assert printed["final"]["share"] == pytest.approx(1 / 3)
    results_by_id = {result.id: result for result in read_results(Path(printed["file"]))[1]}
    assert results_by_id["shipnotes"].final.passed
    assert results_by_id["rowquery"].status == "failed"  # the job's own test does not run the code
    assert not results_by_id["rowquery"].final.passed
    assert "test_not_binds_strongest" in results_by_id["rowquery"].final.why
    assert results_by_id["patience"].final.why == "it changed nothing"
    assert {result.level for result in results_by_id.values()} == {"easy", "medium"}
    sent_text = "".join(m.text for request in measuring.server.requests for m in request.messages)
    assert "test_not_binds_strongest" not in sent_text
    request_count = len(measuring.server.requests)
    assert measuring.bench("--json") == 0  # a finished measurement is not repeated
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == printed
    assert len(measuring.server.requests) == request_count


@pytest.mark.parametrize("measuring", [["setup_index"], []], indirect=True)
def test_the_packages_of_a_task_are_installed_for_its_job(request, measuring, capsys):
    for task_id in ("rowquery", "patience"):
        shutil.rmtree(measuring.data / task_id)
    description = measuring.data / "shipnotes" / "task.json"
    task = json.loads(description.read_text())
    description.write_text(json.dumps({**task, "setup": ["shout==1.0"]}))
    assert measuring.bench("--json") == 0
    printed = capsys.readouterr()
    [result] = read_results(Path(json.loads(printed.out.splitlines()[-1])["file"]))[1]
    assert result.final.passed, result
    with Service(measuring.url, DEVELOPMENT_KEY) as service:
        events = list(service.events(result.job))
    (setup,) = [event for event in events if event.kind in ("setup_finished", "setup_left_out")]
    if request.node.callspec.params["measuring"]:
        assert setup.kind == "setup_finished"
        assert setup.data["ok"]
        assert setup.data["command"].startswith("pip install shout==1.0 -e .")
        assert "name packages" not in printed.err
    else:
        assert setup.kind == "setup_left_out"
        assert "1 tasks name packages, and the service installs no packages" in printed.err
