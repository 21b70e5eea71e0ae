"""The contract of the graph's ports, for the in-memory ports and the worker's ports."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from support.graph.port_harness import Harness, MemoryHarness, StoreHarness

from agents.errors import BudgetExhausted, PathOutside, PriceUnknown, Stopped
from agents.ports import CallKey, Charge, Event, Finished
from agents.ports.messages import UserMessage
from agents.ports.spending import MaxSpend
from jobs.blobs.directory import DirectoryBlobs
from jobs.store.redis_store import RedisStore
from worker.ledger import FRESH_SECONDS


@pytest.fixture(params=["memory", "worker"])
async def harness(
    request: pytest.FixtureRequest, redis_store: RedisStore, tmp_path: Path
) -> Harness:
    if request.param == "memory":
        return MemoryHarness()
    return await StoreHarness.over(redis_store, DirectoryBlobs(tmp_path))


def at(ordinal: int) -> CallKey:
    return CallKey("executor:1", "task", ordinal)


def event(ordinal: int, kind: str = "tool_used", **data: object) -> Event:
    return Event(at(ordinal), kind, {"n": ordinal, **data})


def charge(call: str, tokens: int = 10) -> Charge:
    return Charge(call, "executor", "groq:small", tokens, 5, "0.001")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_recorded_calls_are_recalled_now_and_after_a_crash(harness: Harness) -> None:
    attempt = await harness.attempt()
    await attempt.journal.record("call", Finished(b"\x00outcome\xff"))
    assert await attempt.journal.recall("call") == b"\x00outcome\xff"
    assert await (await harness.attempt()).journal.recall("call") == b"\x00outcome\xff"


async def test_all_results_of_a_call_are_recorded_with_it(harness: Harness) -> None:
    attempt = await harness.attempt()
    await attempt.workspace.apply({"a.txt": b"a"})
    done = Finished(
        b"1", (event(1), event(2, "run_finished")), charge("c1"), attempt.workspace.digest
    )
    await attempt.journal.record("call", done)
    assert await harness.events() == [("tool_used", {"n": 1}), ("run_finished", {"n": 2})]
    assert await harness.charges() == [charge("c1")]
    assert await (await harness.attempt()).workspace.read("a.txt") == b"a"


async def test_the_workspace_is_that_of_the_last_finished_call(harness: Harness) -> None:
    attempt = await harness.attempt()
    await attempt.workspace.apply({"a.txt": b"a"})
    await attempt.journal.record("one", Finished(b"1", workspace=attempt.workspace.digest))
    await attempt.journal.record("two", Finished(b"2"))  # a model call has no workspace
    await attempt.workspace.apply({"a.txt": b"of a call that never finished"})
    assert (await (await harness.attempt()).workspace.tree()).files == {"a.txt": b"a"}


async def test_events_are_in_order_and_unique(harness: Harness) -> None:
    attempt = await harness.attempt()
    await attempt.events.emit(event(1, "planned"))
    await attempt.journal.record("call", Finished(b"1", (event(1),)))
    await attempt.events.emit(event(1, "planned"))
    await attempt.events.emit(event(1, "answered"))
    await attempt.journal.record("next", Finished(b"2", (event(1), event(2))))
    kinds = [(kind, data["n"]) for kind, data in await harness.events()]
    assert kinds == [("planned", 1), ("tool_used", 1), ("answered", 1), ("tool_used", 2)]


async def test_the_next_attempt_does_not_repeat_events(harness: Harness) -> None:
    first = await harness.attempt()
    await first.events.emit(event(1, "planned"))
    await first.journal.record("call", Finished(b"1"))
    second = await harness.attempt()
    await second.events.emit(event(1, "planned"))
    await second.journal.record("next", Finished(b"2"))
    assert await harness.events() == [("planned", {"n": 1})]


async def test_a_call_is_charged_once(harness: Harness) -> None:
    attempt = await harness.attempt()
    await attempt.journal.record("one", Finished(b"1", charge=charge("c1")))
    await attempt.journal.record("two", Finished(b"2", charge=charge("c1")))
    await attempt.journal.record("three", Finished(b"3", charge=charge("c2")))
    assert sorted(item.call for item in await harness.charges()) == ["c1", "c2"]


def call_of(tokens: int, usd: str | None = "0.01") -> Callable[[], MaxSpend]:
    return lambda: MaxSpend("groq:small", tokens, None if usd is None else Decimal(usd))


async def test_all_attempts_share_one_budget(harness: Harness) -> None:
    attempt = await harness.attempt(most_tokens=100)
    name = await attempt.budget.reserve(call_of(60))
    spent = replace(charge("c1", tokens=35), reservation=name)
    await attempt.journal.record("one", Finished(b"1", charge=spent))
    assert await attempt.budget.reserve(call_of(60)) is not None
    with pytest.raises(BudgetExhausted):
        await attempt.budget.reserve(call_of(1))
    with pytest.raises(BudgetExhausted):
        await (await harness.attempt(most_tokens=100)).budget.reserve(call_of(1))
    await (await harness.attempt(most_tokens=101)).budget.reserve(call_of(1))


async def test_an_unknown_price_is_refused_under_a_limit_of_money(harness: Harness) -> None:
    attempt = await harness.attempt(most_usd="1")
    with pytest.raises(PriceUnknown, match="groq:small"):
        await attempt.budget.reserve(call_of(10, None))
    assert await (await harness.attempt(most_tokens=10)).budget.reserve(call_of(10, None))


async def test_a_cancelled_job_starts_no_call(harness: Harness) -> None:
    attempt = await harness.attempt()
    await attempt.cancel.check()
    await harness.cancel()
    with pytest.raises(Stopped):
        await attempt.cancel.check()


async def test_each_message_is_read_in_order(harness: Harness) -> None:
    held = await harness.attempt()
    assert await held.messages.after(0) == []
    await harness.send("one")
    await asyncio.sleep(FRESH_SECONDS)
    assert await held.messages.after(0) == [UserMessage(1, "ann", "one")]
    await harness.send("two")
    await harness.send("three")
    later = await harness.attempt()
    both = await asyncio.gather(later.messages.after(1), later.messages.after(1))
    assert [[message.text for message in messages] for messages in both] == [["two", "three"]] * 2
    assert await later.messages.after(3) == []


async def test_a_second_workspace_over_the_same_bytes_is_independent(harness: Harness) -> None:
    workspace = (await harness.attempt()).workspace
    await workspace.apply({"a": b"1", "b": b"2"})
    before = workspace.digest
    fork = workspace.fork()
    await fork.apply({"a": b"of the other"}, frozenset({"b"}))
    assert (workspace.digest, (await workspace.tree()).files) == (before, {"a": b"1", "b": b"2"})
    assert ((await fork.tree()).files, dict(fork.list())) == ({"a": b"of the other"}, {"a": 12})
    await workspace.checkout(fork.digest)
    assert (await workspace.tree()).files == {"a": b"of the other"}
    await fork.checkout(None)
    assert (fork.digest, (await fork.tree()).files) == (None, {})


async def test_changes_replace_files(harness: Harness) -> None:
    workspace = (await harness.attempt()).workspace
    await workspace.apply({"b.txt": b"b", "a.txt": b"a", "gone.txt": b"x"})
    png, lie = b"\x89PNG\r\n\x1a\n", b"a text"
    changed = {"plots/a.png": png, "b.txt": b"bb", "lie.png": lie}
    artifacts = await workspace.apply(changed, frozenset({"gone.txt"}))
    described = {item.name: (item.digest, item.size, item.media_type) for item in artifacts}
    assert described == {
        "plots/a.png": (digest(png), 8, "image/png"),
        "b.txt": (digest(b"bb"), 2, "text/plain"),
        "lie.png": (digest(lie), 6, "text/plain"),  # by its bytes, not by its name
    }
    sizes = [("a.txt", 1), ("b.txt", 2), ("lie.png", 6), ("plots/a.png", 8)]
    assert list(workspace.list().items()) == sizes
    assert await workspace.read("b.txt") == b"bb"
    assert await workspace.read("gone.txt") is None
    files = {"a.txt": b"a", "b.txt": b"bb", "lie.png": lie, "plots/a.png": png}
    assert dict((await workspace.tree()).files) == files
    assert set(workspace.changed()) == set(files)


async def test_links_and_modes_are_stored(harness: Harness) -> None:
    workspace = (await harness.attempt()).workspace
    script, text = b"#!/bin/sh\n", b"text"
    await workspace.apply(
        {"run.sh": script, "plain.sh": script, "tool": text, "a.txt": text},
        executable={"run.sh": True, "plain.sh": False, "tool": True, "a.txt": False},
        links={"link": "a.txt", "out": "/etc"},
    )
    tree = await workspace.tree()
    assert (tree.executable, tree.links) == (
        {"plain.sh": False, "tool": True},
        {"link": "a.txt", "out": "/etc"},
    )
    assert (dict(workspace.links()), set(workspace.submodules())) == (tree.links, set())
    assert list(workspace.leaving_links({"new": "/etc"}, ())) == []
    assert set(workspace.list()) == {"run.sh", "plain.sh", "tool", "a.txt"}
    assert set(workspace.changed()) == {*workspace.list(), "link", "out"}
    assert await workspace.read("link") is None
    versions = await workspace.manifest(workspace.digest)
    assert (versions["link"].target, versions["tool"].executable) == ("a.txt", True)
    await workspace.apply({"tool": b"more", "link": b"a file"}, frozenset({"out"}))
    again = await workspace.tree()
    assert (again.executable, again.links) == ({"plain.sh": False, "tool": True}, {})
    await workspace.apply({"tool": b"more", "plain.sh": script}, executable={"tool": None})
    assert (await workspace.tree()).executable == {"plain.sh": False}
    await workspace.apply({}, links={"tool": "a.txt"})
    assert "tool" not in workspace.list()


async def test_the_same_files_have_the_same_digest(harness: Harness) -> None:
    workspace = (await harness.attempt()).workspace
    await workspace.apply({"a": b"1", "b": b"2"})
    before = workspace.digest
    await workspace.apply({"b": b"3"})
    assert workspace.digest != before
    await workspace.apply({"b": b"2"})
    assert workspace.digest == before is not None


LONG = "a" * 100_000


@pytest.mark.parametrize(
    "path",
    ["", ".", "/etc/passwd", "../a", "a/../../b", "a//b", "a\x00b", LONG, f"{LONG}\0", f"/{LONG}"],
    ids=lambda path: repr(path)[-20:],
)
async def test_a_path_cannot_leave(harness: Harness, path: str) -> None:
    workspace = (await harness.attempt()).workspace
    with pytest.raises(PathOutside) as refused:
        await workspace.read(path)
    assert len(str(refused.value)) < 250
    with pytest.raises(PathOutside):
        await workspace.apply({"fine.txt": b"", path: b""})
    assert dict(workspace.list()) == {}
