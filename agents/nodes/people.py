"""The words of people about a job: answers to questions, feedback, comments on lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.state import State
from agents.texts import bounded, one_line

WORDS_KEPT = 1_200
"""Characters of people's words that follow-ups see, and of each entry at most a third."""


def has_words(decision: Mapping[str, Any]) -> bool:
    """Whether a decision has more than its action."""
    return any(decision.get(name) for name in ("feedback", "comments"))


def since_last_pass(state: State) -> Sequence[Mapping[str, Any]]:
    """The decisions with words since the executor's last pass, oldest first, without the decision
    that the feedback is taken from."""
    decisions, feedback = state.get("decisions", []), state["feedback"]
    earlier = decisions
    if decisions and feedback is not None and decisions[-1]["action"] == "revise":
        earlier = decisions[:-1]
    now = [each for each in earlier if each.get("revision") == state["revision"]]
    return [each for each in now if has_words(each)]


def for_follow_ups(state: State | Mapping[str, Any]) -> str:
    """One sentence with people's words, for later jobs of the conversation; empty without words."""
    entries = [one_line(entry, WORDS_KEPT // 3) for entry in _entries(state)]
    return bounded(f"People said: {'; '.join(entries)}.", WORDS_KEPT) if entries else ""


def _entries(state: State | Mapping[str, Any]) -> Iterator[str]:
    for each in state.get("clarified", ()):
        if each["by"] != "default":
            yield f'{each["by"]} answered "{each["question"]}" with "{each["answer"]}"'
    for decision in state.get("decisions", ()):
        if decision.get("feedback"):
            yield f'{decision["by"]}: "{decision["feedback"]}"'
        for comment in decision.get("comments", ()):
            place = f"{comment['path']}, line {comment['line']}"
            yield f'{decision["by"]} on {place}: "{comment["text"]}"'
