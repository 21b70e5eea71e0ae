"""The errors of agents. An infrastructure error is never shown to the model as its own failure.

AgentsError
├── Stopped                the job was cancelled, or the attempt lost its lease: write nothing more
├── BudgetExhausted        the job may not spend more
│   └── PriceUnknown       the limit is in money, and no price of the model is known
├── StateUnreadable        a checkpoint or journal entry cannot be read: a person decides
├── ToolRefused            a tool cannot do the request; the model reads the text
│   └── PathOutside        a path that no workspace can hold
└── ModelError             the errors of models
    ├── ModelNameInvalid       a text is not a model's name
    ├── ModelNotConfigured     no key, no such recording: the operator has to set something
    ├── ModelRefused           the provider refuses the request for good: key, request, length
    │   └── ContextExceeded    the request is longer than the model's context: a shorter one may fit
    ├── ModelUnavailable       the provider is down, broken or too busy: a retry may work
    │   └── ModelSilent        no token came within a time limit: a longer wait may work
    ├── ReplyCut               Fettle cut a slow reply: the same request would be cut again
    ├── ReplyUnusable          the reply is not an answer: another model may answer
    └── RecordingMismatch      a recording has no answer for a request
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final

from langchain_core.messages import AIMessage
from pydantic import ValidationError

_MOST_FAULTS = 5


class AgentsError(Exception):
    """The root of this package's errors."""


class Stopped(AgentsError):
    """No new call may start for this job in this process."""


class BudgetExhausted(AgentsError):
    """The job's budget is used up."""


class PriceUnknown(BudgetExhausted):
    """A cost limit cannot be enforced for a model without a known price."""


class StateUnreadable(AgentsError):
    """Stored bytes of a job are damaged, or hold a type that Fettle does not read. The text names
    the place and the cause."""


class ToolRefused(AgentsError):
    """A tool cannot do the model's request. The model reads the text, which is short and names the
    remedy."""


class PathOutside(ToolRefused):
    """A path that could leave the workspace, or that it cannot hold."""


class ErrorKind(StrEnum):
    """The cause of an error, by the provider's message first, and by its status second.

    See ADR 77.
    """

    REQUEST = "request"
    """The request itself is not accepted."""
    POLICY = "policy"
    """The provider's content policy blocks the request, or the model declines to answer."""
    TOO_LONG = "too_long"
    """The request is longer than the model's context."""
    TOO_LARGE = "too_large"
    """The request has too many bytes, or more tokens than the account may send in a minute."""
    KEY = "key"
    ACCESS = "access"
    """The key is valid, and may not use this model."""
    CREDIT = "credit"
    ACCOUNT = "account"
    """The account is disabled, or the provider does not serve its region."""
    MODEL = "model"
    """The model does not exist, or no longer."""
    TOOLS = "tools"
    """The model cannot call tools, or its server was started without a parser for them."""
    ADDRESS = "address"
    """Something other than a model's server answers: a redirect, a web page, an unknown path."""
    CERTIFICATE = "certificate"
    NO_SERVER = "no_server"
    """There is no connection: nothing listens, no such host, no route."""
    RATE = "rate"
    """Too many requests or tokens for now."""
    QUOTA = "quota"
    """The quota of the day is used up."""
    OVERLOADED = "overloaded"
    """The provider has an error of its own, or no capacity."""
    REPLY = "reply"
    """Silence, a cut, or a reply that cannot be read."""


class ModelError(AgentsError):
    """The root of the errors of models."""


class ModelNameInvalid(ModelError, ValueError):
    """A text that is not a model's name."""


class ModelNotConfigured(ModelError):
    """This deployment cannot call this model; the message names what to set."""


class ModelRefused(ModelError):
    """The provider refused the request for good. `status` is its HTTP status, if there is one;
    `details` is its error object as JSON, or its whole answer."""

    usual_kind: ClassVar = ErrorKind.REQUEST

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: ErrorKind | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind or self.usual_kind
        self.details = details or {}


class ContextExceeded(ModelRefused):
    """The request was refused for its length alone: TOO_LONG or TOO_LARGE."""

    usual_kind = ErrorKind.TOO_LONG


class ModelUnavailable(ModelError):
    """No usable reply for now: down, 5xx, 429, timeout, cut connection, unreadable body.

    `retry_after_seconds` is when the provider wants to be called again, if it said so; `providers`
    are those that were asked. `unproven`: no reply has come from the address so far, so the address
    may be wrong, and the job is tried again a few times only.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: ErrorKind = ErrorKind.REPLY,
        retry_after_seconds: float | None = None,
        providers: tuple[str, ...] = (),
        unproven: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.unproven = unproven
        self.retry_after_seconds = retry_after_seconds
        self.providers = providers


class ModelSilent(ModelUnavailable):
    """No token came within a time limit. `tokens`: the estimated number of tokens before that."""

    def __init__(self, message: str, *, tokens: int = 0) -> None:
        super().__init__(message)
        self.tokens = tokens


class ReplyCut(ModelError):
    """Fettle cut a reply at a time limit while it came. It is not asked for again, because the same
    request would be cut again; another model may be faster.

    See ADR 75.
    """


class ReplyUnusable(ModelError):
    """The model's reply is no answer: it is empty, has a bad ending or an invalid tool call.

    The message completes the sentence "The reply ...". `text` is the model's text, and `reply`
    the reply with its usage; None if the provider withheld the reply. The same model is
    asked once more, then the next model. `transient`: the server broke off, so the job may try
    again later; otherwise the model made a mistake, which it would repeat. `advice` is for the
    operator.

    See ADR 76.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        reply: AIMessage | None = None,
        transient: bool = False,
        advice: str = "",
    ) -> None:
        super().__init__(message)
        self.text = text
        self.reply = reply
        self.transient = transient
        self.advice = advice


class RecordingMismatch(ModelError):
    """The job differs from the recording. The message shows role, request and diff."""


OF_THE_REQUEST: Final = frozenset(
    {ErrorKind.REQUEST, ErrorKind.POLICY, ErrorKind.TOO_LONG, ErrorKind.TOO_LARGE}
)
"""The kinds of refusals that concern the request. Other kinds concern the provider, the account or
the deployment."""


def another_may_answer(error: ModelError) -> bool:
    """Whether the same request may go to another model.

    It may not if the request itself was refused: a request that one provider blocks is not sent to
    the next provider.
    """
    if isinstance(error, ModelRefused):
        return error.kind not in OF_THE_REQUEST
    return isinstance(error, ModelUnavailable | ModelNotConfigured | ReplyUnusable | ReplyCut)


def describe_validation(error: ValidationError) -> str:
    """`steps.0.title: Field required; ...`: for a model or an operator to correct."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    texts = [
        f"{'.'.join(map(str, fault['loc'])) or 'the value'}: {fault['msg']}"
        for fault in faults[:_MOST_FAULTS]
    ]
    more = len(faults) - len(texts)
    return "; ".join([*texts, *([f"and {more} more"] if more else [])])


def with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its cause, the cause of its cause, and so on."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__
