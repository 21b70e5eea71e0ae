"""A recorded job is played again offline with `fettle replay`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front

from cli.main import run
from fettle import Service
from lab.provider import ProviderServer, Request, Turn
from settings.base import DEVELOPMENT_KEY

CHECKS = {
    "test_seven.py": "def test_seven():\n    assert open('seven.txt').read() == '7'\n",
}
MODEL = "groq:llama-3.3-70b-versatile"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as running:
        yield running


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETTLE_CONFIG", "")
    monkeypatch.delenv("FETTLE_API_KEY", raising=False)


def goes_by_the_file(request: Request) -> Turn:
    """Print the file in each run, and after a review by ada also print 0."""
    more = "print(0)" if "ada reviewed the work" in request.last_text else ""
    return works(request, f"print(open('seven.txt').read())\n{more}")


def worked(service: Service) -> str:
    """A job that ada sends back, then edits, and then approves: she is asked after every run, and
    again when the checks have passed.
    """
    secret = service.create_key({"name": "ada", "scopes": ["review", "read"]})["secret"]
    spec = {"task": "Print it.", "model": MODEL}
    files = {"seven.txt": b"7", "other.bin": b"\xff\x00"}
    asks = {"review": True, "pause": "every_run", "record": True, "checks": {"files": CHECKS}}
    job_id = service.submit({**spec, **asks}, files)["id"]
    decisions = chain(
        [
            {"action": "revise", "feedback": "And zero."},
            {"action": "edit", "code": "print('by hand')"},
            {"action": "edit", "files": {"new.txt": "é\r\n", "other.bin": None}},
        ],
        repeat({"action": "approve"}),
    )
    with Service(service.url, secret) as ada:
        for event in service.events(str(job_id)):
            if event.kind == "review_opened":
                ada.decide(str(job_id), next(decisions))
    return str(job_id)


def test_a_job_is_recorded_and_replayed_with_its_decisions(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProviderServer(goes_by_the_file) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            job_id = worked(service)
            deployment.stop_workers()
            request_count = len(server.requests)
            assert run(["--url", api.url, "replay", job_id]) == 0, capsys.readouterr()
        assert len(server.requests) == request_count
    output = capsys.readouterr().out
    for part in ("plan", "run 1", "run 2", "run 3", "checks 1", "files", "outcome"):
        assert f"{part}\tsame\t\n" in output
    assert "everything is the same" in output
