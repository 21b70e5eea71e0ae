"""An hour with a real model, in a minute: `fettle up` and a faulty provider.

The provider cuts replies off, stalls, repeats ids, calls tools that do not exist, sends empty
replies, is busy, and recovers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.graph.working_model import works
from support.processes.fettle_command import Running, environment, fettle, started

from cli.local import ports
from lab.provider import Cut, Garbled, Hang, ProviderServer, Refusal, Reply, Request, Turn
from lab.provider import ToolCall as Call
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e

RUN = {"code": "print(6 * 7)"}
TROUBLE: Mapping[str, Turn] = {
    "cut-in-a-call": Reply(tool_calls=(Call("python", '{"code": "print('),), stop="length"),
    "cut-in-a-text": Reply("The program is as foll", stop="length"),
    "broken-off": Cut(Reply(tool_calls=(Call("python", RUN),))),
    "stalls": Hang(after=Reply(tool_calls=(Call("python", RUN),))),
    "silent-once": Hang(),
    "no-json": Garbled("<html>502 Bad Gateway</html>", "text/html"),
    "same-ids": Reply(tool_calls=(Call("python", RUN, id="1"), Call("python", RUN, id="1"))),
    "no-ids": Reply(tool_calls=(Call("python", RUN, id=""), Call("python", RUN, id=""))),
    "unknown-tool": Reply(tool_calls=(Call("run_shell_command", {"cmd": "ls"}),)),
    "wrong-arguments": Reply(tool_calls=(Call("python", {"source": "print(1)"}),)),
    "empty": Reply(""),
    "overloaded": Refusal(503, "over capacity"),
    "busy-for-a-moment": Refusal(429, "slow down", retry_after=0.3),
}
"""The first turns of the executor's model, by the model's name; afterwards the model does
its work.
"""
BUSY, SILENT, STUBBORN = "busy", "silent", "stubborn"
BUSY_SECONDS = 6.0


class Provider:
    """The provider's script: the turn for each request."""

    def __init__(self) -> None:
        self.troubled: set[str] = set()
        self.content = False
        """Whether the critic of STUBBORN approves."""

    def turn(self, request: Request) -> Turn:
        """The model's turn; a faulty turn comes at the executor's first call."""
        name = request.model
        executes = request.forced_tool is None
        if name == SILENT and executes:
            return Hang()
        if name == STUBBORN and request.forced_tool == "Verdict" and not self.content:
            verdict = {"verdict": "revise", "runs": ["r1"], "feedback": "Print it with a unit."}
            return Reply(tool_calls=(Call("Verdict", verdict),))
        if executes and name not in self.troubled:
            self.troubled.add(name)
            if name == BUSY:
                return Refusal(429, "slow down", retry_after=BUSY_SECONDS)
            if name in TROUBLE:
                return TROUBLE[name]
        return works(request)


@dataclass
class Session:
    """A running `fettle up`, its provider, and its user."""

    cwd: Path
    env: Mapping[str, str]
    up: Running
    provider: Provider
    api: httpx.Client

    def run(self, *args: str) -> tuple[int, str]:
        """Run a command; returns its exit code and its full output."""
        done = fettle(*args, cwd=self.cwd, env=self.env)
        return done.returncode, done.stdout + done.stderr

    def submit(self, model: str, **spec: Any) -> str:
        job_request = {"task": f"Print 6 times 7 ({model}).", "model": f"groq:{model}", **spec}
        answer = self.api.post("/jobs", json=job_request)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def until(self, job_id: str, holds: Callable[[Any], bool], seconds: float = 40) -> Any:
        """The job, as soon as the condition holds."""
        ends = time.monotonic() + seconds
        while not holds(job := self.api.get(f"/jobs/{job_id}").json()):
            assert time.monotonic() < ends, json.dumps(job, indent=1)[-3_000:] + self.up.text
            time.sleep(0.1)
        return job

    def end(self, job_id: str) -> Any:
        return self.until(job_id, lambda job: job["finished_at"] is not None)


@pytest.fixture(scope="module")
def session(tmp_path_factory) -> Iterator[Session]:
    cwd = tmp_path_factory.mktemp("session")
    port, flower = ports.free(2)
    url, provider = f"http://127.0.0.1:{port}", Provider()
    with ExitStack() as stack:
        server = stack.enter_context(ProviderServer(provider.turn))
        env = environment(
            cwd,
            FETTLE_URL=url,
            GROQ_API_KEY="gsk_x",
            FETTLE_GROQ_BASE_URL=server.groq_url,
            FETTLE_MODEL_TIMEOUT_SECONDS="3",
            FETTLE_MODEL_WAIT_SECONDS="1",
            FETTLE_MODEL_MAX_RETRIES="0",
            FETTLE_RETRY_SECONDS="0.2",
            FETTLE_SWEEP_SECONDS="0.3",
            FETTLE_RATE_LIMIT="100000/minute",
        )
        flags = ("--port", str(port), "--flower-port", str(flower))
        up = stack.enter_context(started("up", *flags, cwd=cwd, env=env))
        up.wait_for("stop: Ctrl-C")
        headers = {"X-API-Key": DEVELOPMENT_KEY}
        api = stack.enter_context(httpx.Client(base_url=url, headers=headers, timeout=20))
        yield Session(cwd, env, up, provider, api)
        up.interrupt()
        assert up.end(30) == 0
        assert up.orphans == 0
        assert "Traceback" not in up.text


def test_no_fault_of_the_model_fails_a_job(session):
    """Each job is approved after a real run, and no model call is paid twice."""
    jobs = {name: session.submit(name) for name in TROUBLE}
    for name, job_id in jobs.items():
        job = session.end(job_id)
        assert job["status"] == "succeeded", (name, job["reason"], job["detail"])
        assert job["result"]["approved_by"] == "critic", name
        assert [run["exit_code"] for run in job["runs"]].count(0) >= 1, name
    code, listed = session.run("list", "--limit", "50")
    assert (code, listed.count("succeeded")) == (0, len(TROUBLE))


def test_a_wait_for_the_provider_is_shown_and_does_not_count_as_running_time(session):
    job_id = session.submit(BUSY)
    waiting = session.until(job_id, lambda job: job["waits"])
    assert (waiting["status"], waiting["waits"]["on"]) == ("queued", "groq")
    _, listed = session.run("list")
    assert "queued, waits for groq until " in listed
    job = session.end(job_id)
    assert (job["status"], job["waits"]) == ("succeeded", None)
    assert job["ran_seconds"] < BUSY_SECONDS


def test_a_hanging_model_is_named(session):
    job_id = session.submit(SILENT, timeout_seconds=2)
    job = session.end(job_id)
    assert (job["status"], job["reason"]) == ("failed", "deadline")
    code, output = session.run("watch", job_id)
    assert code != 0
    assert "groq:silent had not answered for " in output


def test_unapproved_work_fails_and_a_retry_continues(session):
    job_id = session.submit(STUBBORN, max_revisions=1)
    job = session.end(job_id)
    assert (job["status"], job["reason"], job["unapproved"]) == ("failed", "unapproved", True)
    assert job["result"]["answer"] == "It prints 42."
    session.provider.content = True
    _, output = session.run("retry", job_id, "--no-wait", "--json")
    again = session.end(json.loads(output)["id"])
    assert (again["status"], again["result"]["approved_by"]) == ("succeeded", "critic")
    assert again["spec"]["retry_of"] == job_id
