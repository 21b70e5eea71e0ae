"""The lines of a chat, its state between two chats, and its refusals."""

from __future__ import annotations

import click
import pytest
from support.processes.fettle_command import environment
from support.processes.fettle_command import fettle as run_fettle

from cli.chat.commands import COMMANDS, ChatLine, complete, parse, parse_budget
from cli.chat.user_state import last_conversation, remember_conversation


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (" Sort it.\n", ChatLine("", "Sort it.")),
        (" /etc/hosts is not parsed", ChatLine("", "/etc/hosts is not parsed")),
        ("", ChatLine("", "")),
        ("/revise  Write it\ntwice. ", ChatLine("revise", "Write it\ntwice.")),
        ("/approve", ChatLine("approve", "")),
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
