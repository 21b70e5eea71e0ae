"""The model's side of a chaos run: a real provider on loopback that plays recordings.

It writes every request into the log, so that payments are counted at the provider. A task names
its job's key and recording (`task_of`); a worker's API key is `pid-` and its process.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agents.ports import Role
from agents.recordings.recorded_model import RecordedModel
from agents.recordings.recording import Recording, load
from lab.drills.chaos.oplog import Called, OperationLog
from lab.provider import Message, ProviderServer, Refusal, Reply, Request, ToolCall, Turn

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings"
NAMES = ("chaos-run", "chaos-files", "chaos-revise")
MODEL = "chaos"
TOOLS: dict[str, Role] = {"Plan": "planner", "Verdict": "critic"}
"""The tool with which a role must answer; the executor has other tools. All roles use one model, as
in most deployments: a worker builds a client for each model, which takes time.
"""
DELAY_SECONDS = (0.02, 0.25)
"""The duration of a call, so that some kills meet a call in flight."""
_TASK = re.compile(r"The task:\n\n\[(?P<key>[\w.-]+) (?P<recording>[\w-]+)\]")
"""An earlier task of the conversation has another heading."""


def task_of(key: str, recording: str) -> str:
    """The task of a job: the job's key, and the recording that plays its model."""
    return f"[{key} {recording}] Do what the recording says."


def settings(provider: ProviderServer) -> dict[str, str]:
    """The settings with which a worker uses this provider, independent of this machine's own
    settings.
    """
    names = ("MODEL", "PLANNER_MODEL", "EXECUTOR_MODEL", "CRITIC_MODEL")
    models = {f"FETTLE_{name}": f"groq:{MODEL}" for name in names}
    return {**models, "FETTLE_GROQ_BASE_URL": provider.groq_url, "GROQ_API_KEY": "pid-0"}


def provider(log: OperationLog) -> ProviderServer:
    """The server; start it with `with`."""
    recordings = {name: load(RECORDINGS, name) for name in NAMES}

    def script(request: Request) -> Turn:
        task = next(filter(None, (_TASK.search(m.text) for m in request.messages)), None)
        if task is None or task["recording"] not in recordings:
            return Refusal(400, "no job of this run asks that")
        role: Role = next((TOOLS[name] for name in request.tools if name in TOOLS), "executor")
        text = _request_text(request)
        reply = _played(recordings[task["recording"]], role, request, text)
        log.add(Called(key=task["key"], said=text, caller=_caller(request)))
        return reply

    return ProviderServer(script)


def _played(recording: Recording, role: Role, request: Request, text: str) -> Reply:
    model = RecordedModel(recording=recording, role=role)
    offered = [{"type": "function", "function": {"name": name}} for name in request.tools]
    answer = model.bind(tools=offered).invoke([_message(message) for message in request.messages])
    calls = tuple(ToolCall(call["name"], call["args"]) for call in answer.tool_calls)
    # the same request takes the same time again
    seconds = random.Random(text).uniform(*DELAY_SECONDS)  # noqa: S311
    return Reply(str(answer.text), calls, delay_seconds=seconds)


def _message(message: Message) -> BaseMessage:
    """A message as a recording has it: its text, and whether the model wrote it."""
    if message.speaker == "assistant":
        return AIMessage(message.text)
    return HumanMessage(message.text)


def _request_text(request: Request) -> str:
    """A digest of the request's texts, without the ids of tool calls, because another worker has
    other ids."""
    text = [
        [message.speaker, message.text, [[call.name, call.args] for call in message.tool_calls]]
        for message in request.messages
    ]
    written = json.dumps([text, request.tools], sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _caller(request: Request) -> int | None:
    number = request.headers.get("authorization", "").removeprefix("Bearer pid-")
    return int(number) if number.isdigit() and number != "0" else None
