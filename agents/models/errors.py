"""The errors of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage
from pydantic import ValidationError

from agents.errors import AgentsError

_SHOWN_FAULTS = 5


class ModelError(AgentsError):
    """The root of the errors of models.

    ModelError
    ├── ModelNameInvalid       a text is not a model's name
    ├── ModelNotConfigured     no key, no such recording: the operator has to set something
    ├── ModelRefused           the provider refuses the request for good: key, request, length
    │   └── ContextExceeded    the request is longer than the model's context: a shorter one may fit
    ├── ModelUnavailable       the provider is down, broken or too busy: a retry may work
    ├── ReplyUnusable          the model replied, but not with an answer: another model may
    └── RecordingMismatch      a recording has no answer for a request
    """


class ModelNameInvalid(ModelError, ValueError):
    """A text that is not a model's name."""


class ModelNotConfigured(ModelError):
    """This deployment cannot call this model; the message names what to set."""


class ModelRefused(ModelError):
    """The provider refused the request for good. `status` is its HTTP status, if there is one;
    `details` is its error object as JSON, or its whole answer."""

    def __init__(
        self, message: str, *, status: int | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.details = details or {}


class ContextExceeded(ModelRefused):
    """The request was refused for its length alone."""


class ModelUnavailable(ModelError):
    """No usable reply for now: down, 5xx, 429, timeout, cut connection, unreadable body.

    `retry_after_seconds` is when the provider wants to be called again, if it said so; `providers`
    are those that were asked.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        providers: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.providers = providers


class ReplyUnusable(ModelError):
    """The model's reply is no answer: it is empty, has a bad ending or an invalid tool call.

    The message completes the sentence "The reply ...". `text` is what the model wrote, and `reply`
    the reply itself with its usage; None if the provider withheld the reply. The same model is
    asked once more, then the next model. `transient`: the server broke off, so the job may try
    again later; otherwise the model made a mistake, which it would repeat.

    Why: docs/decisions/0076-endings-that-count.md
    """

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        reply: AIMessage | None = None,
        transient: bool = False,
    ) -> None:
        super().__init__(message)
        self.text = text
        self.reply = reply
        self.transient = transient


class RecordingMismatch(ModelError):
    """The job differs from the recording. The message shows role, request and diff."""


# About the account or the model, not the request: no credit, no access, no such model.
_OF_THE_PROVIDER = frozenset({401, 402, 403, 404})


def another_may_answer(error: ModelError) -> bool:
    """Whether the same request may go to another model.

    Not if the request itself was refused: what one provider blocks is not sent to the next.
    """
    if isinstance(error, ModelRefused):
        return error.status in _OF_THE_PROVIDER
    return isinstance(error, ModelUnavailable | ModelNotConfigured | ReplyUnusable)


def describe_validation(error: ValidationError) -> str:
    """`steps.0.title: Field required; ...`: for a model or an operator to correct."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, fault['loc'])) or 'the value'}: {fault['msg']}"
        for fault in faults[:_SHOWN_FAULTS]
    ]
    more = len(faults) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])


def with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__
