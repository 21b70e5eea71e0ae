"""One job of many tool calls through the graph, and its requests' tokens."""

from __future__ import annotations

from dataclasses import replace

from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, ports_over
from agents.graph.outcome import read_outcome
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from agents.runs.helper import describe
from lab.benchmarks.tokens import script
from lab.benchmarks.tokens.counted import Sent
from lab.provider import ProviderServer
from sandbox.protocol import Limits, Sandbox


async def sent(sandbox: Sandbox, calls: int, *, context: int) -> Sent:
    """The tokens of the requests to a model with a context of this size."""
    with ProviderServer(script.answer) as server:
        options = ModelOptions({"groq": "none"}, {"groq": server.groq_url}, context_tokens=context)
        pool = ModelPool(options)
        models = RoleModels.alone(pool, script.model(calls))
        ports = replace(
            ports_over(MemoryRecord(), sandbox, models),
            bounds=Bounds(steps=2 * calls),
            environment=await describe(sandbox, Limits()),
        )
        try:
            state = await build(None).ainvoke(
                initial_state(job_fields("Work through the measurements.")), context=ports
            )
        finally:
            await pool.aclose()
    assert read_outcome(state).approved, "the job took another course"
    (critic,) = [request for request in server.requests if "Verdict" in request.tools]
    requests = [
        request
        for request in server.requests
        if request.forced_tool is None and request is not critic
    ]
    assert len(requests) == calls + 1, len(requests)
    return Sent.of(requests, critic)
