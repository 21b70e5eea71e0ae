"""In-memory implementations of the ports, for tests and for a graph without a service.

They pass the same contract tests as the worker's. `MemoryRecord` is what survives a crash; the
ports over it belong to one attempt.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from agents.attempt import Ports
from agents.errors import BudgetExhausted, PriceUnknown, Stopped
from agents.models.role_models import RoleModels
from agents.paths import normalize_path
from agents.ports import Artifact, Charge, Event, Finished, Version
from agents.ports.messages import UserMessage
from agents.ports.repository import Patch
from agents.ports.spending import MaxSpend
from agents.tree import Tree
from sandbox.paths import is_program
from sandbox.protocol import Sandbox


@dataclass(slots=True)
class MemoryRecord:
    """What is on record of one job."""

    outcomes: dict[str, bytes] = field(default_factory=dict)
    events: dict[tuple[str, str], Event] = field(default_factory=dict)
    charges: dict[str, Charge] = field(default_factory=dict)
    reserved: dict[str, MaxSpend] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    messages: list[UserMessage] = field(default_factory=list)
    workspace: str | None = None

    def add_event(self, event: Event) -> None:
        """Append an event, unless it is known."""
        self.events.setdefault((event.key.key(), event.kind), event)

    def post(self, charge: Charge) -> None:
        """Post a charge once, and settle its reservation as far as its cost is known."""
        self.charges.setdefault(charge.call, charge)
        reservation = self.reserved.pop(charge.reservation or "", None)
        if reservation is not None:
            tokens = 0 if charge.input_tokens + charge.output_tokens else reservation.tokens
            cost = reservation.cost_usd if charge.cost_usd is None else Decimal(0)
            self.reserved[charge.reservation or ""] = MaxSpend(reservation.model, tokens, cost)

    @property
    def tokens(self) -> int:
        """The usage of all model calls, and the reserved amounts."""
        used = sum(charge.input_tokens + charge.output_tokens for charge in self.charges.values())
        return used + sum(most.tokens for most in self.reserved.values())

    @property
    def cost_usd(self) -> Decimal:
        """The cost of all model calls, and the reserved cost; unknown prices do not count."""
        paid = sum((Decimal(charge.cost_usd or 0) for charge in self.charges.values()), Decimal(0))
        return paid + sum((most.cost_usd or 0 for most in self.reserved.values()), Decimal(0))


class MemoryJournal:
    """Journal over a record."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def recall(self, key: str) -> bytes | None:
        """See `agents.ports.Journal`."""
        return self._record.outcomes.get(key)

    async def record(self, key: str, finished: Finished) -> None:
        """See `agents.ports.Journal`; the first record of a key stays."""
        if key in self._record.outcomes:
            return
        self._record.outcomes[key] = finished.outcome
        for event in finished.events:
            self._record.add_event(event)
        if finished.charge is not None:
            self._record.post(finished.charge)
        self._record.workspace = finished.workspace or self._record.workspace

    async def paid(self, charge: Charge) -> None:
        """See `agents.ports.Journal`."""
        self._record.post(charge)


class MemoryEvents:
    """Events over a record."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def emit(self, event: Event) -> None:
        """See `agents.ports.Events`."""
        self._record.add_event(event)


class MemoryBudget:
    """Budget over a record; None means no limit."""

    def __init__(
        self, record: MemoryRecord, most: int | None = None, cost_usd: Decimal | None = None
    ) -> None:
        self._record = record
        self._most = most
        self._cost_usd = cost_usd

    async def reserve(self, most: Callable[[], MaxSpend]) -> str | None:
        """See `agents.ports.spending.Budget`."""
        if self._most is None and self._cost_usd is None:
            return None
        max_spend = most()
        if self._cost_usd is not None and max_spend.cost_usd is None:
            raise PriceUnknown(f"no price is known for {max_spend.model}")
        if self._most is not None and self._record.tokens + max_spend.tokens > self._most:
            raise BudgetExhausted(f"{self._record.tokens} of {self._most} tokens are spent")
        cost = self._record.cost_usd + (max_spend.cost_usd or 0)
        if self._cost_usd is not None and cost > self._cost_usd:
            raise BudgetExhausted(f"${self._record.cost_usd} of ${self._cost_usd} are spent")
        name = secrets.token_hex(8)
        self._record.reserved[name] = max_spend
        return name

    async def release(self, reservation: str) -> None:
        """See `agents.ports.spending.Budget`."""
        self._record.reserved.pop(reservation, None)


@dataclass(slots=True)
class MemoryCancel:
    """Cancel that a test sets."""

    cancelled: bool = False

    async def check(self) -> None:
        """See `agents.ports.Cancel`."""
        if self.cancelled:
            raise Stopped("the job was cancelled")


class MemoryMessages:
    """UserMessages over a record."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def after(self, number: int) -> Sequence[UserMessage]:
        """See `agents.ports.messages`."""
        return self._record.messages[number:]


