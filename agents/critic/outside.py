"""Pages and answers of servers that the executor has read, for the critic: the work may depend on
them.

The state has the messages of the executor's passes, and of each parallel step only its last
answers, in excerpts: the messages of a parallel step end with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from typing_extensions import TypedDict

from agents.attempt import Ports
from agents.critic.runs import OUTPUT_SHOWN, excerpt
from agents.critic.sections import Section, make_section
from agents.state import State
from agents.texts import one_line
from agents.tools.fetch import fetch
from agents.tools.server_tools import ARGUMENTS_SHOWN

MOST_ANSWERS = 12


class OutsideAnswer(TypedDict):
    """The answer to a call of a tool that reads from outside of the job."""

    heading: str
    """The tool and its arguments, on one line."""
    text: str
    """An excerpt."""


def outside_answers(
    messages: Sequence[BaseMessage], ports: Ports, words: Sequence[str]
) -> list[OutsideAnswer]:
    """The last answers of a conversation that are no errors, oldest first. `words`: see
    `excerpt`."""
    tools = {fetch.__name__, *(ports.tool_servers.names if ports.tool_servers else ())}
    calls, answers = dict[str | None, str](), list[tuple[str, str]]()
    for message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                arguments = json.dumps(call["args"], ensure_ascii=False)
                calls[call["id"]] = one_line(f"{call['name']} {arguments}", ARGUMENTS_SHOWN)
        if not isinstance(message, ToolMessage) or message.status == "error":
            continue
        if message.name in tools:
            answers.append((calls[message.tool_call_id], str(message.text)))
    return [
        OutsideAnswer(heading=call, text=excerpt(text, words, OUTPUT_SHOWN))
        for call, text in answers[-MOST_ANSWERS:]
    ]


def outside_sections(
    state: State, ports: Ports, words: Sequence[str], first_rank: int
) -> list[Section]:
    """The last answers of each parallel step, by its number, and then those of the executor's
    passes; at most MOST_ANSWERS. `words` are those of the executor's answer."""
    steps = sorted(state.get("branches", []), key=lambda branch: int(branch["step"]))
    conversations: list[list[OutsideAnswer]] = [
        *(branch.get("outside", []) for branch in steps),  # older releases have not stored them
        outside_answers(state.get("messages", []), ports, words),
    ]
    positions = [
        (number, age)  # of the conversation; -1 is its last answer
        for number, answers in enumerate(conversations)
        for age in range(-len(answers), 0)
    ]
    positions.sort(key=lambda position: position[::-1], reverse=True)  # the last of each first
    sections = {
        (number, age): make_section(**conversations[number][age], rank=rank)
        for rank, (number, age) in enumerate(positions[:MOST_ANSWERS], first_rank)
    }
    return [sections[position] for position in sorted(sections)]
