"""Setups: from a command to the layer of its results, and the setup of a job with its events."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from agents.ports import CallKey, Event
from agents.ports.environment import SandboxEnvironment
from jobs.model.credentials import OPERATOR
from jobs.model.record import JobRecord
from jobs.model.spec import Repo
from sandbox.local.stepdown import give_to_sandbox_user
from sandbox.protocol import Sandbox
from settings.repositories import RepositorySettings
from worker.adapters.base import BaseFiles
from worker.ledger import Ledger
from worker.repositories.errors import SetupFailed, SetupUnavailable
from worker.repositories.folders import (
    BYTES_FILE,
    SETUP,
    TOP,
    Lock,
    RepositoryFolders,
    publish_folder,
    remove_old_folders,
    sync_layer,
    use_folder,
)
from worker.repositories.setups.archive import unpack
from worker.repositories.setups.detected import Setup, detect_setup, setup_files
from worker.repositories.setups.run import MOST_FILES, Indexes, Inputs, run

AT_ONCE = 2
"""Setups of one worker at once: each may use two processors and 2 GiB for minutes."""
EXCLUDE = ".git/info/exclude"
FORMAT = 2
"""Increased if the same command leaves other files in a new release."""
_WAIT_SECONDS = 60.0
"""A job waits for the setup of another job this much longer than a setup may take."""


class SetupEntry(Protocol):
    """A file of a commit: the id of git's object."""

    @property
    def oid(self) -> str: ...


class SetupBase(Protocol):
    """The files of a commit."""

    @property
    def layer(self) -> str: ...

    @property
    def entries(self) -> Mapping[str, SetupEntry]: ...

    async def read(self, path: str) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """The layer of a setup."""

    layer: str
    command: str
    seconds: float | None
    """The duration of the setup; None if the layer existed."""
    use: Lock = field(repr=False)
    """The layer stays on this machine until this lock is released or dropped."""


class Within(NamedTuple):
    """The sandbox that a setup runs in."""

    sandbox: Sandbox
    digest: str
    """Identifies the interpreter, the packages and the programs of the sandbox."""
    tenant: str = OPERATOR
    """The indexes get the credentials of this tenant."""


@dataclass(frozen=True, slots=True)
class Setups:
    """Runs each setup once on this machine."""

    folders: RepositoryFolders
    indexes: Indexes
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    @property
    def works(self) -> bool:
        """Whether the operator has named hosts to install from."""
        return bool(self.settings.setup_sources)

    @property
    def settings(self) -> RepositorySettings:
        """The settings of repositories."""
        return self.indexes.settings

    async def install(
        self, base: SetupBase, setup: Setup, within: Within, begins: Callable[[], Awaitable[None]]
    ) -> Installed:
        """The layer of `setup` over the files of a commit. `begins` is called before the setup
        runs.

        Raises SetupFailed, RepositoryUnavailable, SandboxUnavailable.
        """
        if not self.works:
            raise SetupFailed(
                "this deployment installs no dependencies: its operator has named no hosts for "
                "that (FETTLE_SETUP_HOSTS)"
            )
        name = self._name(base, setup, within)
        path = self.folders.layers / name
        if (use := use_folder(path)) is not None:
            return Installed(name, setup.command, None, use)
        await begins()
        patience = self.settings.setup_seconds + _WAIT_SECONDS
        async with self.folders.workshop(name, patience) as (workshop, _):
            seconds = None
            while (use := use_folder(path)) is None:  # else another job has made the layer
                seconds = await self._make(workshop, base, setup, within)
                if (use := publish_folder(workshop / "new", path)) is not None:
                    await asyncio.to_thread(
                        remove_old_folders, self.folders, self.settings.repo_cache_bytes
                    )
                    break
        return Installed(name, setup.command, seconds, use)

    async def _make(self, workshop: Path, base: SetupBase, setup: Setup, within: Within) -> float:
        """Make the layer at `new` in the workshop; return the duration of the command in
        seconds."""
        archive, new = workshop / "result", workshop / "new"
        await asyncio.to_thread(shutil.rmtree, new, ignore_errors=True)
        async with self.turns:
            inputs = await _inputs(base, setup)
            seconds = await run(
                within.sandbox, self.indexes, within.tenant, setup.command, inputs, archive
            )
        size = await asyncio.to_thread(unpack, archive, new, self.settings.setup_bytes, MOST_FILES)
        archive.unlink()
        await asyncio.to_thread(_finish, new, base.entries, size)
        await sync_layer(new)
        return round(seconds, 1)

    def _name(self, base: SetupBase, setup: Setup, within: Within) -> str:
        """The name of the setup's layer: a digest of all inputs of its content, so that no other
        branch and no other job can change the content. Tenants share a layer only if they have the
        same credentials."""
        inputs = {path: base.entries[path].oid for path in setup.paths} or base.layer
        indexes = (self.settings.setup_index, self.settings.setup_npm_registry)
        owners = self.indexes.owners(within.tenant)
        parts = [FORMAT, setup.command, within.digest, indexes, owners, inputs]
        key = json.dumps(parts, sort_keys=True)
        return f"{SETUP}{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _finish(layer: Path, entries: Collection[str], size: int) -> None:
    """Write down the size of the layer, and let git ignore its files, except the files at paths of
    the commit's `entries`."""
    hidden = [f"{line}\n" for line in _new(layer, entries)]
    for path, text in ((f"{TOP}/{BYTES_FILE}", f"{size}\n"), (EXCLUDE, "".join(hidden))):
        (layer / path).parent.mkdir(parents=True, exist_ok=True)
        (layer / path).write_bytes(os.fsencode(text))
    give_to_sandbox_user(layer)


