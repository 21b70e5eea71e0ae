"""One model call over a chain of providers: the model that answers, the charge and the event."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from support.graph.graphs import PlannedSandbox

from agents.attempt import Ports
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Messages
from agents.errors import ErrorKind, ModelRefused, ModelUnavailable, ReplyUnusable
from agents.graph.memory_ports import MemoryBudget, MemoryRecord, ports_over
from agents.models.call_context import TokenListener
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from agents.models.streams import Chunk
from agents.ports import CallKey, Role
from lab.provider import (
    Cut,
    Garbled,
    Hang,
    ProviderServer,
    Raw,
    Refusal,
    Reply,
    Tokens,
    Turn,
    always,
)

FIRST, SECOND = "groq:llama-3.3-70b-versatile", "google_genai:gemini-2.5-flash"
BIG = "groq:openai/gpt-oss-120b"
AT = CallKey("ns", "node", 0)


@dataclass
class Scene:
    ports: Ports
    record: MemoryRecord
    groq: ProviderServer
    gemini: ProviderServer

    async def ask(self, level: int = 0, text: str = "hi", role: Role = "executor") -> AIMessage:
        async def call(model: Any, messages: Messages) -> AIMessage:
            return await model.ainvoke(messages)

        question = [HumanMessage(text)]
        return await model_call(self.ports, ModelCall(role, AT, question, level=level), call)

    @property
    def data(self) -> dict[str, Any]:
        (event,) = self.record.events.values()
        return dict(event.data)


@contextmanager
def scene(groq: Sequence[Turn], gemini: Sequence[Turn], key: str = "key") -> Iterator[Scene]:
    """A chain of Groq and Gemini, each with its own server, and with one try per call."""
    with ExitStack() as open_:
        first = open_.enter_context(ProviderServer(groq))
        second = open_.enter_context(ProviderServer(gemini))
        pool = ModelPool(
            ModelOptions(
                api_keys={"groq": key, "google_genai": "key"},
                base_urls={"groq": first.groq_url, "google_genai": second.gemini_url},
                max_retries=0,
            )
        )
        chains = Chains((FIRST, SECOND), stronger={"executor": (BIG,)})
        record = MemoryRecord()
        ports = ports_over(record, PlannedSandbox({}), RoleModels(pool, chains))
        yield Scene(ports, record, first, second)


async def test_the_first_model_answers_if_it_is_available() -> None:
    with scene([Reply("yes")], []) as chain:
        assert (await chain.ask()).text == "yes"
    assert (chain.data["model"], "fell_back_from" in chain.data) == (FIRST, False)


@pytest.mark.parametrize(
    "fault",
    [
        Refusal(503),
        Refusal(429, retry_after=900),
        Cut(),
        Garbled(),
        Garbled('{"choices": [{"index": 0}]}'),
        Refusal(401),
        Refusal(404),
    ],
    ids=["503", "429", "cut", "garbled", "misshapen", "no key", "no such model"],
)
async def test_the_next_model_answers_and_is_charged(fault: Turn) -> None:
    with scene([fault], [Reply("yes")]) as chain:
        assert (await chain.ask()).text == "yes"
    (charge,) = chain.record.charges.values()
    assert charge.model == chain.data["model"] == SECOND
    assert charge.cost_usd is not None
    (over,) = chain.data["fell_back_from"]
    assert over["model"] == FIRST
    assert over["reason"]


@pytest.mark.parametrize("role", ["planner", "executor", "critic"])
@pytest.mark.parametrize(
    "fault",
    [
        Refusal(400, "Your credit balance is too low to access the Anthropic API."),
        Refusal(400, "API key not valid. Please pass a valid API key."),
        Refusal(400, "User location is not supported for the API use."),
        Refusal(400, "The model `x` has been decommissioned and is no longer supported."),
        Refusal(400, "This organization has been disabled."),
        Refusal(400, "gemma:2b does not support tools"),
        Refusal(429, "Billing hard limit reached", fields={"code": "billing_hard_limit_reached"}),
        Raw([b'{"detail":"Not Found"}'], status=404),
        Raw([b""], status=302, headers={"location": "/login"}),
        Raw([b"<html><title>Sign in</title></html>"], "text/html"),
    ],
    ids=["credit", "key", "region", "model", "account", "tools", "limit", "path", "login", "page"],
)
async def test_a_refusal_that_is_not_about_the_request_makes_the_fallback_answer_in_every_role(
    role: Role, fault: Turn
) -> None:
    with scene([fault], [Reply("yes")]) as chain:
        assert (await chain.ask(role=role)).text == "yes"
        assert len(chain.groq.requests) == 1
    (over,) = chain.data["fell_back_from"]
    assert over["model"] == FIRST


async def test_the_error_of_a_chain_keeps_its_cause() -> None:
    """Two accounts without credit: the job fails, and no later try would change that."""
    poor = Refusal(400, "Your credit balance is too low")
    with scene([poor], [poor]) as chain, pytest.raises(ModelRefused) as caught:
        await chain.ask()
    assert (caught.value.kind, caught.value.status) == (ErrorKind.CREDIT, 400)
    assert "none of 2 models answered" in str(caught.value)


async def test_addresses_that_may_be_wrong_are_tried_again_a_few_times_only() -> None:
    page = Raw([b"<html><title>Sign in</title></html>"], "text/html")
    with scene([page], [page]) as chain, pytest.raises(ModelUnavailable) as caught:
        await chain.ask()
    assert caught.value.unproven
    with scene([page], [Refusal(503)]) as chain, pytest.raises(ModelUnavailable) as caught:
        await chain.ask()
    assert not caught.value.unproven


async def test_an_unavailable_model_is_skipped_by_the_next_call() -> None:
    with scene([Refusal(503)], [Reply("one"), Reply("two")]) as chain:
        await chain.ask(text="1")
        assert (await chain.ask(text="2")).text == "two"
        assert len(chain.groq.requests) == 1


async def test_if_all_models_are_unavailable_the_call_is_unavailable() -> None:
    with scene([Refusal(503, "no room")] * 2, [Refusal(503, "no room")] * 2) as chain:
        for _ in range(2):  # they are asked again, though both were away a moment ago
            with pytest.raises(ModelUnavailable, match="none of 2 models answered") as caught:
                await chain.ask()
        assert (len(chain.groq.requests), len(chain.gemini.requests)) == (2, 2)
    assert FIRST in str(caught.value)
    assert SECOND in str(caught.value)
    assert chain.record.outcomes == chain.record.charges == chain.record.events == {}


async def test_if_all_models_ask_for_a_wait_the_shortest_wait_counts() -> None:
    busy = [[Refusal(429, retry_after=seconds)] for seconds in (60, 30)]
    with scene(*busy) as chain, pytest.raises(ModelUnavailable) as caught:
        await chain.ask()
    assert caught.value.retry_after_seconds == 30
    assert caught.value.providers == ("groq", "google_genai")


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refused_request_is_not_sent_to_the_next_model(status: int) -> None:
    with scene([Refusal(status)], [Reply("yes")]) as chain:
        with pytest.raises(ModelRefused):
            await chain.ask()
        assert chain.gemini.requests == []


KEPT_BACK = Refusal(400, fields={"code": "tool_use_failed", "failed_generation": "<x>"})


@pytest.mark.parametrize("unusable", [KEPT_BACK, Reply(""), Reply(" \u200b\n")])
async def test_a_model_that_gives_no_answer_twice_is_followed_by_the_next(unusable: Turn) -> None:
    with scene([unusable, unusable], [Reply("yes")]) as chain:
        assert (await chain.ask()).text == "yes"
        assert len(chain.groq.requests) == 2
    (over,) = chain.data["fell_back_from"]
    assert over["model"] == FIRST
    assert "two replies in a row are no answer" in over["reason"]


async def test_if_no_model_gives_an_answer_the_call_fails_with_the_reasons() -> None:
    with scene([Reply("")] * 4, [Reply("", thoughts="Hm.")] * 4) as chain:
        for _ in range(2):  # such a model is available, so that the next call asks it again
            with pytest.raises(ReplyUnusable, match="none of 2 models answered") as caught:
                await chain.ask()
        assert (len(chain.groq.requests), len(chain.gemini.requests)) == (4, 4)
    assert f"{FIRST}: two replies in a row are no answer: the last one is empty" in str(
        caught.value
    )
    assert "has thoughts, and no answer" in str(caught.value)


async def test_at_a_higher_level_the_stronger_model_answers_with_the_role_s_model_as_fallback() -> (
    None
):
    with scene([Reply("strong")], []) as chain:
        assert (await chain.ask(level=1)).text == "strong"
    assert chain.data["model"] == BIG
    with scene(always(Refusal(503)), [Reply("yes")]) as chain:
        await chain.ask(level=7)
    assert [skipped["model"] for skipped in chain.data["fell_back_from"]] == [BIG, FIRST]


@pytest.mark.parametrize("status", [401, 400])
async def test_a_chain_with_an_unavailable_model_may_answer_later(status: int) -> None:
    """Either the model is called again in this call, or it is skipped because it did not answer the
    last one.
    """
    with scene([Refusal(503)], [Reply("one"), Refusal(status)]) as chain:
        await chain.ask(text="1")
        with pytest.raises(ModelUnavailable, match="none of 2 models answered"):
            await chain.ask(text="2")
        assert len(chain.groq.requests) == 1
    with scene([Refusal(503)], [Refusal(status)]) as chain, pytest.raises(ModelUnavailable):
        await chain.ask()


TALK = "so far so good " * 20


async def test_a_reply_that_is_cancelled_while_it_arrives_is_charged() -> None:
    """For example by the job's deadline. The usage of such a reply is not known."""
    with scene([Hang(after=Reply(TALK))], []) as chain:
        heard = asyncio.Event()
        chain.ports = replace(chain.ports, tokens=Heard(heard))
        asking = asyncio.create_task(chain.ask())
        async with asyncio.timeout(20):
            await heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    (charge,) = chain.record.charges.values()
    assert (charge.model, charge.role, charge.cost_usd) == (FIRST, "executor", None)
    assert (charge.input_tokens, charge.output_tokens) == (0, 0)


