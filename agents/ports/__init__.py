"""What the graph needs from outside. `worker` implements these over Redis; `ports.memory`
holds in-memory implementations, which pass the same contract tests.

A call that has finished is on record before the graph goes on: `Journal.record` keeps its outcome,
its events, its charge and the workspace it left in one atomic step, and `Journal.recall` gives the
outcome back after a crash, so that nothing is paid or run twice and no event is said twice (J12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.checks.checks import Checks
from agents.executor.tool_call_sequencer import ToolCallSequencer
from agents.models.errors import ModelUnavailable
from agents.models.listener import Listener
from agents.parallel.coordinator import BranchCoordinator
from agents.ports.network import Packages, Pages
from agents.recordings.redaction import Redaction
from agents.spending.budget import Budget
from agents.spending.pricing import Prices
from sandbox.protocol import Limits, Sandbox


@dataclass(frozen=True, slots=True)
class CallKey:
    """Where in the graph something happens: deterministic over crashes and workers.

    `namespace` is the checkpoint namespace, `node` the graph task's id, `ordinal` counts within it.
    """

    namespace: str
    node: str
    ordinal: int

    def key(self, suffix: str = "") -> str:
        """Its name on record."""
        return "|".join((self.namespace, self.node, str(self.ordinal), suffix)).rstrip("|")


@dataclass(frozen=True, slots=True)
class Event:
    """An event to be emitted: `kind` and `data` as `jobs.model.events` lists them."""

    key: CallKey
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Charge:
    """What one model call used. `cost_usd` is a decimal string, None where no price is known.

    `reservation` is what was set aside for it, and is settled by it.
    """

    call: str
    role: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: str | None
    cached_input_tokens: int = 0
    reservation: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished call: its outcome as bytes, and what came of it."""

    outcome: bytes
    events: Sequence[Event] = ()
    charge: Charge | None = None
    workspace: str | None = None


class Journal(Protocol):
    """Finished model calls and tool calls, by place and digest of their input."""

    async def recall(self, key: str) -> bytes | None:
        """The outcome of a call that finished before, or None."""
        ...

    async def record(self, key: str, finished: Finished) -> None:
        """Put a finished call on record, atomically with all that came of it."""
        ...

    async def paid(self, charge: Charge) -> None:
        """Post the charge of a call that will not be on record, as far as that can be done now."""
        ...


class Events(Protocol):
    """Events that belong to no call: a plan, a critique. They become visible in order."""

    async def emit(self, event: Event) -> None:
        """Append an event; a known key and kind is not appended again."""
        ...


class Cancel(Protocol):
    """Whether the job is still wanted, and still ours."""

    async def check(self) -> None:
        """Raises `agents.errors.Stopped` where no new call may start (J11)."""
        ...


@dataclass(frozen=True, slots=True)
class Artifact:
    """Named immutable bytes: digest is sha256, size in bytes."""

    name: str
    digest: str
    size: int
    media_type: str


class Workspace(Protocol):
    """The job's files. One writer at a time: tool calls take their `Ports.sequencer`.

    Nothing here is a path of the host; raises `agents.errors.PathOutside` for a name that no
    workspace can hold.
    """

    @property
    def digest(self) -> str | None:
        """The manifest's digest as it stands; None while there are no files."""
        ...

    def list(self) -> Mapping[str, int]:
        """Paths and sizes in bytes."""
        ...

    async def read(self, path: str) -> bytes | None:
        """A file's bytes, or None."""
        ...

    async def files(self) -> Mapping[str, bytes]:
        """All files with their bytes, to be laid into a room."""
        ...

    async def apply(
        self, changed: Mapping[str, bytes], deleted: frozenset[str] = frozenset()
    ) -> Sequence[Artifact]:
        """Lay changes over the files; returns an Artifact for each changed file."""
        ...

    async def keep(self, content: bytes) -> str:
        """Store bytes that are no file (a long output); returns their digest."""
        ...

    async def kept(self, digest: str) -> bytes:
        """The bytes of a digest that this workspace has given."""
        ...

    async def manifest(self, digest: str | None) -> Mapping[str, str]:
        """The files of the workspace as it was at `digest`: path to the digest of its bytes."""
        ...

    def fork(self) -> Workspace:
        """One over the same bytes, with the same files: what is done to either is done to it
        alone."""
        ...

    async def checkout(self, digest: str | None) -> None:
        """Have the files as they were at `digest`; None: no files."""
        ...


