"""The requests of every role on models with a small context, through the providers' real
clients.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from support.graph.graphs import PlannedSandbox, printed

from agents.attempt import Ports
from agents.errors import ContextExceeded
from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, MemoryWorkspace, ports_over
from agents.graph.outcome import read_outcome
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from agents.ports import Bounds
from agents.state import EarlierJob
from lab.provider import ProviderServer, Refusal, Reply, Request, ToolCall, Turn

OUTPUT = 2_048
ROLES = {
    "Questions": "asker",
    "Plan": "planner",
    "Tests": "tester",
    "Verdict": "critic",
    "Summary": "summary",
    "Judged": "router",
    None: "executor",
}
FEEDBACK = "Mend the third table. " * 200
DECIDED: Mapping[str, Any] = {
    "Questions": {"questions": []},
    "Plan": {"steps": ["Read the tables. " * 90, "Add them up. " * 90, "Show it. " * 90]},
    "Tests": {"interface": "a.py: add()", "files": [{"path": "test_a.py", "content": "def ("}]},
    "Summary": {"text": "All is added up."},
    "Judged": {"difficulty": "hard"},
}
PROGRAMS = [f"# {n}\n" + f"print('a line of program {n}')\n" * 100 for n in range(6)]
TABLE = "\n".join(f"line {n:04d} of a table" for n in range(180))
ANSWER = "\n".join(f"Table {n} adds up to {n * n}, as its run has shown." for n in range(80))
LEFT_OUT = "characters left out ...]"


def takes(request: Request) -> int:
    """The tokens of a request, at three bytes each."""
    message_texts = [message.text for message in request.messages]
    calls = [call.args for message in request.messages for call in message.tool_calls]
    args = [str(value) for item in calls for value in item.values()]
    tools = json.dumps(request.body.get("tools"), ensure_ascii=False)
    return sum(len(item.encode()) for item in (*message_texts, *args, tools)) // 3


@dataclass
class Small:
    """A provider that lists its models with this context length, in tokens including the reply."""

    room: Mapping[str, int]
    refused: list[str] = field(default_factory=list)
    answered: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Turn:
        room, took = self.room[request.model], takes(request)
        if took + OUTPUT > room:
            self.refused.append(f"{request.model}: {ROLES[request.forced_tool]} {took}")
            words = f"This model's maximum context length is {room} tokens. However, you requested"
            message = (
                f"{took + OUTPUT} tokens ({took} in the messages, {OUTPUT} in the completion)."
            )
            return Refusal(400, f"{words} {message}")
        self.answered.append(request)
        if request.forced_tool is None:
            return self._worked(request)
        decided = DECIDED.get(request.forced_tool) or self._verdict()
        return Reply(tool_calls=(ToolCall(request.forced_tool, decided),))

    def of(self, role: str) -> list[Request]:
        return [item for item in self.answered if ROLES[item.forced_tool] == role]

    def _worked(self, request: Request) -> Turn:
        done = len(self.of("executor"))  # three programs per pass, and the answer
        if done % 4 == 0:
            return Reply(ANSWER)
        return Reply(tool_calls=(ToolCall("python", {"code": PROGRAMS[done - 1 - done // 4]}),))

    def _verdict(self) -> Mapping[str, Any]:
        if len(self.of("critic")) == 1:
            return {"verdict": "revise", "feedback": FEEDBACK}
        return {"verdict": "approve", "runs": ["r6"]}


def task(characters: int) -> str:
    return (
        f"{'Add up the measurements, table by table. ' * characters}"[:characters] + "To the end."
    )


async def worked(ports: Ports, task: str) -> bool:
    earlier = tuple(
        EarlierJob(task="Another task. " * 1_000, summary="Done. " * 100) for _ in range(3)
    )
    files = tuple(f"data/of/the/measurements/{n:03}.csv" for n in range(300))
    job = job_fields(task, earlier=earlier, files=files, questions=True, write_tests=True)
    state = await build(None).ainvoke(initial_state(job), context=ports)
    return read_outcome(state).approved_by == "critic"


def ports_of(models: RoleModels) -> Ports:
    files = {f"f{n}__csv": f"# {n}\n{'x = 1' * 900}".encode() for n in range(8)}
    answers = {program: printed(TABLE, **files) for program in PROGRAMS}
    record = MemoryRecord()
    bounds = Bounds(summarize_with_model=True)
    ports = ports_over(record, PlannedSandbox(answers), models)
    return replace(ports, workspace=MemoryWorkspace(record), bounds=bounds)


@dataclass
class Played:
    approved: bool
    provider: Small
    task: str


@pytest.fixture(scope="module", params=["known", "learned"])
def played(request: pytest.FixtureRequest) -> Played:
    """Every role is called once; the models' context is known, or learned from refusals. The
    executor's tools and instructions take 3,000 tokens; the summary's request is short except for
    the task.
    """
    return asyncio.run(_played(is_listed=request.param == "known"))


async def _played(*, is_listed: bool) -> Played:
    names = ("llama-3.3-70b-versatile",) * 3 if is_listed else ("small", "medium", "tiny")
    room = dict(zip(names, (10_000,) * 3 if is_listed else (9_000, 14_000, 7_000), strict=True))
    provider, text = Small(room), task(3_000 if is_listed else 12_000)
    with ProviderServer(provider) as server:
        urls = {"groq": server.groq_url, "compatible": f"{server.groq_url}/v1"}
        limit = 10_000 if is_listed else None
        pool = ModelPool(ModelOptions({"groq": "key"}, urls, context_tokens=limit))
        small, medium, tiny = (f"{'groq' if is_listed else 'compatible'}:{name}" for name in names)
        chains = Chains((small,), {"executor": (medium,), "summary": (tiny,)})
        try:
            approved = await worked(ports_of(RoleModels(pool, chains)), text)
        finally:
            await pool.aclose()
    if is_listed:
        assert provider.refused == [], provider.refused
    else:
        assert {message.split(":")[0] for message in provider.refused} == set(names)
    return Played(approved, provider, text)


@pytest.mark.parametrize("role", ["asker", "planner", "tester", "executor", "critic"])
def test_each_role_has_the_full_task_and_less_of_the_other_texts(played: Played, role: str) -> None:
    assert played.approved
    requests = played.provider.of(role)
    assert requests
    for request in requests:
        (text,) = [item.text for item in request.messages if played.task in item.text]
        assert role == "executor" or LEFT_OUT in text or "not shown]" in text


def test_the_longest_parts_are_shortened_and_each_omission_is_stated(played: Played) -> None:
    last = "".join(message.text for message in played.provider.of("executor")[-1].messages)
    assert last.count(LEFT_OUT) > 3
    assert 0 < last.count("Another task.") < 3 * 100
    assert last.count("Mend the third table.") > 0
    assert played.task in played.provider.of("summary")[0].messages[-1].text


@pytest.fixture(scope="module")
def asked_nothing() -> Iterator[tuple[Ports, ProviderServer]]:
    with ProviderServer([]) as server:
        urls = {"compatible": f"{server.groq_url}/v1"}
        pool = ModelPool(ModelOptions({}, urls, context_tokens=4_096))
        yield ports_of(RoleModels.alone(pool, "compatible:of-our-own")), server


async def test_a_request_that_cannot_fit_is_not_sent_and_the_error_names_the_remedy(
    asked_nothing: tuple[Ports, ProviderServer],
) -> None:
    ports, server = asked_nothing
    reason = (
        r"the planner's request takes about 5,\d\d\d to 8,\d\d\d tokens after all possible "
        r"cuts; "
        r"compatible:of-our-own: .* longer than its context \(of 4,096 tokens.*FETTLE_CONTEXT_TOK"
    )
    with pytest.raises(ContextExceeded, match=reason):
        await build(None).ainvoke(initial_state(job_fields(task(24_000))), context=ports)
    assert server.requests == []


TEMPLATE = 150
"""Tokens of a chat template with its instructions for tools, as Qwen's has them."""


