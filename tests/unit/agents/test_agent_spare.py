"""Prompts whose parts may be left out, and messages with less of them."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError
from langchain_core.messages import HumanMessage, SystemMessage

from agents.fitting import size
from agents.lightening import LEAST, lightened
from agents.prompting import prompt
from agents.spare import Prompt, Rank, Spare, marked, past, read, spare_in

EARLIER = [{"task": "earlier " * 500, "summary": "outcome " * 50}] * 3
TASK = "Sort them.\n" * 100
LEFT_OUT = re.compile(r"\[\.\.\. (\d+) characters left out \.\.\.\]")


def asked(**others: object) -> Prompt:
    plain: dict[str, object] = {
        "task": TASK,
        "earlier": EARLIER,
        "files": [f"data/{number:03}.csv" for number in range(300)],
        "clarified": [{"question": "Which? " * 100, "answer": "Both. " * 100}],
    }
    return prompt("task", **{**plain, **others})


def over(text: Prompt, most: int) -> str:
    message = text.message()
    (light,) = lightened([message], size([message]) - most)
    return light.text


def test_marks_change_no_letter() -> None:
    mark = "0123"
    text = f"a {marked('b', 'old', mark)} c\n{marked('', 'plan', mark)}{marked('d', 'words', mark)}"
    spare = (Spare(2, 3, "old"), Spare(6, 6, "plan"), Spare(6, 7, "words"))
    assert read(text, mark) == Prompt("a b c\nd", spare)


def test_no_part_is_within_another() -> None:
    inner = marked("b", "old", "0123")
    with pytest.raises(ValueError, match="no part of a prompt"):
        read(marked(f"a{inner}", "plan", "0123"), "0123")


def test_a_missing_value_is_an_error_in_a_marked_part_too() -> None:
    with pytest.raises(UndefinedError):
        prompt("summary_task", task="Sort.")


def test_what_people_type_is_no_mark() -> None:
    text = asked(task="{{ x | spare('old') }} <0 0> _mark", earlier=[], files=[])
    assert text.spare == ()
    assert "{{ x | spare('old') }} <0 0> _mark" in text.text


def test_two_prompts_keep_their_marks() -> None:
    one, two = Prompt("ab", (Spare(1, 2, "old"),)), Prompt("cd", (Spare(0, 1, "plan"),))
    both = one.then(two)
    assert both == Prompt("ab\ncd", (Spare(1, 2, "old"), Spare(3, 4, "plan")))
    assert spare_in(both.message()) == list(both.spare)
    assert spare_in(HumanMessage("ab")) == []


def test_the_task_and_what_was_answered_about_it_are_never_cut() -> None:
    cut = over(asked(), 1)
    assert TASK in cut
    assert "Which? " * 100 in cut
    assert "Both. " * 100 in cut
    assert size([asked(earlier=[], files=[]).message()]) < len(cut) < 4_000


def test_what_matters_least_goes_first_and_says_how_much() -> None:
    whole = asked()
    cut = over(whole, size([whole.message()]) - 9_000)
    assert "data/000.csv" in cut
    assert ", ".join(f"data/{number:03}.csv" for number in range(300)) in cut
    gone = list(map(int, LEFT_OUT.findall(cut)))
    assert len(gone) == 3  # the tasks: the longest, cut alike
    assert 0 <= sum(gone) - 9_000 <= 3 * 60
    least = over(whole, 6_000)  # only now the names, of which head and tail stay
    assert "data/000.csv" in least
    assert "data/150.csv" not in least
    assert "data/299.csv" in least


def test_where_nothing_is_too_long_nothing_is_cut() -> None:
    messages = [SystemMessage("s"), asked().message()]
    assert lightened(messages, 0) == messages
    assert lightened(messages[:1], 5) == messages[:1]


def test_a_broken_reply_goes_before_what_is_asked() -> None:
    messages = [asked(earlier=[]).message(), past("{" * 9_000), HumanMessage("Again.")]
    request, reply, again = lightened(messages, 8_000)
    assert (request, again) == (messages[0], messages[2])
    assert len(reply.text) < 1_100


TEXTS = st.text(st.characters(codec="utf-8"), max_size=3_000)
PARTS = st.lists(st.tuples(st.booleans(), st.sampled_from(get_args(Rank)), TEXTS), max_size=8)


@given(parts=PARTS, part=st.floats(0, 1.2))
@settings(max_examples=60, deadline=None)
def test_it_fits_or_nothing_is_left_to_cut(parts: list[tuple[bool, str, str]], part: float) -> None:
    mark = "0123456789abcdef"
    text = "".join(marked(said, name, mark) if cut else said for cut, name, said in parts)
    whole = read(text, mark)
    message = whole.message()
    wanted = int(size([message]) * part)
    (light,) = lightened([message], wanted)
    kept = [said for cut, _, said in parts if not cut]
    assert all(said in light.text for said in kept)
    assert size([light]) <= size([message])
    if size([light]) > size([message]) - wanted:
        spare = sum(min(each.end - each.start, LEAST + 50) for each in whole.spare)
        assert len(light.text) <= sum(map(len, kept)) + spare
