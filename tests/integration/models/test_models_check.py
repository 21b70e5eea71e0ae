"""A check of several models: what one of them answers is no trouble of the others'."""

from __future__ import annotations

from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.spending.pricing import Prices
from benchmarks.provider import Garbled, ProviderServer, Reply, Request, Turn
from worker.background.model_check import check

GOOD, ODD = "groq:llama-3.3-70b-versatile", "groq:odd"


def script(request: Request) -> Turn:
    return Garbled('{"choices": [{"index": 0}]}') if request.model == "odd" else Reply("ready")


async def test_a_reply_of_another_shape_is_told_of_its_model_alone() -> None:
    with ProviderServer(script) as server:
        pool = ModelPool(ModelOptions({"groq": "key"}, {"groq": server.groq_url}))
        odd, good = await check(pool, Prices(), [ODD, GOOD])
        await pool.aclose()
    assert (odd["name"], odd["ok"]) == (ODD, False)
    assert odd["error"].startswith(f"{ODD}: unreadable reply")
    assert (good["name"], good["ok"]) == (GOOD, True)
