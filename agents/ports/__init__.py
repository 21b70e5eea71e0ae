"""The interfaces between the graph and its surroundings: protocols and dataclasses only.

`worker` implements the ports over Redis, and `agents.graph.memory_ports` in memory. Both pass the
same contract tests. `agents.attempt.Ports` has the ports of one attempt.

A finished call is on record before the graph continues: `Journal.record` stores its outcome, its
events, its charge and the workspace that it left in one atomic step. After a crash `Journal.recall`
returns the outcome: no call is paid or run twice, and no event is emitted twice (J12).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self

from agents.ports.repository import Patch
from agents.tree import Tree
from sandbox.media import media_type, read_description

Role = Literal["planner", "executor", "critic", "tester", "summary", "router"]
"""The purpose of a model call. Each role has its own chain of models."""


@dataclass(frozen=True, slots=True)
class CallKey:
    """The position of a call or an event in the graph: equal after a crash and in every worker."""

    namespace: str
    """The checkpoint namespace."""
    node: str
    """The id of the graph task."""
    ordinal: int
    """The number of the call or the event within the task."""

    def key(self, suffix: str = "") -> str:
        """The name in the journal: `namespace|node|ordinal|suffix`."""
        return "|".join((self.namespace, self.node, str(self.ordinal), suffix)).rstrip("|")


@dataclass(frozen=True, slots=True)
class Event:
    """An event to be emitted: `kind` and `data` as `jobs.model.events` lists them. `worker.ledger`
    stores it as `jobs.model.events.NewEvent`, with `key` as text."""

    key: CallKey
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Charge:
    """The usage and the cost of one model call. `worker.ledger` stores the same fields as
    `jobs.store.Charge`, because neither package imports the other."""

    call: str
    """Identifies the call: it is charged once, also if it is reported several times."""
    role: str
    model: str
    """`provider:model`."""
    input_tokens: int
    """0, like `output_tokens`, if the provider reported no usage."""
    output_tokens: int
    cost_usd: str | None
    """A decimal number; None if no price is known, or if the provider reported no usage."""
    cached_input_tokens: int = 0
    """A part of `input_tokens`."""
    reservation: str | None = None
    """The reservation of the budget that this charge settles."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished call, with its events and its charge."""

    outcome: bytes
    """The message, by `agents.calls.serializer`."""
    events: Sequence[Event] = ()
    charge: Charge | None = None
    workspace: str | None = None
    """The digest of the files after the call; None: the call changed no file."""


class Journal(Protocol):
    """Finished model and tool calls, by call key and digest of the input."""

    async def recall(self, key: str) -> bytes | None:
        """The outcome of a call that finished before, or None."""
        ...

    async def record(self, key: str, finished: Finished) -> None:
        """Record a finished call, atomically with everything that it caused."""
        ...

    async def paid(self, charge: Charge) -> None:
        """Post the charge of a call that will not be recorded, if that is still possible."""
        ...


class Events(Protocol):
    """Events that belong to no call: a plan, a critique. They become visible in order."""

    async def emit(self, event: Event) -> None:
        """Append an event, unless an event with its key and kind is on record."""
        ...


class Cancel(Protocol):
    """Checks that the job is not cancelled, and that it still belongs to this attempt."""

    async def check(self) -> None:
        """Raises `agents.errors.Stopped` if no new call may start (J11)."""
        ...


@dataclass(frozen=True, slots=True)
class Artifact:
    """Named immutable bytes: digest is sha256, size in bytes."""

    name: str
    digest: str
    size: int
    media_type: str
    description: str = ""
    """For a chart, its title and labels (`sandbox.media.read_description`)."""

    @classmethod
    def of(cls, name: str, digest: str, content: bytes) -> Self:
        """The artifact with these bytes, which have this digest."""
        kind = media_type(name, content)
        return cls(name, digest, len(content), kind, read_description(content))

    def fields(self) -> dict[str, Any]:
        """Its plain values, as in events and in the state: without an empty description."""
        fields = asdict(self)
        if not self.description:
            del fields["description"]
        return fields


class Version(NamedTuple):
    """A version of a file: the digest of its bytes, and whether it can be executed (None: the
    default). A version of a symbolic link has a `target`, and an empty digest. A submodule has
    an empty digest only."""

    digest: str
    executable: bool | None = None
    target: str | None = None


class TextMerge(Protocol):
    """Merges two changes of a text line by line."""

    async def __call__(self, base: bytes, first: bytes, second: bytes) -> bytes | None:
        """`base` with the changes of both; None if the changes conflict, or if a file is no
        text."""
        ...


