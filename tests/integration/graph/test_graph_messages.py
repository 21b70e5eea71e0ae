"""Messages of persons: each conversation reads each message once, and a crash changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from support.graph import parallel_job
from support.graph.graphs import (
    PLAN,
    Crash,
    Journey,
    PlannedSandbox,
    Written,
    call,
    only,
    printed,
    turn,
    verdict,
)

from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryJournal, MemoryMessages, MemoryRecord
from agents.history import message_number
from agents.ports import Finished
from agents.ports.messages import UserMessage
from agents.state import JobFields

TASK = "Print a number."
JOB = job_fields(TASK)
ANSWERS = {"one": printed("one\n"), "two": printed("2 lines\n")}
BEGIN = [PLAN, turn("executor", TASK, call("python", code="one"), after=0)]
"""Journal entries: the plan, the first reply, its run."""


@dataclass
class ArrivingMessages(MemoryMessages):
    """Messages that arrive before a look: by the number of journal entries, and the number of the
    look (from 1) among the looks with as many entries."""

    record: MemoryRecord
    arrivals: dict[tuple[int, int], str]
    looks: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__(self.record)

    async def after(self, number: int) -> Sequence[UserMessage]:
        entries = len(self.record.outcomes)
        self.looks[entries] += 1
        if (text := self.arrivals.pop((entries, self.looks[entries]), None)) is not None:
            send(self.record, text)
        return await super().after(number)


def send(record: MemoryRecord, text: str) -> None:
    record.messages.append(UserMessage(len(record.messages) + 1, "Ada", text))


@dataclass
class CrashingJournal(MemoryJournal):
    """Crashes at the record number `at`, before or after it is written."""

    on: MemoryRecord
    at: int
    before: bool
    keys: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.on)

    async def record(self, key: str, finished: Finished) -> None:
        self.keys.append(key)
        crashes = len(self.keys) == self.at
        if crashes and self.before:
            raise Crash
        await super().record(key, finished)
        if crashes:
            raise Crash


Arrivals = Mapping[tuple[int, int], str]


def planned(folder: Path, turns: Sequence[Written], arrivals: Arrivals) -> Journey:
    journey = Journey.plan(folder, turns, PlannedSandbox(ANSWERS))
    messages = ArrivingMessages(journey.record, dict(arrivals))
    journey.ports = journey.with_ports(messages=messages)
    return journey


async def crashed(
    folder: Path,
    turns: Sequence[Written],
    arrivals: Arrivals,
    at: int,
    *,
    before: bool = False,
    late: str = "",
    job: JobFields = JOB,
) -> tuple[Journey, list[str]]:
    """A job that crashes at the record `at` (0: never), and the keys of its records. The message
    `late` arrives after the crash."""
    journey = planned(folder, turns, arrivals)
    journal = CrashingJournal(journey.record, at, before)
    journey.ports = journey.with_ports(journal=journal)
    if not at:
        await journey.begin(job)
        return journey, journal.keys
    with pytest.raises(Crash):
        await journey.begin(job)
    if late:
        send(journey.record, late)
    await journey.go_on()
    return journey, journal.keys


async def numbers_in_conversation(journey: Journey) -> list[int]:
    state = (await journey.graph.aget_state(journey.config)).values
    return [*filter(None, map(message_number, state["messages"]))]


def readers(journey: Journey) -> list[tuple[str, list[int]]]:
    return [(data["role"], data["messages"]) for data in journey.event_data("messages_read")]


async def test_the_executor_reads_a_message_before_its_next_call(tmp_path: Path) -> None:
    turns = [
        *BEGIN,
        turn("executor", "Print two numbers", call("python", code="two"), after=1),
        turn("executor", "2 lines", "Both.", after=2),
        verdict("A message from Ada, sent after the task", "approve"),
    ]
    journey = planned(tmp_path, turns, {(3, 1): "Print two numbers."})
    await journey.begin(JOB)
    assert (await journey.outcome()).approved
    assert await numbers_in_conversation(journey) == [1]
    assert readers(journey) == [("executor", [1]), ("critic", [1])]
    kinds = journey.kinds()
    assert kinds[kinds.index("messages_read") + 1] == "model_called"


async def test_a_message_from_before_the_plan_is_part_of_each_role_s_task(tmp_path: Path) -> None:
    turns = [
        turn("planner", "Print two numbers", call("Plan", steps=["Print both."])),
        turn("executor", "Print two numbers", call("python", code="two"), after=0),
        turn("executor", "2 lines", "Both.", after=1),
        verdict("Print two numbers", "approve"),
    ]
    journey = planned(tmp_path, turns, {(0, 1): "Print two numbers."})
    await journey.begin(JOB)
    assert readers(journey) == [("planner", [1]), ("executor", [1]), ("critic", [1])]


async def test_an_answer_does_not_end_the_pass_while_a_message_is_unread(tmp_path: Path) -> None:
    turns = [
        *BEGIN,
        turn("executor", "one", "Done.", after=1),
        turn("executor", "Print two numbers", call("python", code="two"), after=2),
        turn("executor", "2 lines", "Both.", after=3),
        verdict("Print two numbers", "approve"),
    ]
    journey = planned(tmp_path, turns, {(3, 2): "Print two numbers."})
    await journey.begin(JOB)
    assert only(journey.event_data("answered"))["text"] == "Both."
    assert await numbers_in_conversation(journey) == [1]


async def test_the_bound_on_replies_also_ends_a_pass_with_an_unread_message(tmp_path: Path) -> None:
    turns = [
        *BEGIN,
        turn("executor", "one", "Done.", after=1),
        verdict("Print two numbers", "approve"),
    ]
    journey = planned(tmp_path, turns, {(3, 2): "Print two numbers."})
    journey.ports = journey.with_ports(bounds=journey.ports.bounds.__class__(steps=2))
    await journey.begin(JOB)
    assert readers(journey) == [("critic", [1])]
    assert only(journey.event_data("answered"))["text"] == "Done."


async def test_a_critic_whose_first_reply_is_invalid_reads_a_message_once(tmp_path: Path) -> None:
    turns = [
        *BEGIN,
        turn("executor", "one", "Done.", after=1),
        turn("critic", "Print two numbers", call("Verdict", verdict="perhaps")),
        turn("critic", "is not valid", call("Verdict", verdict="approve")),
    ]
    journey = planned(tmp_path, turns, {(4, 1): "Print two numbers."})
    await journey.begin(JOB)
    assert (await journey.outcome()).approved
    assert readers(journey) == [("critic", [1])]


SECOND_PASS = [
    turn("executor", "one", "Done.", after=1),
    verdict("(revision 1)", "approve"),
    turn("critic", "Print two", call("Verdict", verdict="revise", feedback="One is missing.")),
    turn("executor", "Print two numbers", call("python", code="two"), after=2),
    turn("executor", "2 lines", "Both.", after=3),
]


async def test_an_approval_counts_only_if_the_critic_knows_all_messages(tmp_path: Path) -> None:
    turns = [*BEGIN, *SECOND_PASS]
    turns[4]["after"] = 1  # after the approval
    turns.append({**verdict("Print two", "approve"), "after": 0})
    journey = planned(tmp_path, turns, {(5, 1): "Print two numbers."})
    await journey.begin(JOB)
    verdicts = [data["verdict"] for data in journey.event_data("critiqued")]
    assert verdicts == ["revise", "approve"]
    assert readers(journey) == [("critic", [1]), ("executor", [1]), ("critic", [1])]


async def test_a_critic_with_an_unread_message_looks_for_a_stopping_worker(tmp_path: Path) -> None:
    turns = [
        *BEGIN,
        *SECOND_PASS[:2],
        {**verdict("Print two", "approve"), "after": 1},
    ]
    journey, control = planned(tmp_path, turns, {(5, 1): "Print two numbers."}), RunControl()

    class Draining(MemoryJournal):
        """Requests a drain when the critic's first reply is recorded."""

        async def record(self, key: str, finished: Finished) -> None:
            await super().record(key, finished)
            if any(event.data.get("role") == "critic" for event in finished.events):
                control.request_drain()

    journey.ports = journey.with_ports(journal=Draining(journey.record))
    with pytest.raises(GraphDrained):
        await journey.begin(JOB, control)
    assert readers(journey) == []
    await journey.go_on()
    assert readers(journey) == [("critic", [1])]
    assert (await journey.outcome()).approved


