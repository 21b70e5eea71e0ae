"""`fettle models`: the models that workers offer, and whether they answer, through API and
Redis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.processes.deployment import Deployment, running_deployment
from support.processes.fettle_command import environment, fettle
from support.processes.fronts import front

from lab.provider import (
    Cut,
    ProviderServer,
    Refusal,
    Reply,
    Request,
    Tokens,
    ToolCall,
    Turn,
)

GOOD = "groq:llama-3.3-70b-versatile"
BAD = "groq:no-such-model"
LOCAL = "compatible:my-own"
KEYLESS = "anthropic:claude-haiku-5-5"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="key", ANTHROPIC_API_KEY="") as running:
        yield running


def answers(request: Request) -> Turn:
    if request.model == "no-such-model":
        return Refusal(404, "The model `no-such-model` does not exist")
    return obeys(request)


def obeys(request: Request) -> Reply:
    """A model that follows its instructions."""
    used = Tokens(12, 1)
    if request.tools == ("Plan",):
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Count them."]}),), tokens=used)
    if request.messages[-1].speaker == "tool":
        return Reply("2", tokens=used)
    return Reply(tool_calls=(ToolCall("list_dir", {"path": "."}),), tokens=used)


async def test_the_command_lists_models_with_prices_and_checks_them(
    deployment: Deployment, tmp_path: Path
) -> None:
    with ProviderServer(answers) as server, front(deployment) as api:
        env = environment(tmp_path, FETTLE_URL=api.url)
        alone = fettle("models", cwd=tmp_path, env=env)
        assert (alone.returncode, "none was seen lately" in alone.stdout) == (0, True)
        nobody = fettle("models", GOOD, cwd=tmp_path, env=env)
        assert (nobody.returncode, "none was seen lately" in nobody.stdout) == (1, True)
        async with api.client() as client:
            refused = await client.post("/models/check", json={"models": [GOOD]})
            assert (refused.status_code, refused.json()["type"]) == (503, "/problems/not-ready")

        deployment.worker(
            groq_base_url=server.groq_url,
            compatible_base_url=server.openai_url,
            model=f"{GOOD}, {LOCAL}",
            summary_model=KEYLESS,
            executor_escalation=BAD,
        )
        await deployment.ready()
        listing = json.loads(fettle("models", "--json", cwd=tmp_path, env=env).stdout)
        assert listing["roles"]["executor"] == [[GOOD, LOCAL], [BAD, GOOD, LOCAL]]
        assert listing["roles"]["summary"] == [[KEYLESS]]
        offered = {entry["name"]: entry for entry in listing["offered"]}
        assert float(offered[GOOD]["output_usd"]) > float(offered[GOOD]["input_usd"]) > 0
        assert offered[LOCAL]["input_usd"] is None
        assert offered[KEYLESS]["missing"] == "a key: set ANTHROPIC_API_KEY where the workers run"

        checked = fettle("models", "--check", "--json", cwd=tmp_path, env=env)
        assert checked.returncode == 1
        results = {entry["name"]: entry for entry in json.loads(checked.stdout)["checks"]}
        assert results[GOOD]["ok"]
        assert results[GOOD]["seconds"] >= results[GOOD]["first_token_seconds"] > 0
        assert (results[GOOD]["input_tokens"], results[GOOD]["output_tokens"]) == (36, 3)
        assert [entry["ok"] for entry in results[GOOD]["steps"]] == [True] * 4
        assert float(results[GOOD]["cost_usd"]) > 0
        assert (results[LOCAL]["ok"], results[LOCAL]["cost_usd"]) == (True, None)
        assert results[BAD]["error"] == (
            f"{BAD}: there is no such model (404: The model `no-such-model` does not exist); "
            "see `fettle models`, and name another"
        )
        assert "set ANTHROPIC_API_KEY" in results[KEYLESS]["error"]

        printed = fettle("models", GOOD, cwd=tmp_path, env=env)
        assert (printed.returncode, f"ok: {GOOD}: a job can run" in printed.stdout) == (0, True)
        stranger = fettle("models", "nobody:x", cwd=tmp_path, env=env)
        assert (stranger.returncode, "not on the allow-list" in stranger.stderr) == (2, True)


FORCED, CALL, RESULT, USAGE = "forced_tool", "tool_call", "tool_result", "usage"
AS_TEXT = '<tool_call>\n{"name": "list_dir", "arguments": {"path": "."}}\n</tool_call>'
UNREAD = '<tool_call>\n{"name": "list_dir", "arguments": {"path": \n</tool_call>'
TALK = "There are 2 files."
TURNS: dict[str, tuple[set[str], Turn]] = {
    "ignores-forced-tools": ({FORCED}, Reply("I would count them.")),
    "refuses-tools": ({CALL, RESULT}, Refusal(400, "this model does not support tools")),
    "only-talks": ({CALL}, Reply(TALK, tokens=Tokens(1_500, 5))),
    "never-sees-tools": ({CALL}, Reply(TALK, tokens=Tokens(400, 5))),
    "names-unknown-tools": ({CALL, RESULT}, Reply(tool_calls=(ToolCall("look", {}),))),
    "stutters-in-text": ({CALL, RESULT}, Reply(UNREAD, tokens=Tokens(1_500, 5))),
    "calls-in-text": ({CALL}, Reply(AS_TEXT, tokens=Tokens(1_500, 5))),
    "refuses-results": ({RESULT}, Refusal(400, "tool messages are not supported")),
    "never-answers": ({RESULT}, Reply(tool_calls=(ToolCall("list_dir", {"path": "."}),))),
    "loses-the-line": ({RESULT}, Cut(Reply("2"))),
}
"""The steps at which each model differs, and its turn in this step."""
BROKEN = {
    "ignores-forced-tools": (FORCED, "the planner's reply could not be read"),
    "refuses-tools": (CALL, "does not support tools"),
    "only-talks": (CALL, "calls no tool, although the task asks for a call: it answers 'There are"),
    "never-sees-tools": (CALL, "does not show the tools to the model: it counts 400 tokens"),
    "names-unknown-tools": (CALL, "calls of tools fail: error: there is no tool 'look'"),
    "stutters-in-text": (
        CALL,
        "tool calls come as text: start the server with --jinja / a tool-call parser",
    ),
    "refuses-results": (RESULT, "tool messages are not supported"),
    "never-answers": (RESULT, "each of its 4 replies calls a tool"),
    "loses-the-line": (RESULT, "groq:loses-the-line: "),
    "counts-nothing": (USAGE, "limits in tokens and money cannot be enforced"),
}
"""The step that each model fails, and a part of the reason."""


def breaks_down(request: Request) -> Turn:
    """A server with models that fail at one step."""
    if request.model == "counts-nothing":
        return replace(obeys(request), tokens=None)
    steps, turn = TURNS[request.model]
    forced = request.tools == ("Plan",)
    step = FORCED if forced else RESULT if request.messages[-1].speaker == "tool" else CALL
    return turn if step in steps else obeys(request)


async def test_a_check_names_the_step_that_fails(deployment: Deployment, tmp_path: Path) -> None:
    with ProviderServer(breaks_down) as server, front(deployment) as api:
        env = environment(tmp_path, FETTLE_URL=api.url)
        deployment.worker(groq_base_url=server.groq_url, model=GOOD)
        await deployment.ready()
        names = [f"groq:{name}" for name in BROKEN]
        checked = fettle("models", *names, "--json", cwd=tmp_path, env=env)
        assert checked.returncode == 1
        for result in json.loads(checked.stdout)["checks"]:
            model = result["name"].removeprefix("groq:")
            failing, reason = BROKEN[model]
            steps = {step["step"]: step for step in result["steps"]}
            failed = [name for name, step in steps.items() if step["ok"] is False]
            assert (model, failed) == (model, [failing])
            assert reason in steps[failing]["error"], result
            assert ("--jinja" in steps[failing]["error"]) is (
                model in {"never-sees-tools", "refuses-tools", "stutters-in-text"}
            )
            assert result["ok"] is (failing == USAGE)
            assert steps[failing]["required"] is (failing != USAGE)
            step_requests = [step for step in server.requests if step.model == model]
            assert len(step_requests) <= 7, model
        assert result["output_tokens"] is None

        noted = fettle("models", "groq:counts-nothing", cwd=tmp_path, env=env)
        assert noted.returncode == 0
        assert "a job can run" in noted.stdout
        assert "reports tokens: the server reports no tokens" in noted.stdout
        read = fettle("models", "groq:calls-in-text", cwd=tmp_path, env=env)
        assert read.returncode == 0
        assert "note: tool calls come as text (<tool_call>) and are read" in read.stdout
        broken = fettle("models", "groq:refuses-results", cwd=tmp_path, env=env)
        assert broken.returncode == 1
        assert "no: groq:refuses-results: no job can run" in broken.stdout
        assert "calls a tool: ok" in broken.stdout
        assert "answers to its result: groq:refuses-results: " in broken.stdout


def refuses_fields(request: Request) -> Turn:
    """A server that refuses two optional fields, and needs a field and short ids in replies."""
    if "temperature" in request.body:
        return Refusal(400, "Unsupported parameter: 'temperature' is not supported")
    if "tool_choice" in request.body:
        return Refusal(400, "tool_choice is not supported in thinking mode")
    replies = [reply for reply in request.body["messages"] if reply["role"] == "assistant"]
    if not all(reply.get("reasoning_content") for reply in replies):
        return Refusal(400, "The `reasoning_content` in the thinking mode must be passed back")
    if any(len(call["id"]) != 9 for reply in replies for call in reply["tool_calls"]):
        return Refusal(400, "Tool call id must be a-z, A-Z, 0-9, with a length of 9.")
    return obeys(request)


async def test_the_command_shows_a_models_context_and_a_server_without_an_answer(
    deployment: Deployment, tmp_path: Path
) -> None:
    with ProviderServer(refuses_fields) as server, front(deployment) as api:
        env = environment(tmp_path, FETTLE_URL=api.url, FETTLE_MODELS="compatible:*")
        server.lists["/v1/models"] = {"data": [{"id": "my.gguf", "meta": {"n_ctx": 4_096}}]}
        deployment.worker(compatible_base_url=server.openai_url, model=f"{LOCAL}, {GOOD}")
        await deployment.ready()

        def offered() -> dict[str, int | None]:
            listing = json.loads(fettle("models", "--json", cwd=tmp_path, env=env).stdout)
            return {entry["name"]: entry["context_tokens"] for entry in listing["offered"]}

        deployment.wait_until(lambda: offered() == {LOCAL: 4_096, GOOD: None})
        assert "4,096" in fettle("models", cwd=tmp_path, env=env).stdout
        doctor = fettle("doctor", "--json", cwd=tmp_path, env=env)
        findings = json.loads(doctor.stdout)["findings"]
        contexts = [entry for entry in findings if entry["name"] == "context"]
        assert [(entry["health"], entry["text"]) for entry in contexts] == [
            ("warn", f"{LOCAL}: 4,096 tokens")
        ]
        assert server.requests == []

        checked = fettle("models", LOCAL, cwd=tmp_path, env=env)
        assert checked.returncode == 0
        assert "context: 4,096 tokens" in checked.stdout
        (form,) = [line for line in checked.stdout.splitlines() if "learned" in line]
        parts = (
            "no tool is forced",
            "without temperature",
            "with messages.reasoning_content",
            "short ids of calls",
        )
        assert form.startswith(f"{LOCAL}\t{'; '.join(parts)}\tlearned ")


async def test_doctor_names_an_address_without_a_server(
    deployment: Deployment, tmp_path: Path
) -> None:
    with ProviderServer(obeys) as server:
        address = server.openai_url
    with front(deployment) as api:  # the server has ended
        env = environment(tmp_path, FETTLE_URL=api.url)
        deployment.worker(compatible_base_url=address, model=LOCAL)
        await deployment.ready()

        def errors() -> list[str]:
            doctor = fettle("doctor", "--json", cwd=tmp_path, env=env)
            findings = json.loads(doctor.stdout)["findings"]
            bad = [finding["text"] for finding in findings if finding["health"] == "bad"]
            assert doctor.returncode == (1 if bad else 0)
            return bad

        deployment.wait_until(lambda: errors() != [])
        (error,) = errors()
        assert error.startswith(f"{LOCAL}: no server answers at its address (Connection refused")
        assert address in error
        assert "FETTLE_COMPATIBLE_BASE_URL" in error


async def test_learned_capabilities_are_shown_and_shared_by_the_workers(
    deployment: Deployment, tmp_path: Path
) -> None:
    def script(request: Request) -> Turn:
        if "temperature" in request.body:
            return Refusal(400, "Unsupported parameter: 'temperature'")
        return obeys(request)

    setting = {"groq:*": {"rename": {"max_tokens": "max_completion_tokens"}}}
    with ProviderServer(script) as server, front(deployment) as api:
        env = environment(tmp_path, FETTLE_URL=api.url)
        deployment.worker(
            groq_base_url=server.groq_url,
            compatible_base_url=server.openai_url,
            model=f"{LOCAL}, {GOOD}",
            summary_model=LOCAL,
            model_capabilities=json.dumps(setting),
        )
        await deployment.ready()
        assert fettle("models", LOCAL, GOOD, cwd=tmp_path, env=env).returncode == 0
        listing = json.loads(fettle("models", "--json", cwd=tmp_path, env=env).stdout)
        forms = {entry["model"]: entry for entry in listing["accepted"]}
        assert set(forms) == {"groq:*", GOOD, LOCAL}
        assert (forms["groq:*"]["source"], forms[LOCAL]["source"]) == ("setting", "learned")
        assert forms[LOCAL]["drop"] == ["temperature"]
        assert forms[LOCAL]["learned_at"] < forms[LOCAL]["expires_at"]
        learned = len(server.requests)
        assert fettle("models", LOCAL, cwd=tmp_path, env=env).returncode == 0
        assert learned < len(server.requests)
        assert not any("temperature" in entry.body for entry in server.requests[learned:])
        assert all(
            "max_completion_tokens" in request.body and "max_tokens" not in request.body
            for request in server.requests
            if request.model != "my-own"
        )
        printed = fettle("models", cwd=tmp_path, env=env).stdout
        assert f"{LOCAL}\twithout temperature\tlearned 20" in printed
        assert "groq:*\tmax_tokens as max_completion_tokens\tFETTLE_MODEL_CAPABILITIES" in printed