@dataclass
class Served(Small):
    """A server with a context of `tokens`, which its list of models names. Its tokenizer has 3.6
    bytes a token, like the tokenizers of common models on the executor's prompt. If `strict`, it
    refuses a request with a reply that may be too long, like vLLM; otherwise it cuts the reply
    off, like llama.cpp."""

    strict: bool = False

    def __call__(self, request: Request) -> Turn:
        room = self.room[request.model]
        took = int(takes(request) * 3 / 3.6) + TEMPLATE
        most = request.body["max_tokens"] if self.strict else 0
        if took + most > room:
            self.refused.append(f"{request.model}: {took} + {most}")
            if not self.strict:
                message = (
                    f"request ({took} tokens) exceeds the available context size ({room} tokens)"
                )
                fields = {"n_prompt_tokens": took, "n_ctx": room}
                return Refusal(400, f"{message}, try increasing it", fields=fields)
            words = f"This model's maximum context length is {room} tokens. However, you requested"
            message = f"{took + most} tokens ({took} in the messages, {most} in the completion)."
            return Refusal(400, f"{words} {message} Please reduce the length of the messages.")
        self.answered.append(request)
        match request.tools:
            case ("Plan",):
                return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Add them up."]}),))
            case ("Verdict",):
                verdict = {"verdict": "approve", "runs": ["r2"]}
                return Reply(tool_calls=(ToolCall("Verdict", verdict),))
        if request.messages[-1].speaker == "tool" and len(self.of("executor")) > 2:
            return Reply("All is added up.")
        return Reply(tool_calls=(ToolCall("python", {"code": PROGRAMS[0][:400]}),))


