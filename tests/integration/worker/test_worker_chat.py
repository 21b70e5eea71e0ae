"""`fettle chat` on a terminal, with a real API, a real worker and a scripted model."""

from __future__ import annotations

import asyncio
import re
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.graph.repository_job import project as make_project
from support.graph.working_model import works
from support.processes.api_process import ApiProcess
from support.processes.deployment import Deployment, running_deployment
from support.processes.fettle_command import REPOSITORY, Running, environment, fettle, started
from support.processes.fronts import front

from lab.provider import ProviderServer, Reply, Request, Turn
from settings.base import DEVELOPMENT_KEY

MODEL = "groq:llama-3.3-70b-versatile"
ANSWER = "It prints the product of the two numbers, as the task says, on one line. " * 4


@dataclass
class Model:
    """Each task adds the number of its plan to a file. `pace`: the seconds between the parts of an
    answer. `runs`: whether code runs."""

    plans: int = 0
    pace: float = 0.0
    runs: bool = True

    def script(self, request: Request) -> Turn:
        """The reply to a request."""
        if request.forced_tool == "Plan":
            self.plans += 1
        code = f"open('made.txt', 'a').write('plan {self.plans}\\n'); print(6 * 7)"
        reply = works(request, code=code, answer=ANSWER)
        if not (self.runs or request.forced_tool):
            return Reply(ANSWER)
        return replace(reply, pace_seconds=self.pace) if reply.text else reply


@dataclass
class Desk:
    """A person's folder, with a service and its model."""

    deployment: Deployment
    api: ApiProcess
    model: Model
    folder: Path
    env: dict[str, str]

    @contextmanager
    def chat(
        self, *options: str, model: str = MODEL, folder: Path | None = None
    ) -> Iterator[Running]:
        """A chat that has started."""
        words = ("chat", "--model", model, *options)
        with started(*words, cwd=folder or self.folder, env=self.env, terminal=True) as command:
            yield command

    def get(self, path: str) -> Any:
        """The service's answer."""
        headers = {"X-API-Key": DEVELOPMENT_KEY}
        return httpx.get(f"{self.api.url}{path}", headers=headers, timeout=20).json()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("chat")
    shutil.copytree(REPOSITORY / "agents" / "recordings", folder / "recordings")
    model = Model()
    with (
        running_deployment(folder, GROQ_API_KEY="a") as deployment,
        ProviderServer(model.script) as server,
        front(deployment) as api,
    ):
        deployment.worker(groq_base_url=server.groq_url, mutations="12")
        asyncio.run(deployment.ready(seconds=120))
        home = folder / "home"
        home.mkdir()
        env = environment(home, FETTLE_URL=api.url, FETTLE_API_KEY=DEVELOPMENT_KEY)
        env["COLUMNS"] = "110"  # as on the page
        env.pop("XDG_STATE_HOME", None)
        yield Desk(deployment, api, model, home, env)


def screen_text(chat: Running) -> str:
    """The end of the output without the terminal's control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\n\s*(?=\n)", "", chat.text)[-2_000:]


def press(chat: Running, keys: str, expected: str) -> None:
    """Type keys into the editor, and wait for a text that comes after them."""
    wait_for_editor(chat)
    before = chat.text.count(expected)
    chat.type(keys)
    wait_until(chat, lambda: chat.text.count(expected) > before, expected)


def wait_for_editor(chat: Running) -> None:
    """Wait until the editor reads keys. While the chat acts on a line, the terminal would take
    Ctrl-D and Ctrl-U for itself."""
    on, off = "\x1b[?2004h", "\x1b[?2004l"
    wait_until(chat, lambda: chat.text.rfind(on) > chat.text.rfind(off), "the editor")


def say(chat: Running, text: str, expected: str) -> None:
    """Type a line, and wait for a text that comes after it."""
    press(chat, f"{text}\r", expected)


def wait_until(chat: Running, condition: Callable[[], bool], expected: str) -> None:
    """Read the screen until the condition holds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"{expected!r} never came:\n{screen_text(chat)}"
        assert chat._read(0.5), f"ended without {expected!r}:\n{screen_text(chat)}"


def leave(chat: Running, keys: str) -> None:
    """Type keys, which end the chat."""
    wait_for_editor(chat)
    chat.type(keys)
    assert chat.end() == 0


def conversation_of(chat: Running) -> str:
    """The id that the chat prints at its end."""
    return chat.text.rpartition("fettle chat --conversation ")[2].partition("`")[0]


