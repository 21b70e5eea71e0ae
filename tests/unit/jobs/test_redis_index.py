"""J3 over random walks: the commands of each change keep one index, right counts and listings."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_examples import NOW, RESULT, TENANT, decision, queued, review

from jobs import keys, lifecycle, redis_index
from jobs.keys import JobKeys
from jobs.lifecycle import Change, Policy
from jobs.record import Reason, Status
from jobs.review import Action
from jobs.spec import Priority

COMMANDS = {
    "claim": lambda r, now: lifecycle.claim(r, now, worker="w", policy=Policy(), alone=True),
    "pause": lambda r, now: lifecycle.pause(r, now, review=review()),
    "decide": lambda r, now: lifecycle.decide(r, now, decision=decision()),
    "reject": lambda r, now: lifecycle.decide(r, now, decision=decision(action=Action.REJECT)),
    "cancel": lambda r, now: lifecycle.cancel(r, now, by="ann"),
    "succeed": lambda r, now: lifecycle.succeed(r, now, result=RESULT),
    "fail": lambda r, now: lifecycle.fail(r, now, reason=Reason.INTERNAL, detail=""),
    "give_back": lambda r, now: lifecycle.give_back(r, now, why="drained"),
    "retry": lambda r, now: lifecycle.retry(
        r, now, reason=Reason.INTERNAL, detail="", policy=lifecycle.Policy()
    ),
    "expire": lifecycle.expire,
    "hint": lifecycle.hint,
}


class Tables:
    """Sorted sets and counters, moved by the commands that Redis would get."""

    def __init__(self) -> None:
        self.sets: dict[str, dict[str, int]] = defaultdict(dict)
        self.counts: dict[str, int] = defaultdict(int)
        self.advanced = 0
        self.gone: set[object] = set()

    def apply(self, commands) -> None:
        for command in commands:
            match command:
                case ("ZADD", key, score, member):
                    self.sets[key][member] = score
                case ("ZREM", key, member):
                    self.sets[key].pop(member, None)
                case ("HINCRBY", keys.COUNTS, field, by):
                    self.counts[str(field)] += by
                case ("HINCRBY", keys.CHANGES, tenant, 1):
                    assert tenant == TENANT
                case ("ADVANCE", *_):
                    self.advanced += 1
                case ("FORGET" | "UNLINK", *names):
                    self.gone |= set(names)
                case (name, *_):
                    assert name in ("HSET", "ENTER", "RPUSH", "LPUSH", "LTRIM", "PUBLISH")

    def check(self, record) -> None:
        waits = record.status is Status.AWAITING_REVIEW
        looks = record.status in (Status.QUEUED, Status.RUNNING)
        assert self.sets[keys.DUE] == ({record.id: record.due_at} if looks else {})
        assert set(self.sets[keys.AWAITING_REVIEW]) == ({record.id} if waits else set())
        assert {name for name, count in self.counts.items() if count} == {
            str(record.status),
            *([keys.queued(Priority.LOW)] if record.status is Status.QUEUED else []),
        }
        listed = {status for status in Status if self.sets[keys.listing(TENANT, status=status)]}
        assert listed == {record.status}
        assert self.advanced == record.status.final
        assert ({keys.CHECKPOINT, *JobKeys(record.id).working} <= self.gone) == record.over


@given(st.lists(st.tuples(st.sampled_from(sorted(COMMANDS)), st.integers(0, 40_000)), max_size=30))
@settings(max_examples=150)
@pytest.mark.invariant("J3")
def test_a_job_is_in_the_one_index_of_its_status_through_every_walk(walk):
    record, now, tables = queued(labels=("l",), priority=Priority.LOW), NOW, Tables()
    tables.apply(redis_index.created(record))
    tables.check(record)
    for name, passed in walk:
        now += passed
        change = COMMANDS[name](record, now)
        if isinstance(change, Change):
            tables.apply(redis_index.changed(record, change.after, None))
            record = change.after
            tables.check(record)
    assert tables.sets[keys.listing(TENANT)] == {record.id: NOW}
    assert tables.sets[keys.listing(TENANT, label="l")] == {record.id: NOW}