@pytest.mark.parametrize(
    ("tokens", "strict"), [(4_096, False), (4_096, True), (2_048, False), (2_048, True)]
)
async def test_a_job_within_the_context_that_its_server_names(tokens: int, *, strict: bool) -> None:
    provider = Served({"q": tokens}, strict=strict)
    with ProviderServer(provider) as server:
        server.lists["/v1/models"] = {"data": [{"id": "q", "max_model_len": tokens}]}
        pool = ModelPool(ModelOptions({}, {"compatible": server.openai_url}))
        ports = ports_of(RoleModels.alone(pool, "compatible:q"))
        table = "\n".join(f"line {n:04d} of a table" for n in range(60))
        ports = replace(ports, sandbox=PlannedSandbox({PROGRAMS[0][:400]: printed(table)}))
        state = await build(None).ainvoke(initial_state(job_fields("Add up.")), context=ports)
        await pool.aclose()
    assert read_outcome(state).approved_by == "critic", provider.refused
    assert read_outcome(state).answer == "All is added up."


async def test_no_request_hides_files_that_the_model_read_at_once() -> None:
    """The context has the usual size, in which any number of outputs fits."""
    files = {f"part{n}.txt": f"part {n}\n{n}{'.' * 9_000}\n".encode() for n in range(5)}
    reads = tuple(ToolCall("read_file", {"path": path}) for path in files)
    looks = [Reply(tool_calls=reads), Reply(tool_calls=(ToolCall("list_dir", {}),)), Reply("Done.")]
    verdict = Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve"}),))
    plan = Reply(tool_calls=(ToolCall("Plan", {"steps": ["Read."]}),))
    with ProviderServer([plan, *looks, verdict]) as server:
        pool = ModelPool(ModelOptions({"groq": "key"}, {"groq": server.groq_url}))
        ports = ports_of(RoleModels.alone(pool, "groq:llama-3.3-70b-versatile"))
        ports = replace(ports, workspace=MemoryWorkspace(MemoryRecord(), files))
        job = job_fields("Read the parts.", files=tuple(files), max_revisions=1)
        await build(None).ainvoke(initial_state(job), context=ports)
        await pool.aclose()
    last = "".join(message.text for message in server.requests[3].messages)
    assert [content.decode() in last for content in files.values()] == [True] * 5
