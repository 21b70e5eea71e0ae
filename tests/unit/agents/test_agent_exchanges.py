"""What goes of a conversation that would outgrow a context."""

from __future__ import annotations

from itertools import pairwise

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.context.trimming import exchanges, without_old_exchanges

MOST = 10_000


def conversation(replies: int, size: int = 1_010) -> list[AnyMessage]:
    said: list[AnyMessage] = [HumanMessage("the task")]
    for number in range(replies):
        call = {"name": "write_file", "args": {"content": "x" * size}, "id": f"c{number}"}
        said.append(AIMessage("", tool_calls=[{**call, "type": "tool_call"}]))  # type: ignore[list-item]
        said.append(ToolMessage(f"wrote {number}", tool_call_id=f"c{number}"))
        if number == 3:
            said.append(HumanMessage("mend it"))
    return said


def own(messages: list[AnyMessage]) -> int:
    return sum(each.size for each in exchanges(messages))


def test_the_oldest_go_and_task_and_feedback_stay() -> None:
    kept = without_old_exchanges(conversation(13), MOST)
    texts = [str(message.text) for message in kept]
    assert texts[0] == "the task"
    assert "5 of your earlier replies" in texts[1]
    assert "write_file 5 times" in texts[1]
    assert texts[2] == "mend it"
    assert texts[-1] == "wrote 12"
    assert own(kept) <= MOST


def test_the_prompt_changes_in_rare_steps_only() -> None:
    said = conversation(80)
    ends = [place for place, message in enumerate(said) if isinstance(message, AIMessage)]
    made = [without_old_exchanges(said[:end], MOST) for end in ends]
    kept = [later[: len(request)] == request for request, later in pairwise(made)]
    assert kept.count(False) <= 80 // (MOST // 2 // 1_000)
    assert all(own(request) <= MOST + 1_100 for request in made)
