"""Prompts whose parts may be cut, and requests that are cut to a size."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.context.overflow import cut, size
from agents.prompts import Prompt, prompt

EARLIER = [{"task": "earlier " * 500, "summary": "outcome " * 50}] * 3
TASK = "Sort them.\n" * 100


def asked(**others: object) -> Prompt:
    plain: dict[str, object] = {
        "task": TASK,
        "earlier": EARLIER,
        "files": [f"data/{number:03}.csv" for number in range(300)],
        "clarified": [{"question": "Which? " * 100, "answer": "Both. " * 100}],
    }
    return prompt("task", **{**plain, **others})


def conversation(sizes: list[tuple[int, int]]) -> list[AnyMessage]:
    """A task, and exchanges of so many characters of program and of output."""
    said: list[AnyMessage] = [HumanMessage("the task")]
    for place, (code, output) in enumerate(sizes):
        call = {"name": "python", "args": {"code": "x" * code}, "id": str(place)}
        said.append(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]))
        said.append(ToolMessage("y" * output, tool_call_id=str(place)))
    return said


def test_what_people_type_is_no_mark() -> None:
    text = asked(task="{{ x | trimmable }} <0 0> _mark", earlier=[], files=[])
    assert text.trimmable == ()
    assert "{{ x | trimmable }} <0 0> _mark" in text.text


SIZES = st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 20_000)), max_size=30)


@given(sizes=SIZES, most=st.integers(20_000, 400_000))
@settings(max_examples=60, deadline=None)
def test_it_fits_and_stays_a_conversation(sizes: list[tuple[int, int]], most: int) -> None:
    said = conversation(sizes)
    light = cut(said, most)
    assert size(light) <= most
    assert light[0] == said[0]
    asked = [call["id"] for m in light if isinstance(m, AIMessage) for call in m.tool_calls]
    assert asked == [m.tool_call_id for m in light if isinstance(m, ToolMessage)]
    assert not sizes or asked[-1] == str(len(sizes) - 1)  # the latest is always there