def test_a_task_and_its_follow_up_are_shown_and_applied(desk: Desk) -> None:
    desk.model.pace = 0.1
    with desk.chat() as chat:
        chat.wait_for("task>")
        say(chat, "/diff", "this conversation has no job yet")
        say(chat, "Multiply\x1b\r6 and 7.", "approved by critic")
        assert "executor: " in chat.text  # the answer, while the model wrote it
        texts = ("plan ", "1.", "│", "┊", "42", "verdict", "answer", "made.txt", "cost")
        position = chat.text.index("6 and 7.")
        for text in texts:
            position = chat.text.index(text, position)
        say(chat, "/budget 0.75", "$0.75")
        say(chat, "Now 8 and 9.", "approved by critic")
        say(chat, "/diff", "plan 2")
        say(chat, "/files", "made.txt (")
        say(chat, "/apply", "write 1 file to")
        say(chat, "y", "applied")
        leave(chat, "\x04")
    assert desk.folder.joinpath("made.txt").read_text() == "plan 1\nplan 2\n"
    thread = desk.get(f"/conversations/{conversation_of(chat)}")
    assert [job["task"] for job in thread["jobs"]] == ["Multiply\n6 and 7.", "Now 8 and 9."]
    newest = desk.get(f"/jobs/{thread['jobs'][1]['id']}")
    assert newest["spec"]["max_cost_usd"] == "0.75"
    history = desk.folder / ".local/state/fettle/chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "Now 8 and 9." in history.read_text()
    output = fettle("conversations", thread["id"], cwd=desk.folder, env=desk.env).stdout
    assert "task: Now 8 and 9.\n" in output
    assert ANSWER.strip() in output
    listed = fettle("conversations", "--text", "Multiply", cwd=desk.folder, env=desk.env).stdout
    assert thread["id"] in listed


def test_a_review_is_revised_and_approved_after_its_evidence_was_shown(desk: Desk) -> None:
    desk.model.pace, desk.model.runs = 0.0, False
    with desk.chat("--review") as chat:
        chat.wait_for("task>")
        say(chat, "Multiply 6 and 7.", "decide>")
        say(chat, "another task", "/approve or /revise TEXT decides the open review")
        press(chat, "\x1b[A", "another task")  # Up brings the line back
        press(chat, "\x15another line\r", "the key Up brings the line back")
        say(chat, "/revise", "what should change?")
        say(chat, "/revise Write it twice.", "decided")
        say(chat, "/jobs", "AGE")
        decided = chat.text.index("decided")
        wait_until(chat, lambda: chat.text.rindex("decide>") > decided, "decide>")
        review = chat.text.partition("review: it is your decision")[2]
        assert "Nothing ran" in review, review
        say(chat, "/approve", "[y/N]")
        say(chat, "y", "why?")
        say(chat, "I have read it.", "approved by development")
        leave(chat, "/quit\r")
    (job,) = desk.get(f"/conversations/{conversation_of(chat)}")["jobs"]
    decisions = desk.get(f"/jobs/{job['id']}")["decisions"]
    assert [(d["action"], d["feedback"]) for d in decisions] == [
        ("revise", "Write it twice."),
        ("approve", "I have read it."),
    ]


def test_ctrl_c_continues_leaves_or_cancels(desk: Desk) -> None:
    desk.model.pace, desk.model.runs = 4.0, True
    with desk.chat() as chat:
        chat.wait_for("task>")
        chat.type("\x03")  # without a job, it only clears the line
        say(chat, "Multiply 6 and 7.", "executor: ")
        press(chat, "\x03", "continue (Enter)?")
        say(chat, "perhaps", "continue (Enter)?")
        say(chat, "", "running>")
        press(chat, "\x03", "continue (Enter)?")
        leave(chat, "l\r")
    conversation_id = conversation_of(chat)
    job = desk.get(f"/conversations/{conversation_id}")["jobs"][0]
    assert job["status"] == "running"
    words = ("run", "--no-wait", "--model", MODEL, "--conversation", conversation_id, "Go on.")
    newest = fettle(*words, cwd=desk.folder, env=desk.env).stdout.strip()
    with desk.chat("--last") as chat:
        chat.wait_for(f"{job['id']}, running: ")  # the chat follows the newest job
        press(chat, "\x03", "continue (Enter)?")
        say(chat, "c", "cancelled")
        leave(chat, "\x04")
    assert desk.get(f"/jobs/{newest}")["status"] == "cancelled"
    assert desk.get(f"/jobs/{job['id']}")["status"] == "running"
    with desk.chat("--last") as chat:
        chat.wait_for("Multiply 6 and 7.")
        chat.wait_for("executor: ")
        say(chat, "Name both factors.", "1, by development")
        press(chat, "\x03", "continue (Enter)?")
        say(chat, "c", "cancelled")
        leave(chat, "\x04")
    assert conversation_of(chat) == conversation_id
    cancelled = desk.get(f"/jobs/{job['id']}")
    assert cancelled["status"] == "cancelled"
    assert [message["text"] for message in cancelled["messages"]] == ["Name both factors."]