class Workspace(Protocol):
    """The job's files. One writer at a time: tool calls are ordered by `Ports.sequencer`.

    It has no path of the host. Raises `agents.errors.PathOutside` for an invalid name.
    """

    @property
    def digest(self) -> str | None:
        """The digest of the current manifest; None without files."""
        ...

    def list(self) -> Mapping[str, int]:
        """Paths and sizes in bytes."""
        ...

    def links(self) -> Mapping[str, str]:
        """Symbolic links: targets by path. `list` has only files, and no method follows a link;
        see `agents.links`."""
        ...

    def submodules(self) -> Collection[str]:
        """Paths at which the job's repository has a commit of another one."""
        ...

    def submodule_files(self) -> Mapping[str, int]:
        """The files of the submodules that are checked out: paths and sizes in bytes. `read` reads
        them; no change of them can be kept. `list` does not have them."""
        ...

    def lfs_pointers(self) -> Collection[str]:
        """The paths at which the job's repository has a pointer of Git LFS. No change of its
        content can be delivered."""
        ...

    def leaving_links(self, links: Mapping[str, str], replaced: Collection[str]) -> Collection[str]:
        """The job's links that lead out of its repository (see `agents.links.leaves_repository`),
        after a run that makes `links` and removes or replaces the paths `replaced`. Empty without a
        repository."""
        ...

    async def read(self, path: str) -> bytes | None:
        """A file's bytes, or None."""
        ...

    def changed(self) -> Collection[str]:
        """The paths of files and links that differ from the job's repository; all paths if the job
        has no repository."""
        ...

    async def ignored(self, files: Mapping[str, bytes]) -> frozenset[str]:
        """Which of these files are new, and ignored by git as the job's repository has it."""
        ...

    async def tree(self) -> Tree:
        """All files, for a sandbox."""
        ...

    async def original(self, path: str) -> bytes | None:
        """The unchanged file of the job's repository; None if the repository has no such file."""
        ...

    async def patch(self) -> Patch | None:
        """The change of the job in its repository; None without a repository."""
        ...

    async def apply(
        self,
        changed: Mapping[str, bytes],
        deleted: frozenset[str] = frozenset(),
        *,
        executable: Mapping[str, bool | None] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> Sequence[Artifact]:
        """Write and delete files, make `links` (targets by path) and delete them; returns an
        Artifact for each changed file. `executable` says whether a changed file can be executed
        (None: the default, as in Version); a file that it does not name keeps its mode."""
        ...

    async def keep(self, content: bytes) -> str:
        """Store bytes that do not belong to a file, such as a long output; returns their digest."""
        ...

    async def stored(self, digest: str) -> bytes:
        """The bytes of a digest that this workspace returned."""
        ...

    async def manifest(self, digest: str | None) -> Mapping[str, Version]:
        """The files and links of the workspace at `digest`, by path. Unchanged files of the job's
        repository are left out; see `version`."""
        ...

    async def version(self, path: str) -> Version | None:
        """The present file, link or submodule at a path, also if it is an unchanged entry of the
        job's repository; None if there is no such entry. `stored` returns the bytes of a file."""
        ...

    def fork(self) -> Workspace:
        """An independent workspace with the same files."""
        ...

    async def checkout(self, digest: str | None) -> None:
        """Restore the files of `digest`; None: no files."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a job, and of the texts that models get, in characters."""

    steps: int = 25
    """The executor's model calls in one revision, or in one branch of a revision."""
    critic_calls: int = 6
    """Tool calls of one critique; 0: the critic has no tools."""
    max_parallel_steps: int = 3
    """Steps of the plan that run at the same time."""
    mutations: int = 0
    """The most small changes of the code that are tried on a verification."""
    answer: int = 3_000
    """The most of an answer that a model gets."""
    output: int = 16_000
    """The most of one output of a run that a model gets."""
    read: int = 20_000
    """The most that one read of a file returns to a model."""
    files: int = 12_000
    """The most of the texts of the job's first files that prompts have in full."""
    inline_characters: int = 4_096
    """A longer text of a record is stored by digest."""
    context_share: float = 0.5
    """The part of a model's context that a conversation may take (`agents.context.trimming`)."""
    critic_share: float = 1 / 3
    """The part of the critic's context that the work and the evidence may take
    (`agents.context.ranked`)."""
    allow_repair: bool = True
    """False: a revision ends with the first reply that has run code."""
    pause_each_run: bool = False
    """Whether a person is asked after each run."""
    review: bool = False
    """Whether a person decides before the critic."""
    use_planner: bool = True
    """False: the default plan is used."""
    summarize_with_model: bool = False
    """Whether the model of the role `summary` shortens a long answer."""