@dataclass(frozen=True, slots=True)
class Earlier:
    """A finished job of the conversation, for the planner."""

    task: str
    summary: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a job may go, and how much of a text is passed on. In characters, except `steps`.

    `steps` bounds the executor's model calls in one revision, or in one branch of it, and
    `max_parallel_steps` the plan's steps that run at the same time. `answer`, `output` and `read`
    bound what a model sees of an answer, of one output of a run, and of one read of a file.
    `history` bounds the old tool output that a request repeats, `conversation` the model's own text
    (`agents.context.trimming`; None: no bound). A text longer than `kept` is recorded by digest.
    Without `allow_repair` a revision ends with the reply whose code has run; with `pause_each_run`
    too, since a person is asked after each run. Without `use_planner` the default plan is used.
    With `summarize_with_model` the model of the role `summary` shortens a long answer.
    """

    steps: int = 25
    max_parallel_steps: int = 3
    answer: int = 3_000
    output: int = 4_000
    read: int = 20_000
    kept: int = 4_096
    history: int | None = 20_000
    conversation: int | None = 160_000
    allow_repair: bool = True
    pause_each_run: bool = False
    use_planner: bool = True
    summarize_with_model: bool = False


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything one attempt hands to the graph: LangGraph's runtime context."""

    journal: Journal
    events: Events
    budget: Budget
    cancel: Cancel
    workspace: Workspace
    sandbox: Sandbox
    models: Models
    limits: Limits = field(default_factory=Limits)
    bounds: Bounds = field(default_factory=Bounds)
    sequencer: ToolCallSequencer = field(default_factory=ToolCallSequencer)
    """Held by the tool call at work: tools touch the workspace one at a time."""
    coordinator: BranchCoordinator = field(default_factory=BranchCoordinator)
    """Where branches of the attempt wait for each other."""
    last_try: bool = False
    """The attempt after which infrastructure trouble is final."""
    prices: Prices = field(default_factory=Prices)
    pages: Pages | None = None
    packages: Packages | None = None
    """What `fetch` and `install` reach; None: the operator does not allow it."""
    checks: Checks | None = None
    """The acceptance checks that the job carries: laid over copies, never into its workspace."""
    redaction: Redaction | None = None
    """What takes secrets out of the job's recording; None: it is not recorded."""
    tokens: Tokens | None = None
    """Who hears what the models say while they speak."""


class Tokens(Protocol):
    """What is heard of replies while they come: unstored, for those who watch."""

    def of(self, call: str, role: str) -> Listener:
        """Who hears one call."""
        ...


class Models(Protocol):
    """Models by role, as the job and the operator want them.

    Roles are those of `agents.models.Role`. A `level` is a rung of the role's escalation chain: 0
    is the role's own model, each level above it a stronger one; what is beyond the last counts as
    the last.
    """

    def name(self, role: str, level: int = 0) -> str:
        """`provider:model` of the model that is to answer."""
        ...

    def chain(self, role: str, level: int = 0) -> Sequence[str]:
        """The same, and after it those that stand in where it is unavailable, in order."""
        ...

    def levels(self, role: str) -> int:
        """How many levels there are; at least 1."""
        ...

    def get(self, role: str, level: int = 0) -> Any:
        """The model called `name(role, level)` (a BaseChatModel), built once a process.

        Raises `agents.models.ModelNotConfigured`.
        """
        ...

    def named(self, name: str, role: str) -> Any:
        """The model with a name out of `chain`, for this role. Raises as `get` does."""
        ...

    def skip_reason(self, name: str) -> str | None:
        """Why a model is better passed over for now; None where it is not."""
        ...

    def note_unavailable(self, name: str, error: ModelUnavailable) -> None:
        """A model did not answer, for all our patience."""
        ...