async def test_an_approval_of_the_last_revision_counts(tmp_path: Path) -> None:
    turns = [*BEGIN, *SECOND_PASS[:2]]
    journey = planned(tmp_path, turns, {(5, 1): "Print two numbers."})
    await journey.begin(job_fields(TASK, max_revisions=1))
    assert (await journey.outcome()).approved
    assert readers(journey) == []


FOLLOWED = [
    *BEGIN,
    turn("executor", "one", "Done.", after=1),
    *(
        turned
        for first in (1, 2)  # the message comes before the second call, or with its answer
        for turned in (
            turn("executor", "Print two numbers", call("python", code="two"), after=first),
            turn("executor", "2 lines", "Both.", after=first + 1),
        )
    ),
    verdict("Print two numbers", "approve"),
]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", range(1, 9))
@pytest.mark.parametrize("look", [1, 2])
@pytest.mark.invariant("J13")
async def test_a_crash_neither_loses_nor_repeats_a_message(
    tmp_path: Path, look: int, at: int, *, before: bool
) -> None:
    arrivals = {(3, look): "Print two numbers."}
    smooth, records = await crashed(tmp_path, FOLLOWED, arrivals, at=0)
    if at > len(records):
        return
    journey, keys = await crashed(tmp_path, FOLLOWED, arrivals, at, before=before)
    assert await numbers_in_conversation(journey) == [1]
    assert readers(journey) == [("executor", [1]), ("critic", [1])]
    assert (await journey.outcome()).approved
    assert len(keys) == len(set(keys)) + before
    assert len(journey.record.charges) == journey.kinds().count("model_called")
    if (look, at, before) != (2, 4, True):  # the repeated call reads the message itself
        assert len(set(keys)) == len(records)
        assert journey.kinds() == smooth.kinds()


