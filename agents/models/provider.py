"""ProviderModel: a provider's chat model with Fettle's retries and Fettle's errors."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast
from uuid import uuid4

import httpx
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from typing_extensions import override

from agents.errors import (
    ErrorKind,
    ModelError,
    ModelSilent,
    ModelUnavailable,
    ReplyCut,
    ReplyUnusable,
)
from agents.models.call_context import CallContext, TokenListener, calling
from agents.models.capabilities.server import (
    AGAIN_SECONDS,
    FRESH_SECONDS,
    ModelListing,
    ModelServer,
)
from agents.models.error_mapping.describe import describe_error
from agents.models.error_mapping.mapping import classify, error_from_transport
from agents.models.providers import PROVIDERS
from agents.models.providers.kind import SettingNamer
from agents.models.replies.arguments import Schema
from agents.models.replies.fields import fields_of
from agents.models.replies.history import history_for
from agents.models.replies.reading import ask_again, read_reply, read_withheld
from agents.models.token_bounds import OutputLimit, estimated_usage, max_usage
from agents.models.transport.time_limits import RequestSize, RetryPolicy
from agents.ports.spending import LostReply, Meter, ModelRateLimit, RequestGuard, Usage
from agents.redaction import Redaction


@dataclass(frozen=True, slots=True)
class _Conversation:
    """The conversation, the options for the client (tools, how one is forced), and the schemas of
    the arguments of the offered tools."""

    messages: Sequence[BaseMessage]
    options: Mapping[str, Any]
    offered: Mapping[str, Schema]


class ProviderModel(BaseChatModel):
    """Wraps a provider's model; built by `build`, called with `ainvoke`.

    The clients' own retries are off, because they differ in important ways (measured with
    `lab.provider`): groq's honours Retry-After but has no total bound; google-genai's
    ignores Retry-After and gives up at the first cut connection; openrouter's retries for an hour.

    Raises ModelUnavailable after all retries, ModelRefused and ReplyCut at once. Its connections
    belong to the event loop that first uses it; `aclose` closes them.
    """

    inner: BaseChatModel
    http: httpx.AsyncClient
    retry_policy: RetryPolicy
    full_name: str
    name_setting: SettingNamer
    """Names the settings of the provider in errors."""
    output_limit: OutputLimit
    known_context: int | None
    """Tokens of a request with its reply, by the model's library and the settings; None: not
    known."""
    server: ModelServer
    listing: ModelListing | None
    """Names the context that the server gives the model; None: the server is the provider's own,
    which the library knows."""
    rate_limit: ModelRateLimit
    meter: Meter
    redaction: Redaction
    caching: dict[str, Any]
    """Options for a request of a conversation. A forced tool means a single question, until the
    conversation has an answer of a tool."""
    guard: RequestGuard | None = None
    """Allows each request before it is sent, retries included; None: no limit. See `for_call`."""
    listener: TokenListener | None = None
    """Receives the reply while the model generates it. See `for_call`."""

    def for_call(
        self, *, guard: RequestGuard | None = None, listener: TokenListener | None = None
    ) -> ProviderModel:
        """This model for one call: the same connections, with the call's guard and listener."""
        return self.model_copy(update={"guard": guard, "listener": listener})

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offers tools in the shape that the provider needs.

        Some models cannot be forced to call a tool: the caller has to read any reply.
        """
        if (self.inner.profile or {}).get("tool_choice") is False:
            tool_choice = None
        bound = self.inner.bind_tools(tools, tool_choice=tool_choice, **kwargs)
        shaped = cast("RunnableBinding[LanguageModelInput, AIMessage]", bound).kwargs
        functions = [convert_to_openai_tool(tool)["function"] for tool in tools]
        offered = {function["name"]: function.get("parameters") or {} for function in functions}
        return self.bind(**shaped, offered=offered)

    @property
    def provider(self) -> str:
        """The provider's name, without its model's."""
        return self.full_name.partition(":")[0]

    @property
    def sees_images(self) -> bool:
        """Whether the model takes images, as far as its library knows."""
        return bool((self.inner.profile or {}).get("image_inputs"))

    @property
    def cuts(self) -> bool:
        """Whether it silently cuts a request that is longer than its context."""
        return PROVIDERS[self.provider].context is not None

    @property
    def context(self) -> int | None:
        """Tokens of a request with its reply; None: not known. See `learn_context`."""
        return min(filter(None, (self.known_context, self.server.served_context)), default=None)

    @property
    def most_output(self) -> int:
        """The limit on output tokens of a request."""
        return self.output_limit.within(self.context)

    async def learn_context(self, *, refused: bool = False) -> None:
        """Read the context that the server names in its list of models, or has named in a refusal.
        The list is read if the last one is old; `refused`: if it is not quite new, because the
        server refused a request for its length."""
        if self.listing is not None:
            await self.listing.refresh(AGAIN_SECONDS if refused else FRESH_SECONDS)
        listed = self.listing.context if self.listing else None
        await self.server.learn_context(listed)

    @property
    def server_error(self) -> str | None:
        """The reason, with advice, if no server answered when its list was read last."""
        if self.listing is None or self.listing.error is None:
            return None
        url = httpx.URL(self.listing.urls[0])
        error = error_from_transport(self.listing.error, url, proven=False)
        return None if error is None else self._describe(error)

    @property
    def most_input(self) -> int | None:
        """The most tokens of a request: the context without the reply."""
        return None if self.context is None else self.context - self.most_output

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.http.aclose()

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        offered: Mapping[str, Schema] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await self.learn_context()
        single = "tool_choice" in kwargs and not any(
            isinstance(message, ToolMessage) for message in messages
        )
        options = kwargs if single else {**self.caching, **kwargs}
        if stop:
            options = {**options, "stop": stop}
        request = _Conversation(history_for(self.full_name, messages), options, offered or {})
        try:
            return await self._with_retries(request)
        except ReplyUnusable as error:
            again = ask_again(request.messages, error, request.offered)
        try:
            return await self._with_retries(replace(request, messages=again))
        except ReplyUnusable as error:
            raise self._no_answer(error) from error

    async def _with_retries(self, request: _Conversation) -> ChatResult:
        """The first reply, if the provider is unavailable for a moment only."""
        guard = self.guard
        spent = 0.0
        tries = 0
        messages, output = request.messages, self.most_output
        size = RequestSize(estimated_usage(messages, 0), output)
        while True:
            tries += 1
            await self.rate_limit.wait(self.full_name, estimated_usage(messages, output))
            allowed = output
            if guard is not None:
                bound = partial(max_usage, self.full_name, messages, request.options)
                allowed = await guard.before(bound, output)
            seconds_left = self.retry_policy.total_seconds * size.reading - spent
            bounds = replace(size, within=seconds_left, output_tokens=allowed)
            call = CallContext(self.listener, bounds)
            asked_at = time.monotonic()
            try:
                result = await self._try(call, request)
            except ModelError as error:
                seconds = time.monotonic() - asked_at
                self.meter.record(self.provider, seconds, error)
                if guard is not None:
                    await guard.failed(error, _lost(call, error))
                if not isinstance(error, ModelUnavailable):
                    raise
                spent += 0.0 if call.has_begun else seconds
                pause = await self._pause(error, tries, spent)
                if isinstance(error, ModelSilent):
                    size = replace(size, patience=2 * size.patience)
            except asyncio.CancelledError:
                if guard is not None:
                    await guard.cut(_lost(call))
                raise
            else:
                self.meter.record(self.provider, time.monotonic() - asked_at, None)
                return result
            spent += pause
            await asyncio.sleep(pause)

    async def _pause(self, error: ModelUnavailable, tries: int, spent: float) -> float:
        """Seconds to wait before the next try. Raises the error of the call if no try is left."""
        error.providers = (self.provider,)
        if error.kind is ErrorKind.RATE and error.retry_after_seconds:
            await self.rate_limit.hold(self.full_name, error.retry_after_seconds)
        jitter = random.random()  # noqa: S311 - jitter
        pause = self.retry_policy.wait(error, tries=tries, spent=spent, jitter=jitter)
        if pause is not None:
            return pause
        error.add_note(f"{self.full_name}: {tries} tries in {spent:.1f} s")
        if isinstance(error, ModelSilent) and error.tokens and tries > 1:
            raise ReplyCut(str(error)) from error
        raise error

    def _describe(self, error: ModelError) -> str:
        return describe_error(error, self.full_name, self.name_setting)

    def _no_answer(self, error: ReplyUnusable) -> ModelError:
        """The error after a second reply that is no answer."""
        message = f"{self.full_name}: two replies in a row are no answer: the last one {error}"
        if error.advice:
            message = f"{message}; {error.advice}"
        message = self.redaction.text(message)
        if error.transient:
            return ModelUnavailable(message, status=200, providers=(self.provider,))
        return ReplyUnusable(message, text=error.text, reply=error.reply)

    async def _try(self, call: CallContext, request: _Conversation) -> ChatResult:
        """One request, with any error mapped to Fettle's."""
        try:
            replies = (reply for reply in request.messages if isinstance(reply, AIMessage))
            call.history = [fields_of(reply) for reply in replies]
            if call.listener is not None:
                call.listener.begin()
            with calling(call):
                result = await self.inner._agenerate(  # noqa: SLF001 - LangChain has no public one
                    list(request.messages), **request.options
                )
            message = read_reply(result, call.fields, self.full_name, request.offered)
        except Exception as raised:
            error = classify(raised)
            if error is None and call.delivered:
                error = ModelUnavailable(f"unreadable reply: {raised!r}", status=200)
            if error is None:
                raise
            if isinstance(error, ReplyUnusable):  # its text is for the model, too
                withheld = read_withheld(error, request.offered)
                if withheld is not None:
                    return ChatResult(generations=[ChatGeneration(message=withheld)])
            else:
                # A provider may repeat a header that holds a secret.
                error.args = (self.redaction.text(self._describe(error)),)
            if error is raised:
                raise
            raise error from raised
        return ChatResult(
            generations=[ChatGeneration(message=message)], llm_output=result.llm_output
        )

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise TypeError(f"{self.full_name} is asked with ainvoke, not invoke")

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return self.inner._get_ls_params(stop=stop, **kwargs)  # noqa: SLF001

    @property
    def _llm_type(self) -> str:
        return "fettle-provider"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.full_name, **dict(self.inner._identifying_params)}  # noqa: SLF001


def _lost(call: CallContext, error: ModelError | None = None) -> LostReply:
    """What is known of the reply of a request that failed.

    An unusable reply gets an id, because its text may still be read, and charged, as an answer.
    """
    usage = call.usage and Usage(*call.usage)
    reply = error.reply if isinstance(error, ReplyUnusable) else None
    if reply is None:
        return LostReply(usage, call.received)
    reply.id = reply.id or f"lc_run--{uuid4()}"
    return LostReply(usage or Usage.of(reply), max(call.received, 1), reply.id)
