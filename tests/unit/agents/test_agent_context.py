"""What of a long history a model gets to see again, and how a request is cut to a size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.context.overflow import cut, size
from agents.context.trimming import (
    KEPT_OUTPUTS,
    LEAST_CHARACTERS,
    exchanges,
    without_old_exchanges,
    without_old_output,
)
from agents.prompts import prompt

MOST = STEP = 10_000
OUTPUTS = st.lists(st.lists(st.integers(0, 4_000), min_size=1, max_size=3), min_size=1, max_size=40)
EXCHANGES = st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 20_000)), max_size=30)


def conversation(outputs: list[list[int]], *codes: int) -> list[AnyMessage]:
    """A task, and replies whose calls gave so many characters, with so many of code in each."""
    said: list[AnyMessage] = [HumanMessage("the task")]
    for number, sizes in enumerate(outputs):
        code = "x" * (codes[number % len(codes)] if codes else 0)
        ids = [f"{number}.{place}" for place in range(len(sizes))]
        call = {"name": "python", "args": {"code": code}, "type": "tool_call"}
        said.append(AIMessage("", tool_calls=[{**call, "id": each} for each in ids]))
        said += [
            ToolMessage("x" * n, tool_call_id=each) for n, each in zip(sizes, ids, strict=True)
        ]
    return said


def requests(said: list[AnyMessage]) -> list[list[str]]:
    """The texts of each request that led to this conversation, and of the next one."""
    ends = [place for place, message in enumerate(said) if isinstance(message, AIMessage)]
    shown = (without_old_output(said[:end], STEP) for end in [*ends, len(said)])
    return [[str(message.text) for message in request] for request in shown]


def calls(messages: list[AnyMessage]) -> list[str | None]:
    return [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]


def test_old_output_goes_and_says_how_long_it_was_and_how_it_began() -> None:
    said = conversation([[4_000]] * 6)
    said[2] = ToolMessage("first line\nsecond line " + "x" * 4_000, tool_call_id="0.0")
    shown = without_old_output(said, STEP)
    assert "4,023 characters, left out" in str(shown[2].text)
    assert "first line" in str(shown[2].text)
    assert [(type(m), getattr(m, "tool_call_id", None)) for m in shown] == [
        (type(m), getattr(m, "tool_call_id", None)) for m in said
    ]
    assert shown[-2] == said[-2]
    assert said[2].text != shown[2].text  # the conversation itself is untouched


def test_old_output_changes_a_prompt_in_rare_steps_only() -> None:
    made = requests(conversation([[3_000]] * 60))
    kept = [later[: len(request)] == request for request, later in pairwise(made)]
    assert kept.count(False) <= 60 * 3_000 / STEP


@given(OUTPUTS)
def test_what_is_left_out_stays_out_and_the_latest_stays_in(sizes: list[list[int]]) -> None:
    said = conversation(sizes)
    made = requests(said)
    for request in made:
        whole = [text for text in request if text.startswith("x") and len(text) > LEAST_CHARACTERS]
        assert sum(map(len, whole[:-KEPT_OUTPUTS])) < STEP
    for request, later in pairwise(made):
        for before, after in zip(request, later, strict=False):
            assert after == before or after.startswith("[")
    assert made[-1][-1] == said[-1].text


def test_the_oldest_exchanges_go_and_task_and_feedback_stay() -> None:
    said = conversation([[7]] * 13, 1_010)
    said.insert(9, HumanMessage("Fix it."))
    kept = without_old_exchanges(said, MOST)
    texts = [str(message.text) for message in kept]
    assert (texts[0], texts[2], texts[-1]) == ("the task", "Fix it.", "x" * 7)
    assert "5 of your earlier replies" in texts[1]
    assert "python 5 times" in texts[1]
    assert sum(each.size for each in exchanges(kept)) <= MOST


@given(sizes=EXCHANGES, most=st.integers(20_000, 400_000))
@settings(max_examples=60, deadline=None)
def test_a_request_fits_and_stays_a_conversation(sizes: list[tuple[int, int]], most: int) -> None:
    said = conversation([[output] for _, output in sizes], *(code for code, _ in sizes))
    light = cut(said, most)
    assert size(light) <= most
    assert light[0] == said[0]
    assert calls(light) == [m.tool_call_id for m in light if isinstance(m, ToolMessage)]
    assert calls(said)[-1:] == calls(light)[-1:]  # the latest is always there


def test_what_people_type_is_no_mark() -> None:
    typed = "{{ x | trimmable }} <0 0> _mark"
    values = {"earlier": [], "files": [], "contents": {}, "clarified": [], "repository": None}
    text = prompt("task", task=typed, **values)
    assert (text.parts, typed in text.text) == ((), True)
