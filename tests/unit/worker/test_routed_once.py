"""A job is routed once, also where an approved upgrade has begun it anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.graph.graphs import PlannedSandbox
from support.jobs.job_examples import JobService

from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.models.router import Routes
from agents.ports.memory import MemoryRecord, ports_over
from jobs.model.events import NewEvent
from jobs.store import Writes
from jobs.store.redis_store import RedisStore
from worker.adapters.routing import routed


async def test_an_upgrade_does_not_choose_again(tmp_path: Path, redis_store: RedisStore) -> None:
    job = await JobService(redis_store).running(task="Print hello world", model="auto")
    events = [NewEvent("r", "routed", {"difficulty": "hard"}), NewEvent("b", "begun_anew", {})]
    await redis_store.write(job.id, job.epoch, Writes(events=events))
    record = MemoryRecord()
    pool = ModelPool(ModelOptions(recordings=tmp_path))
    models = RoleModels.alone(pool, "groq:default")
    ports = ports_over(record, PlannedSandbox({}), models)
    routes = Routes({"simple": ("groq:small",), "hard": ("groq:large",)})
    got = await routed(replace(job, attempts=2), ports, models, redis_store, routes)
    assert got.models.name("executor") == "groq:large"
    assert record.events == {}
