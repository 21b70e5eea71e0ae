"""What a request repeats of a long conversation, and how a request is cut to a size."""

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
    """A reply that calls a tool for each result, with so many characters of code in each."""
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
    made = [Artifact(path, "0" * 64, 1, "text/plain")]
    return exchange(number, ("done", of_use("edit_file", path, ok=True, artifacts=made)))


def job(*said: list[AnyMessage]) -> list[AnyMessage]:
    return [HumanMessage("the task"), *(message for each in said for message in each)]


def requests(messages: list[AnyMessage], most: int = MOST) -> list[list[BaseMessage]]:
    """Each request that led to this conversation, and the next one."""
    ends = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    return [list(trim_exchanges(messages[:end], most)) for end in [*ends, len(messages)]]


def texts(messages: Any) -> str:
    return "\n".join(str(message.text) for message in messages)


def calls(messages: Any) -> list[str | None]:
    return [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]


def test_a_conversation_that_fits_is_sent_unchanged() -> None:
    said = job(*(ran(number) for number in range(6)))
    assert requests(said)[-1] == said


def test_five_files_of_one_reply_are_all_shown() -> None:
    reads = [(f"file {n} " + "x" * 9_000, of_use("read_file", f"{n}.py", ok=True)) for n in "abcde"]
    said = job(*(ran(number) for number in range(5)), exchange(9, *reads))
    shown = texts(requests(said)[-1])
    assert [f"file {n} " + "x" * 9_000 in shown for n in "abcde"] == [True] * 5
    assert "run 4" not in shown


def test_the_oldest_runs_go_in_one_cut_and_a_note_says_so() -> None:
    said = job(*(ran(number) for number in range(7)))
    said.insert(7, HumanMessage("Fix it."))
    *_, before, after = requests(said)
    assert before == said[:-2]
    assert size(after) < MOST / 3 + 500
    assert [str(after[place].text) for place in (0, 2)] == ["the task", "Fix it."]
    assert "5 of your earlier replies" in str(after[1].text)
    assert "shell 5 times" in str(after[1].text)
    assert after[3:] == said[-4:]


def test_files_that_have_not_changed_since_they_were_read_go_last() -> None:
    files = [read(0, "a.py"), read(1, "b.py")]
    said = job(*files, edited(2, "a.py"), *(ran(number) for number in range(3, 11)))
    shown = texts(requests(said, 30_000)[-1])
    assert "content of b.py" in shown
    assert "content of a.py" not in shown
    assert "run 9" in shown  # the latest work stays, too
    assert "run 8" not in shown


def test_the_beginning_stays_the_same_between_rare_cuts() -> None:
    made = requests(job(read(0, "a.py"), *(ran(number) for number in range(1, 60))))
    changed = [later[: len(before)] != before for before, later in pairwise(made)]
    assert 5 < sum(changed) <= 60 * 3_000 / (MOST * 2 / 3) + 1
    # Up to the note in place of the first exchange that is left out, nothing ever changes.
    assert all(request[:3] == made[-1][:3] for request in made[2:])


@given(SIZES)
def test_results_that_were_not_read_are_never_left_out(sizes: list[list[int]]) -> None:
    said = job(*(exchange(n, *[("x" * each, None) for each in s]) for n, s in enumerate(sizes)))
    made = requests(said)
    for number, request in enumerate(made[1:]):
        newest = exchanges(request)[-1]
        assert [len(str(m.text)) for m in request[newest.start + 1 : newest.end]] == sizes[number]
        assert size(request) <= max(MOST, newest.size) + 500
        assert calls(request) == [m.tool_call_id for m in request if isinstance(m, ToolMessage)]
    for before, after in pairwise(made):
        assert (
            after[: len(before)] == before
            or size(after) < MOST / 3 + 500 + exchanges(after)[-1].size
        )


@given(sizes=EXCHANGES, most=st.integers(20_000, 400_000))
@settings(max_examples=60, deadline=None)
def test_a_request_fits_and_stays_a_conversation(sizes: list[tuple[int, int]], most: int) -> None:
    said = job(*(exchange(n, ("x" * out, None), code=c) for n, (c, out) in enumerate(sizes)))
    light = cut(said, most)
    assert size(light) <= most
    assert light[0] == said[0]
    assert calls(light) == [m.tool_call_id for m in light if isinstance(m, ToolMessage)]
    assert calls(said)[-1:] == calls(light)[-1:]  # the latest is always there


def test_what_people_type_is_no_mark() -> None:
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