@pytest.mark.parametrize("at", range(1, 6))
async def test_a_message_that_arrives_after_a_crash_repeats_no_call(
    tmp_path: Path, at: int
) -> None:
    turns = [
        turn("planner", "", call("Plan", steps=["Print it."])),
        turn("executor", "", call("python", code="one"), after=0),
        turn("executor", "", "Done.", after=1),
        turn("executor", "", "Done again.", after=2),
        verdict("", "approve"),
    ]
    journey, keys = await crashed(tmp_path, turns, {}, at, late="Print it.")
    assert len(keys) == len(set(keys))
    assert (await journey.outcome()).approved
    assert "critic" in dict(readers(journey))


PARALLEL = [
    parallel_job.PLAN,  # each of its branches, and the pass that joins them, does the same
    turn("executor", "Print two numbers", call("python", code="one"), after=0),
    turn("executor", "one", "Done.", after=1),
    verdict("Print two numbers", "approve"),
]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at", range(10))
@pytest.mark.invariant("J13")
async def test_each_branch_and_their_joining_pass_read_a_message_once(
    tmp_path: Path, at: int, *, before: bool
) -> None:
    arrivals = {(1, 1): "Print two numbers."}  # after the plan
    journey, _ = await crashed(
        tmp_path, PARALLEL, arrivals, at, before=before, job=parallel_job.JOB
    )
    assert (await journey.outcome()).approved
    readings = [(data["role"], data.get("step")) for data in journey.event_data("messages_read")]
    assert Counter(readings) == Counter(
        [("executor", 1), ("executor", 2), ("executor", None), ("critic", None)]
    )
    assert len(journey.record.charges) == journey.kinds().count("model_called")
