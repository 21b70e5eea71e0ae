"""Row: one quirk of a server, and the expected end of a small job on this server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from support.quirks.quirk import Quirk
from support.quirks.server import ANSWER, CODE, Model, competent

from agents.graph.memory_ports import MemoryRecord
from agents.ports import Charge
from lab.provider import Request
from lab.provider.request import Wire


@dataclass(frozen=True)
class End:
    """How a job may end. `states` are `succeeded`, `fails` (for good) and `waits` (a worker tries
    the job again later). Unless the job succeeded, its message must contain `words` and must not
    contain `without`. The comparison ignores case.
    """

    states: tuple[str, ...]
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def but_not(self, *words: str) -> End:
        """The same end, with words that must not be in its message."""
        return replace(self, without=(*self.without, *words))


SUCCEEDED = End(("succeeded",))


def fails(*words: str) -> End:
    """The job fails at once, with these words in its message."""
    return End(("fails",), words)


def waits(*words: str) -> End:
    """The job waits to be tried again, with these words in its message."""
    return End(("waits",), words)


def does_not_succeed(*words: str) -> End:
    """The job fails or waits, with these words in its message."""
    return End(("fails", "waits"), words)


def succeeds_or_fails(*words: str) -> End:
    """The job succeeds, or fails with these words in its message."""
    return End(("succeeded", "fails"), words)


@dataclass(frozen=True)
class Ran:
    """The observed result of a job. `message` is empty if the job succeeded. `programs` are the
    programs that ran. `requests` are the requests to the row's server, `to_stand_in` those to its
    stand-in.
    """

    state: str
    message: str
    answer: str
    programs: Sequence[str]
    requests: Sequence[Request]
    to_stand_in: Sequence[Request]
    record: MemoryRecord
    seconds: float

    def charges(self) -> Sequence[Charge]:
        """The charges of the job's model calls."""
        return list(self.record.charges.values())

    def events(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """The data of the job's events of a kind."""
        return [event.data for event in self.record.events.values() if event.kind == kind]


Check = Callable[[Ran], object]


def _true(ran: Ran) -> bool:
    return True


@dataclass(frozen=True)
class Row:
    """A server with `quirks` around `model`, and the end of a job on this server."""

    title: str
    wire: Wire
    name: str
    """The configured model."""
    quirks: Sequence[Quirk]
    end: End = SUCCEEDED
    model: Model = competent
    """By default a model that does its job."""
    stand_in: Sequence[Quirk] | None = None
    """The quirks of a second server, with the next model of the chain; None: no second server."""
    stand_in_name: str = "groq:llama-3.3-70b-versatile"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `ModelOptions`."""
    address: str | None = None
    """Another base URL for `name`; `{url}` in it is the server's URL (`{tls_url}` with https)."""
    most_requests: int = 12
    answer: str = ANSWER
    """The answer of the job if it succeeds."""
    programs: Sequence[str] = (CODE,)
    """The programs that the job has run if it succeeds."""
    plan: str = "model"
    """The source of the plan: `model`, or `default` if the planner's reply could not be read."""
    attempts: int = 1
    """The number of times that a worker tries the job."""
    strict: bool = True
    """Whether the server checks ids and names (`support.quirks.strict`)."""
    check: Check = _true
    """A further condition that the job must fulfil."""
    listed: Any = None
    """The server's list of models (`GET /v1/models`)."""

    @property
    def id(self) -> str:
        """The name of the row in reports."""
        return f"{self.wire}: {self.title}"


def _of(wire: Wire, name: str) -> Callable[..., Row]:
    def row(title: str, *quirks: Quirk, name: str = name, **more: Any) -> Row:
        return Row(title, wire, name, quirks, **more)

    return row


openai = _of("openai", "compatible:some-model")
"""A row of OpenAI's wire format: `openai("its title", quirk, quirk, end=..., ...)`."""
anthropic = _of("anthropic", "anthropic:claude-haiku-4-5")
gemini = _of("gemini", "google_genai:gemini-2.5-flash")
ollama = _of("ollama", "ollama:qwen3:8b")
WIRES = (openai, anthropic, gemini, ollama)


def on_all(title: str, *quirks: Quirk, **more: Any) -> list[Row]:
    """The same row for all four wire formats."""
    return [row(title, *quirks, **more) for row in WIRES]