class MemoryWorkspace:
    """Workspace over a record's blobs, as the record's last finished call left it.

    `files` are the files of a new job.
    """

    def __init__(self, record: MemoryRecord, files: Mapping[str, bytes] | None = None) -> None:
        self._record = record
        self._manifest: dict[str, Version] = {}
        self._digest = record.workspace
        if record.workspace is not None:
            self._manifest = self._loaded(record.workspace)
        elif files:
            self._write(files, frozenset(), {}, {})

    @property
    def digest(self) -> str | None:
        """See `agents.ports.Workspace`."""
        return self._digest

    def list(self) -> Mapping[str, int]:
        """See `agents.ports.Workspace`."""
        return {path: len(content) for path, content in sorted(self._files().items())}

    def links(self) -> Mapping[str, str]:
        """See `agents.ports.Workspace`."""
        entries = self._manifest.items()
        return {path: entry.target for path, entry in entries if entry.target is not None}

    def submodules(self) -> Collection[str]:
        """See `agents.ports.Workspace`: there is no repository."""
        return ()

    def submodule_files(self) -> Mapping[str, int]:
        """See `agents.ports.Workspace`: there is no repository."""
        return {}

    def lfs_pointers(self) -> Collection[str]:
        """See `agents.ports.Workspace`: there is no repository."""
        return ()

    def leaving_links(self, links: Mapping[str, str], replaced: Collection[str]) -> Collection[str]:  # noqa: ARG002
        """See `agents.ports.Workspace`: there is no repository."""
        return ()

    async def read(self, path: str) -> bytes | None:
        """See `agents.ports.Workspace`."""
        return self._files().get(normalize_path(path))

    def changed(self) -> Collection[str]:
        """See `agents.ports.Workspace`."""
        return self._manifest.keys()

    async def ignored(self, files: Mapping[str, bytes]) -> frozenset[str]:  # noqa: ARG002
        """See `agents.ports.Workspace`: there is no repository."""
        return frozenset()

    async def tree(self) -> Tree:
        """See `agents.ports.Workspace`."""
        entries = self._manifest.items()
        modes = {path: entry.executable for path, entry in entries if entry.executable is not None}
        return Tree(self._files(), executable=modes, links=self.links())

    async def original(self, path: str) -> bytes | None:  # noqa: ARG002
        """See `agents.ports.Workspace`: there is no repository."""
        return None

    async def patch(self) -> Patch | None:
        """See `agents.ports.Workspace`: there is no repository."""
        return None

    async def apply(
        self,
        changed: Mapping[str, bytes],
        deleted: frozenset[str] = frozenset(),
        *,
        executable: Mapping[str, bool | None] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> Sequence[Artifact]:
        """See `agents.ports.Workspace`."""
        contents = {normalize_path(path): content for path, content in changed.items()}
        return self._write(contents, deleted, executable or {}, links or {})

    async def keep(self, content: bytes) -> str:
        """See `agents.ports.Workspace`."""
        return self._put(content)

    async def stored(self, digest: str) -> bytes:
        """See `agents.ports.Workspace`."""
        return self._record.blobs[digest]

    async def manifest(self, digest: str | None) -> Mapping[str, Version]:
        """See `agents.ports.Workspace`."""
        return self._loaded(digest) if digest else {}

    async def version(self, path: str) -> Version | None:
        """See `agents.ports.Workspace`."""
        return self._manifest.get(path)

    def fork(self) -> MemoryWorkspace:
        """See `agents.ports.Workspace`."""
        copy = MemoryWorkspace(self._record)
        copy._manifest, copy._digest = dict(self._manifest), self._digest
        return copy

    async def checkout(self, digest: str | None) -> None:
        """See `agents.ports.Workspace`."""
        self._manifest = self._loaded(digest) if digest else {}
        self._digest = digest

    def _loaded(self, digest: str) -> dict[str, Version]:
        plain = json.loads(self._record.blobs[digest])
        return {path: Version(*fields) for path, fields in plain.items()}

    def _files(self) -> dict[str, bytes]:
        blobs, entries = self._record.blobs, self._manifest.items()
        return {path: blobs[entry.digest] for path, entry in entries if entry.target is None}

    def _write(
        self,
        changed: Mapping[str, bytes],
        deleted: frozenset[str],
        executable: Mapping[str, bool | None],
        links: Mapping[str, str],
    ) -> Sequence[Artifact]:
        for path in deleted:
            self._manifest.pop(path, None)
        artifacts = []
        for path, content in changed.items():
            digest, old = self._put(content), self._manifest.get(path)
            mode = executable.get(path, old.executable if old else None)
            self._manifest[path] = Version(digest, None if mode == is_program(content) else mode)
            artifacts.append(Artifact.of(path, digest, content))
        for path, target in links.items():
            self._manifest[path] = Version("", target=target)
        self._digest = self._put(json.dumps(self._manifest, sort_keys=True).encode())
        return artifacts

    def _put(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self._record.blobs[digest] = content
        return digest


def ports_over(record: MemoryRecord, sandbox: Sandbox, models: RoleModels) -> Ports:
    """All ports of an attempt over a record, without any limits."""
    return Ports(
        journal=MemoryJournal(record),
        events=MemoryEvents(record),
        budget=MemoryBudget(record),
        cancel=MemoryCancel(),
        messages=MemoryMessages(record),
        workspace=MemoryWorkspace(record),
        sandbox=sandbox,
        models=models,
    )
