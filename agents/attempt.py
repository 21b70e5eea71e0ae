"""Ports: everything that one attempt at a job passes to the graph, and the order of its calls."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.messages import ToolMessage

from agents.models.call_context import TokenListener
from agents.models.role_models import RoleModels
from agents.paths import write_objection
from agents.ports import Bounds, Cancel, Events, Journal, TextMerge, Workspace
from agents.ports.checks import Checks
from agents.ports.environment import SandboxEnvironment
from agents.ports.messages import UserMessages
from agents.ports.network import Pages
from agents.ports.repository import RepositoryFacts
from agents.ports.spending import Budget
from agents.ports.tool_servers import ToolServers
from agents.redaction import Redaction
from agents.spending.pricing import Prices
from sandbox.protocol import Limits, Sandbox


class ToolCallSequencer:
    """Runs the tool calls of each reply one at a time, in the order of the reply. They are graph
    tasks, and LangGraph promises no order in which tasks start.

    If a call fails, the calls that wait for it fail with its exception. Otherwise a later call
    would be made before the graph stops, and so before the failed call, which is tried again.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[str, int], asyncio.Event] = {}
        self._failure: BaseException | None = None
        self._answers: defaultdict[str, list[ToolMessage]] = defaultdict(list)

    def add_answer(self, reply: str, answer: ToolMessage) -> None:
        """A call of `reply` was answered, now or before a crash."""
        self._answers[reply].append(answer)

    def answers(self, reply: str) -> Sequence[ToolMessage]:
        """The answers to the calls of `reply` so far, which the state of the pass lacks until all
        are answered. The same after a crash, because calls are made or recalled in order."""
        return tuple(self._answers[reply])

    @asynccontextmanager
    async def of(self, reply: str, index: int = 0) -> AsyncIterator[None]:
        """Wait until the calls before `index` (from 0) of `reply` have ended."""
        end = self._end(reply, index)
        try:
            if index > 0:
                await self._end(reply, index - 1).wait()
            if self._failure is not None:
                raise self._failure  # noqa: TRY301 - the failure is another call's
            yield
        except BaseException as failure:
            self._failure = failure
            raise
        finally:
            end.set()

    def _end(self, reply: str, index: int) -> asyncio.Event:
        return self._ends.setdefault((reply, index), asyncio.Event())


class BranchCoordinator:
    """A branch that fails waits for the others before it raises. LangGraph cancels the tasks
    parallel to a failed one, and the model calls in them are already paid for."""

    def __init__(self) -> None:
        self._at_work: dict[int, asyncio.Event] = {}

    @asynccontextmanager
    async def branch(self, step: int) -> AsyncIterator[None]:
        """Run the branch of a step. A branch that is cancelled from outside does not wait."""
        branch_end = self._at_work[step] = asyncio.Event()
        try:
            yield
        except Exception:
            self._leave(step, branch_end)
            for running_branch_end in list(self._at_work.values()):
                await running_branch_end.wait()
            raise
        finally:
            self._leave(step, branch_end)

    def _leave(self, step: int, branch_end: asyncio.Event) -> None:
        self._at_work.pop(step, None)
        branch_end.set()


class TokenStreams(Protocol):
    """Streams of replies for clients that watch a job. The streams are not stored."""

    def of(self, call: str, role: str) -> TokenListener:
        """The listener of one call."""
        ...


class RunOutputs(Protocol):
    """The output of runs for clients that watch a job, while the runs go on. It is not stored."""

    def follow(
        self, run: str, tool: str, command: str
    ) -> AbstractContextManager[Callable[[str], None]]:
        """Within the block, the run goes on. The function takes the last lines of its output so
        far; it does not wait or raise. `command` is one line."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything that one attempt passes to the graph: LangGraph's runtime context."""

    journal: Journal
    events: Events
    budget: Budget
    cancel: Cancel
    workspace: Workspace
    sandbox: Sandbox
    models: RoleModels
    limits: Limits = field(default_factory=Limits)
    environment: SandboxEnvironment = field(default_factory=SandboxEnvironment)
    bounds: Bounds = field(default_factory=Bounds)
    sequencer: ToolCallSequencer = field(default_factory=ToolCallSequencer)
    """Orders the tool calls: one at a time uses the workspace."""
    coordinator: BranchCoordinator = field(default_factory=BranchCoordinator)
    """Coordinates the parallel branches of the attempt."""
    unanswered: dict[str, float] = field(default_factory=dict)
    """The model calls of the attempt that were cut off without a reply: seconds by model."""
    last_try: bool = False
    """After this attempt, an infrastructure error is final."""
    prices: Prices = field(default_factory=Prices)
    messages: UserMessages | None = None
    """The messages of persons to the job. None: it takes none."""
    pages: Pages | None = None
    """Used by the tool `fetch`. None if the operator does not allow it."""
    tool_servers: ToolServers | None = None
    """The operator's MCP servers. None: the operator has configured no servers."""
    repository: RepositoryFacts | None = None
    """The facts of the job's repository; None if it has no repository."""
    checks: Checks | None = None
    """The job's acceptance checks. They run over copies and are never put into its workspace."""
    redaction: Redaction | None = None
    """Removes secrets from the job's recording; None: it is not recorded."""
    merge_texts: TextMerge | None = None
    """Merges the changes of parallel steps in one file. None: such changes conflict."""
    tokens: TokenStreams | None = None
    """Receives the models' replies while they are streamed."""
    outputs: RunOutputs | None = None
    """Receives the output of the job's runs while they go on."""

    def write_objection(self, new: Mapping[str, int]) -> str | None:
        """The reason if the workspace cannot take the `new` files (sizes by path), or None."""
        has_repository = self.repository is not None
        return write_objection(self.workspace, new, self.limits, has_repository=has_repository)
