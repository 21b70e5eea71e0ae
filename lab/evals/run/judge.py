"""`python -m lab.evals.run.judge P:M`: the judge's process, see `lab.evals.run.judging`.

A line of stdin is work to judge, {task, answer, files, run}. A line of stdout is the judgement,
{score, reason, model, input_tokens, output_tokens, cost_usd}, or {error}.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import jinja2
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from agents.errors import ModelError
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from agents.models.replies.structured import ask
from agents.ports.spending import Usage
from agents.spending.pricing import Prices
from settings.worker import WorkerSettings
from worker.context import model_options

TRIES = 2
PROMPTS = Path(__file__).parent / "prompts"


class Score(BaseModel):
    """The judgement of the work."""

    score: Literal[0, 1, 2, 3]
    reason: str = Field(description="one or two sentences: the deciding points")


async def judged(model: BaseChatModel, name: ModelName, work: Mapping[str, Any]) -> dict[str, Any]:
    """The model's score of `work`, or an error; the cost includes invalid replies."""
    messages = [
        SystemMessage(_render("judge_system")),
        HumanMessage(_render("judge_evidence", **work)),
    ]
    replies: list[AIMessage] = []
    error = ""
    for _ in range(TRIES):
        try:
            answer = await ask(model, messages, Score)
        except ModelError as failure:
            return {"error": str(failure)}
        replies.append(answer.message)
        if answer.value is not None:
            return {**answer.value.model_dump(), "model": str(name), **_spent(name, replies)}
        error = answer.error or ""
    return {"error": f"its reply was invalid: {error}"}


def _spent(name: ModelName, replies: list[AIMessage]) -> dict[str, Any]:
    used = [Usage.of(reply) for reply in replies]
    prices = [Prices().of(name, usage) for usage in used]
    known_prices = [amount for amount in prices if amount is not None]
    return {
        "input_tokens": sum(usage.input_tokens for usage in used if usage),
        "output_tokens": sum(usage.output_tokens for usage in used if usage),
        "cost_usd": f"{sum(known_prices):f}" if len(known_prices) == len(prices) else None,
    }


def _render(prompt: str, **values: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROMPTS),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - a prompt is no page
    )
    return environment.get_template(f"{prompt}.md.j2").render(**values)


async def main(written: str) -> None:
    """Answer each line of stdin, until it ends."""
    name = ModelName.parse(written)
    pool = ModelPool(model_options(WorkerSettings()))
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                reply = await judged(pool.get(name, "critic"), name, json.loads(line))
            except ModelError as failure:
                reply = {"error": str(failure)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
    finally:
        await pool.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
