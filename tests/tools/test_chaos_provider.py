"""The provider of a chaos run: it plays recordings, and logs each request with its caller."""

from __future__ import annotations

import httpx
import pytest

from lab.drills.chaos.deployment import provider
from lab.drills.chaos.oplog import Called, OperationLog

PLANNER = [{"type": "function", "function": {"name": "Plan", "parameters": {}}}]
EXECUTOR = [{"type": "function", "function": {"name": "python", "parameters": {}}}]


def send_request(url: str, text: str, tools: list[object], key: str = "pid-12") -> httpx.Response:
    body = {"model": "any", "messages": [{"role": "user", "content": text}], "tools": tools}
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.post(f"{url}/openai/v1/chat/completions", json=body, headers=headers)


def task(key: str, recording: str = "chaos-run") -> str:
    return f"The task:\n\n{provider.task_of(key, recording)}"


def test_the_provider_identifies_a_role_by_its_tools_and_logs_the_caller() -> None:
    log = OperationLog()
    with provider.provider(log) as server:
        plan = send_request(server.url, task("j-1"), PLANNER).json()["choices"][0]["message"]
        code = send_request(server.url, task("j-1"), EXECUTOR).json()["choices"][0]["message"]
    assert plan["tool_calls"][0]["function"]["name"] == "Plan"
    assert code["tool_calls"][0]["function"]["name"] == "python"
    first, second = (entry for entry in log.entries if isinstance(entry, Called))
    assert (first.key, first.caller) == (second.key, second.caller) == ("j-1", 12)
    assert first.said != second.said


def test_the_same_request_has_the_same_digest_from_any_worker() -> None:
    log = OperationLog()
    with provider.provider(log) as server:
        for key in ("pid-12", "pid-13"):
            send_request(server.url, task("j-1"), PLANNER, key)
        send_request(server.url, task("j-2"), PLANNER)
    first, again, different = (entry for entry in log.entries if isinstance(entry, Called))
    assert first.said == again.said != different.said
    assert (first.caller, again.caller) == (12, 13)


@pytest.mark.parametrize(
    "text",
    [
        "What else?",
        f"Earlier in this conversation:\n\n- Task: {provider.task_of('j-1', 'chaos-run')}",
        task("j-1", "no-such-recording"),
    ],
)
def test_a_request_of_no_known_job_is_refused_and_not_counted(text: str) -> None:
    log = OperationLog()
    with provider.provider(log) as server:
        assert send_request(server.url, text, PLANNER).status_code == 400
    assert log.entries == ()
