"""The part of a long conversation that a request repeats, and the cut of a request to a size."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agents.context.overflow import cut
from agents.context.trimming import exchanges, size, trim_exchanges
from agents.history import Trace
from agents.ports import Artifact
from agents.prompts import prompt
from agents.tools.trace import of_use

MOST = 20_000
SIZES = st.lists(st.lists(st.integers(0, 4_000), min_size=1, max_size=3), min_size=1, max_size=40)
EXCHANGES = st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 20_000)), max_size=30)


def exchange(number: int, *results: tuple[str, Trace | None], code: int = 10) -> list[AnyMessage]:
    """A reply that calls a tool for each result, with `code` characters of code in each call."""
    calls: list[Any] = [
        {"name": "shell", "args": {"code": "x" * code}, "id": f"{number}.{n}", "type": "tool_call"}
        for n in range(len(results))
    ]
    answers = [
        ToolMessage(text, tool_call_id=call["id"], artifact=trace)
        for call, (text, trace) in zip(calls, results, strict=True)
    ]
    return [AIMessage("", tool_calls=calls), *answers]


def ran(number: int, characters: int = 3_000) -> list[AnyMessage]:
    return exchange(number, (f"run {number} ".ljust(characters, "."), None))


def read(number: int, path: str, characters: int = 3_000) -> list[AnyMessage]:
    trace = of_use("read_file", path, ok=True)
    return exchange(number, (f"content of {path} ".ljust(characters, "."), trace))


def edited(number: int, path: str) -> list[AnyMessage]:
    artifacts = [Artifact(path, "0" * 64, 1, "text/plain")]
    return exchange(number, ("done", of_use("edit_file", path, ok=True, artifacts=artifacts)))


def job(*parts: list[AnyMessage]) -> list[AnyMessage]:
    return [HumanMessage("the task"), *(message for part in parts for message in part)]


def requests(messages: list[AnyMessage], most: int = MOST) -> list[list[BaseMessage]]:
    """Each request that led to this conversation, and the next one."""
    ends = [index for index, message in enumerate(messages) if isinstance(message, AIMessage)]
    return [list(trim_exchanges(messages[:end], most)) for end in [*ends, len(messages)]]


def texts(messages: Any) -> str:
    return "\n".join(str(message.text) for message in messages)


def calls(messages: Any) -> list[str | None]:
    return [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]


def test_a_conversation_that_fits_is_sent_unchanged() -> None:
    conversation = job(*(ran(number) for number in range(6)))
    assert requests(conversation)[-1] == conversation


def test_five_files_of_one_reply_are_all_shown() -> None:
    reads = [(f"file {n} " + "x" * 9_000, of_use("read_file", f"{n}.py", ok=True)) for n in "abcde"]
    conversation = job(*(ran(number) for number in range(5)), exchange(9, *reads))
    last_request = texts(requests(conversation)[-1])
    assert [f"file {n} " + "x" * 9_000 in last_request for n in "abcde"] == [True] * 5
    assert "run 4" not in last_request


def test_the_oldest_runs_are_left_out_together_with_a_note() -> None:
    conversation = job(*(ran(number) for number in range(7)))
    conversation.insert(7, HumanMessage("Fix it."))
    *_, before, after = requests(conversation)
    assert before == conversation[:-2]
    assert size(after) < MOST / 3 + 500
    assert [str(after[index].text) for index in (0, 2)] == ["the task", "Fix it."]
    assert "5 of your earlier replies" in str(after[1].text)
    assert "shell 5 times" in str(after[1].text)
    assert after[3:] == conversation[-4:]


def test_unchanged_files_are_left_out_last() -> None:
    files = [read(0, "a.py"), read(1, "b.py")]
    conversation = job(*files, edited(2, "a.py"), *(ran(number) for number in range(3, 11)))
    last_request = texts(requests(conversation, 30_000)[-1])
    assert "content of b.py" in last_request
    assert "content of a.py" not in last_request
    assert "run 9" in last_request  # the latest work stays, too
    assert "run 8" not in last_request


def test_the_beginning_stays_the_same_between_rare_cuts() -> None:
    all_requests = requests(job(read(0, "a.py"), *(ran(number) for number in range(1, 60))))
    changed = [after[: len(before)] != before for before, after in pairwise(all_requests)]
    assert 5 < sum(changed) <= 60 * 3_000 / (MOST * 2 / 3) + 1
    # The messages before the first left-out exchange and its note never change.
    assert all(request[:3] == all_requests[-1][:3] for request in all_requests[2:])


@given(SIZES)
def test_results_that_were_not_read_are_never_left_out(sizes: list[list[int]]) -> None:
    conversation = job(
        *(exchange(n, *[("x" * length, None) for length in row]) for n, row in enumerate(sizes))
    )
    all_requests = requests(conversation)
    for number, request in enumerate(all_requests[1:]):
        newest = exchanges(request)[-1]
        assert [len(str(m.text)) for m in request[newest.start + 1 : newest.end]] == sizes[number]
        assert size(request) <= max(MOST, newest.size) + 500
        assert calls(request) == [m.tool_call_id for m in request if isinstance(m, ToolMessage)]
    for before, after in pairwise(all_requests):
        assert (
            after[: len(before)] == before
            or size(after) < MOST / 3 + 500 + exchanges(after)[-1].size
        )


@given(sizes=EXCHANGES, most=st.integers(20_000, 400_000))
@settings(max_examples=60, deadline=None)
def test_a_request_fits_and_stays_a_conversation(sizes: list[tuple[int, int]], most: int) -> None:
    conversation = job(
        *(exchange(n, ("x" * out, None), code=c) for n, (c, out) in enumerate(sizes))
    )
    light = cut(conversation, most)
    assert size(light) <= most
    assert light[0] == conversation[0]
    assert calls(light) == [m.tool_call_id for m in light if isinstance(m, ToolMessage)]
    assert calls(conversation)[-1:] == calls(light)[-1:]  # the latest exchange always stays


def test_typed_text_is_not_read_as_a_mark() -> None:
    typed = "{{ x | trimmable }} <0 0> _mark"
    values = {
        "earlier": [],
        "files": [],
        "contents": {},
        "joined": False,
        "clarified": [],
        "repository": None,
    }
    text = prompt("task", task=typed, **values)
    assert (text.parts, typed in text.text) == ((), True)