def _new(layer: Path, entries: Collection[str]) -> Iterator[str]:
    """The topmost paths that the commit does not have, as rules for git to ignore."""
    commit_folders = {str(parent) for path in entries for parent in PurePosixPath(path).parents}
    for walked, folders, names in os.walk(layer):
        folder = Path(walked).relative_to(layer)
        for name in names:
            yield _rule(folder / name)
        for name in list(folders):
            if str(folder / name) not in commit_folders:
                folders.remove(name)
                yield _rule(folder / name)


def _rule(path: Path) -> str:
    return "/" + re.sub(r"([\\*?\[\]! #])", r"\\\1", str(path)).replace("\n", "?")


async def _inputs(base: SetupBase, setup: Setup) -> Inputs:
    if not setup.paths:
        return Inputs(layers=(base.layer,))
    return Inputs(files={path: await base.read(path) or b"" for path in setup.paths})


REASON_CHARACTERS = 1_500
"""The end of the command's output in the reason of a failed job; the event has more."""


async def install_dependencies(
    record: JobRecord,
    files: BaseFiles,
    sandbox: Sandbox,
    environment: SandboxEnvironment,
    setups: Setups,
    ledger: Ledger,
) -> Installed | Setup | None:
    """The installed dependencies of the job's repository; None if it has no dependencies. If
    this deployment installs nothing, the result is the setup that the files suggest.

    Raises SetupFailed with a text for the person who sent the job, SetupUnavailable,
    RepositoryUnavailable, and the errors of the sandbox and the ledger.
    """
    setup = await _setup(record, files, environment)
    if setup is None:
        return None
    if record.spec.setup is None and not setups.works:
        data = {"command": setup.command}
        await ledger.emit(Event(CallKey(record.id, "setup", 0), "setup_left_out", data))
        await ledger.writer.send()
        return setup
    key = CallKey(record.id, "setup", record.epoch)  # the job that it retries has another key

    async def emit(kind: str, **data: Any) -> None:
        await ledger.emit(Event(key, kind, {"command": setup.command, **data}))
        await ledger.writer.send()

    async def begins() -> None:
        await emit("setup_started")

    within = Within(sandbox, environment.digest, record.tenant)
    try:
        layer = await setups.install(files.base, setup, within, begins)
    except SetupFailed as error:
        await emit(
            "setup_finished", ok=False, reused=False, seconds=error.seconds, output=error.output
        )
        raise type(error)(_failure_text(record, setup, error, setups), error.output) from None
    if layer.seconds is not None or record.attempts == 1:
        seconds, reused = layer.seconds or 0.0, layer.seconds is None
        await emit("setup_finished", ok=True, reused=reused, seconds=seconds, output="")
    return layer


async def emit_fetch_started(record: JobRecord, repo: Repo, ledger: Ledger) -> None:
    """Emit the event that the repository is being fetched. Raises the errors of the ledger."""
    data = {"url": repo.url, "ref": repo.ref}
    await ledger.emit(Event(CallKey(record.id, "fetch", 0), "fetch_started", data))
    await ledger.writer.send()


async def _setup(
    record: JobRecord, files: BaseFiles, environment: SandboxEnvironment
) -> Setup | None:
    """The setup that the job names, else the setup that its files suggest, else None."""
    command = record.spec.setup
    if command is not None:
        return Setup(command) if command.strip() else None
    sizes = files.followed()
    texts = {
        path: (await files.read(path) or b"").decode(errors="replace")
        for path in setup_files(sizes)
    }
    programs = (*environment.programs, *environment.runners)
    return await asyncio.to_thread(detect_setup, sizes, texts, programs)


def _failure_text(record: JobRecord, setup: Setup, error: SetupFailed, setups: Setups) -> str:
    output = error.output.strip()[-REASON_CHARACTERS:]
    advice = f'try another command: fettle retry {record.id} --setup "..."; or none: --no-setup'
    if isinstance(error, SetupUnavailable):
        advice = "an index did not answer"
    elif not setups.works:
        advice = f"continue without dependencies: fettle retry {record.id} --no-setup"
    parts = (f"{setup.command!r} has not installed the repository's dependencies: {error}", output)
    return "\n".join(part for part in (*parts, advice) if part)