@contextmanager
def answering_501(port: int | None) -> Iterator[None]:
    """A server that answers each GET by 501."""
    with HTTPServer(("127.0.0.1", port or 0), BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


def test_a_line_after_an_outage_follows_the_job_again(desk: Desk) -> None:
    desk.model.pace, desk.model.runs = 0.0, True
    with ExitStack() as stack:
        lost = stack.enter_context(front(desk.deployment, "lost"))
        lost_desk = replace(desk, api=lost, env={**desk.env, "FETTLE_URL": lost.url})
        chat = stack.enter_context(lost_desk.chat("--review"))
        chat.wait_for("task>")
        say(chat, "Multiply 6 and 7.", "decide>")
        lost.stop()
        port = httpx.URL(lost.url).port
        with answering_501(port):
            wait_until(chat, lambda: "your next line follows it again" in chat.text, "the failure")
        stack.enter_context(front(desk.deployment, "again", port=str(port)))
        say(chat, "Name both factors.", "send the line again")
        say(chat, "/approve", "approved by development")  # the refused line is not before it
        leave(chat, "\x04")
    jobs = desk.get(f"/conversations/{conversation_of(chat)}")["jobs"]
    assert [job["status"] for job in jobs] == ["succeeded"]


def test_work_is_applied_to_the_repository_of_this_folder_and_other_failures_end_no_chat(
    desk: Desk,
) -> None:
    desk.model.pace, desk.model.runs = 0.0, True
    repository = make_project(desk.folder / "repository")
    with desk.chat("--repo", ".", folder=repository.folder) as chat:
        chat.wait_for("task>")
        say(chat, "Multiply 6 and 7.", "/apply applies it")
        say(chat, "/apply", "to work tree and index")
        say(chat, "/apply", "the index has changes")
        leave(chat, "/quit\r")
    assert repository.git("diff", "--cached", "--name-status") == "A\tmade.txt"

    folder = desk.folder / "readonly"
    (folder / "made.txt").mkdir(parents=True)
    with desk.chat(folder=folder) as chat:
        chat.wait_for("task>")
        say(chat, "Multiply 6 and 7.", "approved by critic")
        say(chat, "/apply", "write 1 file to")
        say(chat, "y", "Is a directory")
        say(chat, "/jobs", "succeeded")
        leave(chat, "/quit\r")


PAGE = REPOSITORY / "docs" / "chat.md"
VARYING = re.compile(
    r"\b[0-9a-f]{20}\b|http://[0-9.:]+|vm:\S+|(?:\d+ min )?\d[\d.]* (?:ms|s|min)\b|\b\d+[sm] +"
    r"|\d+ of \d+"
)
"""The parts of a session that differ each time."""


def lines_of(text: str) -> list[str]:
    """The lines without control sequences, and without the parts that differ each time."""
    unstyled = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = re.split(r"[\r\n]+|\x1b\[[0-9;?]*[a-zA-Z]", unstyled)  # the cursor moves: another line
    return [VARYING.sub("*", line).strip() for line in lines]


def test_the_session_of_the_page_is_as_written(desk: Desk) -> None:
    session = r"```text\n\$ fettle chat --model (\S+)\n(.*?)```"
    page = re.search(session, PAGE.read_text(), re.DOTALL)
    assert page is not None
    folder = desk.folder / "search"
    folder.mkdir()
    with desk.chat(model=page[1], folder=folder) as chat:
        chat.wait_for("task>")
        for line in page[2].splitlines():
            if line.startswith("task> "):
                is_task = not line.startswith("task> /")
                expected = (
                    "files to" if line == "task> /apply" else "in all" if is_task else "task>"
                )
                say(chat, line.removeprefix("task> "), expected)
            elif "[y/N]" in line:
                say(chat, "y", "applied")
        leave(chat, "\x04")
    printed_lines = iter(lines_of(chat.text))
    for line in lines_of(page[2]):
        if not line.startswith("task>") and "[y/N]" not in line and not line.endswith("..."):
            assert line in printed_lines, f"not shown, or too early: {line}\n{chat.text}"