class Heard:
    """Tokens and TokenListener: sets an event at the first token."""

    def __init__(self, heard: asyncio.Event) -> None:
        self._heard = heard

    def of(self, call: str, role: str) -> TokenListener:
        return self

    def begin(self) -> None:
        """Does not count tries, because there is only one."""

    def receive(self, chunks: Sequence[Chunk]) -> None:
        if chunks:
            self._heard.set()

    def end(self) -> None:
        """Has no effect in this test."""


async def test_a_cut_reply_is_charged_and_stays_reserved() -> None:
    with scene([Cut(Reply(TALK))], [Reply("yes")]) as chain:
        chain.ports = replace(chain.ports, budget=MemoryBudget(chain.record, most=1_000_000))
        await chain.ask()
    cut, answer = chain.record.charges.values()
    assert (cut.model, cut.output_tokens, answer.model) == (FIRST, 0, SECOND)
    assert [most.model for most in chain.record.reserved.values() if most.tokens] == [FIRST]


async def test_a_reply_that_is_refused_settles_its_reservation() -> None:
    with scene([Reply(refusal="No.", tokens=Tokens(1_000, 20))], []) as chain:
        chain.ports = replace(chain.ports, budget=MemoryBudget(chain.record, most=1_000_000))
        with pytest.raises(ModelRefused):
            await chain.ask(role="planner")
    (charge,) = chain.record.charges.values()
    assert (charge.input_tokens, charge.output_tokens, charge.role) == (1_000, 20, "planner")
    assert charge.cost_usd is not None
    assert not any(most.tokens for most in chain.record.reserved.values())
