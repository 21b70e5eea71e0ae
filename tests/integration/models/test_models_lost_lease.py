"""A model call that waits until its job belongs to another attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from support.graph.graphs import PlannedSandbox
from support.processes.deployment import ok
from support.servers import redis_servers

from agents.attempt import Ports
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Messages
from agents.errors import Stopped
from agents.graph.memory_ports import MemoryCancel, MemoryRecord, ports_over
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import CallKey
from agents.ports.spending import ModelRateLimit, NoLimit
from jobs.budgets import Cap
from jobs.errors import StaleEpoch
from jobs.model.record import Cause
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submission
from jobs.store import LeaseRef
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Policy
from lab.drills.chaos.faults.tcp_proxy import FaultProxy
from lab.provider import ProviderServer, Refusal, Reply, Request, Turn
from worker.adapters.budget import AccountBudget, CachedDayLimits
from worker.adapters.rate_limit import RedisRateLimit
from worker.ledger import FRESH_SECONDS, AttemptWriter, Ledger, RecordCheck
from worker.store import Patience

MODEL = "groq:llama-3.3-70b-versatile"


@dataclass
class Gate:
    """A rate limit around another: it reports a waiting call, and lets the call continue on
    request.
    """

    limit: ModelRateLimit
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, model: str, tokens: int) -> None:
        self.reached.set()
        await self.opened.wait()
        await self.limit.wait(model, tokens)

    async def hold(self, model: str, seconds: float) -> None:
        await self.limit.hold(model, seconds)


def asking(server: ProviderServer, limit: ModelRateLimit) -> Ports:
    """Ports in memory, with a real client of the provider."""
    options = ModelOptions({"groq": "a"}, {"groq": server.groq_url})
    models = RoleModels.alone(ModelPool(options, limit), MODEL)
    return ports_over(MemoryRecord(), PlannedSandbox({}), models)


async def call(ports: Ports) -> AIMessage:
    async def ask(model: Any, sent: Messages) -> AIMessage:
        reply: AIMessage = await model.ainvoke(sent)
        return reply

    question = [HumanMessage("What is 6 times 7?")]
    return await model_call(ports, ModelCall("executor", CallKey("", "n", 0), question), ask)


@pytest.fixture
def network(tmp_path: Path) -> Iterator[tuple[str, FaultProxy]]:
    """A Redis, and a separate network in front of it."""
    binary = next(iter(redis_servers.binaries().values()))
    with (
        redis_servers.start(binary, tmp_path / "redis", tcp=True) as server,
        FaultProxy("127.0.0.1", redis_servers.port_of(server)) as proxy,
    ):
        yield server.url, proxy


@pytest.mark.invariant("J13")
@pytest.mark.parametrize("most_tokens", [None, 100_000])
async def test_no_call_is_made_after_the_lease_went_to_another_attempt(
    network: tuple[str, FaultProxy], most_tokens: int | None
) -> None:
    """Between the check and the request, the connections to Redis are reset and the lease
    is lost.
    """
    url, proxy = network
    first_store = RedisStore(connect(url, seconds=20))
    second_store = RedisStore(connect(f"redis://127.0.0.1:{proxy.port}/0", seconds=20))
    operations = Operations(first_store, lambda *_: None, Policy(lease_ms=60_000))
    submitted = await operations.submit("default", JobSpec("count"), by="test")
    assert isinstance(submitted, Submission)
    job_id = submitted.record.id
    lease = LeaseRef(job_id, ok(await operations.claim(job_id, "worker-1")).epoch)
    writer = AttemptWriter(second_store, lease, Patience(30))
    ledger = Ledger(writer, {})
    unlimited = CachedDayLimits(Credentials(first_store.redis), Patience(30), Cap(), Cap())
    gate = Gate(RedisRateLimit(second_store.redis, {}, Patience(30), 60.0))
    with ProviderServer([Reply("42")]) as server:
        ports = replace(
            asking(server, gate),
            journal=ledger,
            events=ledger,
            budget=AccountBudget(
                second_store, ledger, Cap(None, most_tokens), "", "default", unlimited
            ),
            cancel=RecordCheck(second_store, writer),
        )
        calling = asyncio.create_task(call(ports))
        await gate.reached.wait()
        proxy.reset()
        ok(await operations.requeue(lease, "the test has another attempt", Cause.STOPPING))
        ok(await operations.claim(job_id, "worker-2"))
        await asyncio.sleep(FRESH_SECONDS)
        gate.opened.set()
        with pytest.raises(Stopped if most_tokens is None else StaleEpoch):
            await calling
        assert server.requests == []
    assert proxy.counters()["reset"] > 0
    await first_store.close()
    await second_store.close()


@pytest.mark.invariant("J11")
async def test_a_request_that_failed_is_not_sent_again_for_a_cancelled_job() -> None:
    cancel = MemoryCancel()

    def refuses(_: Request) -> Turn:
        cancel.cancelled = True
        return Refusal(503)

    with ProviderServer(refuses) as server:
        with pytest.raises(Stopped):
            await call(replace(asking(server, NoLimit()), cancel=cancel))
        assert len(server.requests) == 1
