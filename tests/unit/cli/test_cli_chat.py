"""The lines of a chat, its state between two chats, and its refusals."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import threading
import time
from contextlib import contextmanager

import click
import pytest
from prompt_toolkit.application import get_app_session
from prompt_toolkit.output import DummyOutput
from support.processes.fettle_command import environment
from support.processes.fettle_command import fettle as run_fettle
from support.servers.tiny_service import job

from cli.chat.commands import COMMANDS, complete, parse, parse_budget
from cli.chat.following import ending_parts
from cli.chat.terminal import ChatTerminal
from cli.chat.user_state import last_conversation, remember_conversation


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (" Sort it.\n", ("", "Sort it.")),
        (" /etc/hosts is not parsed", ("", "/etc/hosts is not parsed")),
        ("", ("", "")),
        ("/revise  Write it\ntwice. ", ("revise", "Write it\ntwice.")),
        ("/approve", ("approve", "")),
    ],
)
def test_a_line_is_a_task_or_a_command(line, expected):
    assert parse(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/aprove", "there is no command /aprove: /help lists"),
        ("/", "there is no command /:"),
        ("/etc/hosts is not parsed", "a space before it"),
        ("/diff a.py", "/diff takes no argument"),
    ],
)
def test_a_wrong_command_is_refused_with_the_remedy(line, reason):
    with pytest.raises(click.UsageError, match=reason):
        parse(line)


def test_a_budget_is_an_amount_of_dollars():
    assert (parse_budget("0.50"), parse_budget("$2")) == ("0.50", "2")
    for text in ("much", "0", "-1", "nan", "inf"):
        with pytest.raises(click.UsageError, match="no amount of dollars"):
            parse_budget(text)


def test_commands_and_models_are_completed():
    assert complete("/ap", ()) == ["/approve", "/apply"]
    assert complete("/model gr", ("groq:a", "openai:b")) == ["groq:a"]
    assert complete("/", ()) == [f"/{name}" for name in COMMANDS]
    assert complete("Sort", ("Sort",)) == complete("/revise ap", ()) == []


def test_the_last_conversation_of_each_service_is_remembered(tmp_path):
    remember_conversation(tmp_path, "http://a", "c1")
    remember_conversation(tmp_path, "http://b", "c2")
    assert last_conversation(tmp_path, "http://a") == "c1"
    assert last_conversation(tmp_path, "http://c") is None
    (tmp_path / "last_conversations.json").write_text("[")
    assert last_conversation(tmp_path, "http://a") is None


def test_without_a_terminal_the_chat_names_the_command_for_programs(tmp_path):
    ended = run_fettle("chat", cwd=tmp_path, env=environment(tmp_path))
    assert ended.returncode == 1
    assert "needs a terminal" in ended.stderr
    assert 'fettle run --conversation ID "..."' in ended.stderr


def test_a_message_that_came_too_late_is_named_at_the_end_of_the_job():
    messages = [{"number": 1, "read_by": ["executor"]}, {"number": 2, "read_by": []}]
    ended_job = job(messages=messages, finished_at="2026-11-27T12:00:00.000Z")
    texts = [getattr(part, "text", "") for part in ending_parts(ended_job)]
    assert "message 2: it came too late; the next line that you type follows up" in texts


class RecordingOutput(DummyOutput):
    """A terminal that reports no position of its cursor, so that each print above a line waits."""

    responds_to_cpr = True

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write_raw(self, data: str) -> None:
        self.texts.append(data)


@contextmanager
def open_chat(monkeypatch):
    """A chat's terminal, its output and the file descriptor that types keys."""
    keys, terminal = pty.openpty()
    output = RecordingOutput()
    # Another thread has the default session: `create_app_session` would be for this thread only.
    monkeypatch.setattr(get_app_session(), "_output", output)
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        chat = ChatTerminal(None, lambda: "running", lambda: "", tuple)
        with chat.opened():
            yield chat, output, keys
    os.close(keys)


def test_keys_between_two_lines_are_the_next_line_and_no_output(monkeypatch):
    with open_chat(monkeypatch) as (terminal, _, keys):
        os.write(keys, b"typed\r")
        assert terminal.read(live=False) == "typed"
        os.set_blocking(keys, False)
        with pytest.raises(BlockingIOError):  # the terminal has echoed nothing
            os.read(keys, 100)


def test_texts_of_other_threads_are_printed_in_order_after_a_line_has_ended(monkeypatch):
    with open_chat(monkeypatch) as (terminal, output, keys):

        def print_texts() -> None:
            while not get_app_session().app:
                time.sleep(0.01)
            print("while the person types")
            time.sleep(0.3)
            os.write(keys, b"typed\r")
            time.sleep(0.1)
            print("after Enter")

        thread = threading.Thread(target=print_texts)
        thread.start()
        assert terminal.read(live=False) == "typed"
        thread.join()
        assert "".join(output.texts) == "while the person types\nafter Enter\n"


def test_the_terminal_takes_no_keys_while_another_thread_prints(monkeypatch):
    with open_chat(monkeypatch) as (terminal, output, keys):
        modes = []

        def write_raw(_: str) -> None:
            modes.append(termios.tcgetattr(keys)[3])
            os.write(keys, b"typed\r")

        monkeypatch.setattr(output, "responds_to_cpr", False)
        monkeypatch.setattr(output, "write_raw", write_raw)

        def print_above() -> None:
            while not get_app_session().app:
                time.sleep(0.01)
            print("an event")

        threading.Thread(target=print_above, daemon=True).start()
        assert terminal.read(live=False) == "typed"
        assert not modes[0] & (termios.ICANON | termios.ECHO)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_files_of_a_review_and_a_usable_terminal(signum, tmp_path):
    keys, terminal = pty.openpty()
    before = termios.tcgetattr(keys)
    files = tmp_path / "tmp"
    files.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", "chat"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(tmp_path) | {"TMPDIR": str(files), "TERM": "dumb"},
    )
    os.close(terminal)
    output = b""
    while b"task>" not in output:
        output += os.read(keys, 10_000)
    assert list(files.iterdir())
    for _ in range(20):  # a closing terminal sends several
        process.send_signal(signum)
        time.sleep(0.005)
    assert process.wait(20) == 128 + signum
    assert not list(files.iterdir())
    assert termios.tcgetattr(keys) == before
    os.close(keys)
