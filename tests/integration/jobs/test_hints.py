"""Hints over a real broker: order, limits, and a broker that is unavailable or hangs."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import closing
from functools import partial

import pytest
import redis
from kombu import Queue
from support.servers import redis_servers

from jobs.model.spec import Priority
from jobs.queue import hints
from jobs.queue.hints import PRIORITIES, Hints, celery_app, hint_list

BINARY = next(iter(redis_servers.binaries().values()))


def consume(url: str, most: int) -> list[str]:
    """The messages that a consumer receives if it takes one message at a time."""
    received: list[str] = []
    app = celery_app(url)
    with app.connection_for_read() as connection, connection.channel() as channel:
        channel.basic_qos(0, 1, False)

        def take(body, message):
            received.append(body[0][0])
            message.ack()

        with app.amqp.Consumer(channel, [Queue(hints.QUEUE)], callbacks=[take], accept=["json"]):
            while len(received) < most:
                connection.drain_events(timeout=30)
    return received


def waiting(client: redis.Redis) -> int:
    return sum(client.llen(hint_list(priority)) for priority in Priority)


def until(condition, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


@pytest.fixture
def broker(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        yield client


def test_urgent_hints_come_first_and_equal_priorities_in_order(redis_url, broker):
    with closing(Hints(redis_url)) as sender:
        for number in range(3):
            for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH):
                sender.send(f"{priority}{number}", priority)
        until(lambda: waiting(broker) == 9)
    assert [broker.llen(hint_list(priority)) for priority in Priority] == [3, 3, 3]
    order = [f"{p}{n}" for p in (Priority.HIGH, Priority.NORMAL, Priority.LOW) for n in range(3)]
    assert consume(redis_url, 9) == order
    assert waiting(broker) == 0


def test_tenants_take_turns_within_a_priority(redis_url, broker):
    with closing(Hints(redis_url)) as sender:
        for number in range(100):
            sender.send(f"big{number}", Priority.NORMAL, "big")
        for number in range(2):
            sender.send(f"small{number}", Priority.NORMAL, "small")
            sender.send(f"other{number}", Priority.NORMAL, "other")
        sender.send("urgent", Priority.HIGH, "big")
        until(lambda: waiting(broker) == 105)
    turns = hints.JobPicker(redis_url)
    steps = [PRIORITIES[priority] for priority in (Priority.HIGH, *[Priority.NORMAL] * 7)]
    assert [turns.pick("own", step) for step in steps] == [
        *("urgent", "big0", "small0", "other0", "big1", "small1", "other1", "big2"),
    ]
    for number in range(3, 100):
        assert turns.pick("own", PRIORITIES[Priority.NORMAL]) == f"big{number}"
    assert turns.pick("own", PRIORITIES[Priority.NORMAL]) == "own"
    assert broker.keys("fettle:ready:*") == []


def test_a_job_with_a_second_hint_keeps_its_position(redis_url, broker):
    with closing(Hints(redis_url)) as sender:
        for job_id in ("first", "second", "first"):
            sender.send(job_id, Priority.LOW, "t")
        until(lambda: waiting(broker) == 3)
    turns, low = hints.JobPicker(redis_url), PRIORITIES[Priority.LOW]
    assert [turns.pick("first", low) for _ in range(3)] == ["first", "second", "first"]


def test_a_hint_means_its_own_job_if_the_broker_has_no_index(tmp_path):
    turns = hints.JobPicker(f"unix://{tmp_path}/nobody")
    assert turns.pick("own", PRIORITIES[Priority.HIGH]) == "own"
    assert turns.pick("own", None) == "own"


def test_lists_stay_limited_and_an_urgent_hint_is_still_accepted(redis_url, broker):
    broker.lpush(hint_list(Priority.NORMAL), *["{}"] * hints.MAX_IN_BROKER)
    with closing(Hints(redis_url)) as sender:
        for number in range(20):
            sender.send(str(number), Priority.NORMAL)
        sender.send("urgent", Priority.HIGH)
        until(lambda: broker.llen(hint_list(Priority.HIGH)) == 1)
    assert broker.llen(hint_list(Priority.NORMAL)) == hints.MAX_IN_BROKER


def test_a_broker_is_used_again_after_an_outage(tmp_path):
    port = free_port()
    args = ("--port", str(port), "--bind", "127.0.0.1")
    url = f"redis://127.0.0.1:{port}/0"
    with closing(Hints(url)) as sender:
        sender.send("nobody is there yet", Priority.NORMAL)
        for number in range(2):
            with redis_servers.start(BINARY, tmp_path, *args), redis.Redis.from_url(url) as client:
                client.flushall()
                sender.send("lost with the old connection", Priority.HIGH)
                sender.send(str(number), Priority.HIGH)
                until(partial(waiting, client))


def test_a_hanging_broker_delays_only_the_sender(tmp_path):
    with redis_servers.start(BINARY, tmp_path, tcp=True) as server:
        sender = Hints(server.url)
        with redis.Redis.from_url(server.url) as client:
            sender.send("x", Priority.NORMAL)
            until(lambda: waiting(client) == 1)
            os.kill(server.process.pid, signal.SIGSTOP)
            started = time.monotonic()
            for number in range(hints.MAX_UNSENT + 10):
                sender.send(str(number), Priority.NORMAL)
            assert time.monotonic() - started < 20, "each would wait 2 s for an answer"
            time.sleep(2.2)
            os.kill(server.process.pid, signal.SIGCONT)
            until(lambda: waiting(client) > 100)
        started = time.monotonic()
        sender.close(0.2)
        assert time.monotonic() - started < 10


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
