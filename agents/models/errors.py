"""What can go wrong between Fettle and a model."""

from __future__ import annotations

from pydantic import ValidationError

from agents.errors import AgentsError


class ModelError(AgentsError):
    """The root of what models can raise.

    ModelError
    ├── ModelNameInvalid       no such way to name a model
    ├── ModelNotConfigured     no key, no such recording: the operator has something to set
    ├── ModelRefused           the provider says no, and will say so again: key, request, length
    │   └── ContextExceeded    the request is longer than the model's context: a shorter one may do
    ├── ModelUnavailable       the provider is away, broken or too busy: later it may work
    │   └── ReplyMalformed     the provider kept back a reply that was no valid tool call
    └── RecordingMismatch      a recording was asked what it has no answer for
    """


class ModelNameInvalid(ModelError, ValueError):
    """A text that names no model."""


class ModelNotConfigured(ModelError):
    """This deployment cannot ask this model; the message names what to set."""


class ModelRefused(ModelError):
    """The provider refused the request for good. `status` is its HTTP status, if it gave one."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ContextExceeded(ModelRefused):
    """The request was refused for its length alone.

    `limit` is how many tokens it may have, `used` how many it had, where the provider says so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        limit: int | None = None,
        used: int | None = None,
    ) -> None:
        super().__init__(message, status=status)
        self.limit = limit
        self.used = used


class ModelUnavailable(ModelError):
    """No usable reply for now: down, 5xx, 429, timeout, cut connection, unreadable body.

    `retry_after_seconds` is the provider's own word on when to come back, if it gave one.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class ReplyMalformed(ModelUnavailable):
    """The model wrote something that was no valid tool call. `said` is what it wrote.

    Groq answers such a generation with status 400, `tool_use_failed`: it is the model's fault and
    not the request's, and the next try may well be right.
    """

    def __init__(self, message: str, *, said: str) -> None:
        super().__init__(message, status=400)
        self.said = said


class RecordingMismatch(ModelError):
    """The job went another way than the recording. The message shows role, request and diff."""


# Of the account or the model, not of the request: no money, no access, no such model here.
_OF_THE_PROVIDER = frozenset({401, 402, 403, 404})


def another_may_answer(error: ModelError) -> bool:
    """Whether the same question may go to another model.

    Not where the request itself was refused: what one provider blocks is not carried to the next.
    A reply that was no valid tool call is for the one who asked to mend.
    """
    if isinstance(error, ModelRefused):
        return error.status in _OF_THE_PROVIDER
    if isinstance(error, ReplyMalformed):
        return False
    return isinstance(error, ModelUnavailable | ModelNotConfigured)


_SHOWN_FAULTS = 5


def describe_validation(error: ValidationError) -> str:
    """`steps.0.title: Field required; ...`: for a model or an operator to put right."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"
        for fault in faults[:_SHOWN_FAULTS]
    ]
    more = len(faults) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])
