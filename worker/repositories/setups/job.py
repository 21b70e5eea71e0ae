"""The setup of a job, before its graph goes on, and the events that tell of it."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.ports import CallKey, Event
from agents.ports.environment import Environment
from jobs.model.record import JobRecord
from jobs.model.spec import Repo
from sandbox.protocol import Sandbox
from worker.adapters.base import BaseFiles
from worker.ledger import Ledger
from worker.repositories.errors import SetupFailed, SetupUnavailable
from worker.repositories.setups.detected import Setup, detected, wanted
from worker.repositories.setups.setup import Installed, Setups, Within

SAID_CHARACTERS = 1_500
"""Of a command's own output, in the reason why a job failed; the event has more."""


async def installed(
    record: JobRecord,
    files: BaseFiles,
    sandbox: Sandbox,
    environment: Environment,
    setups: Setups,
    ledger: Ledger,
) -> Installed | Setup | None:
    """What the job's programs find beside the repository; None where nothing has to be installed.
    A setup that the files suggest comes back as it is where this deployment installs nothing.

    Raises SetupFailed with a text for the person who sent the job, SetupUnavailable,
    RepositoryUnavailable, and what the sandbox and the ledger raise.
    """
    setup = await _setup(record, files, environment)
    if setup is None:
        return None
    if record.spec.setup is None and not setups.works:
        data = {"command": setup.command}
        await ledger.emit(Event(CallKey(record.id, "setup", 0), "setup_left_out", data))
        await ledger.writer.send()
        return setup
    place = CallKey(record.id, "setup", record.epoch)  # not known by the job that it retries

    async def say(kind: str, **data: Any) -> None:
        await ledger.emit(Event(place, kind, {"command": setup.command, **data}))
        await ledger.writer.send()

    async def begins() -> None:
        await say("setup_started")

    within = Within(sandbox, environment.digest, record.tenant)
    try:
        found = await setups.installed(files.base, setup, within, begins)
    except SetupFailed as error:
        await say(
            "setup_finished", ok=False, reused=False, seconds=error.seconds, output=error.said
        )
        raise type(error)(_why(record, setup, error, setups), error.said) from None
    if found.seconds is not None or record.attempts == 1:
        seconds, reused = found.seconds or 0.0, found.seconds is None
        await say("setup_finished", ok=True, reused=reused, seconds=seconds, output="")
    return found


async def fetching(record: JobRecord, repo: Repo, ledger: Ledger) -> None:
    """Say that the repository is being fetched. Raises what the ledger raises."""
    data = {"url": repo.url, "ref": repo.ref}
    await ledger.emit(Event(CallKey(record.id, "fetch", 0), "fetch_started", data))
    await ledger.writer.send()


async def _setup(record: JobRecord, files: BaseFiles, environment: Environment) -> Setup | None:
    """The command that the job asks for, else one that its files suggest; None: there is none."""
    asked = record.spec.setup
    if asked is not None:
        return Setup(asked) if asked.strip() else None
    sizes = files.followed()
    texts = {
        path: (await files.read(path) or b"").decode(errors="replace") for path in wanted(sizes)
    }
    programs = (*environment.programs, *environment.runners)
    return await asyncio.to_thread(detected, sizes, texts, programs)


def _why(record: JobRecord, setup: Setup, error: SetupFailed, setups: Setups) -> str:
    said = error.said.strip()[-SAID_CHARACTERS:]
    advice = f'try another command: fettle retry {record.id} --setup "..."; or none: --no-setup'
    if isinstance(error, SetupUnavailable):
        advice = "an index gave no answer"
    elif not setups.works:
        advice = f"go on without: fettle retry {record.id} --no-setup"
    parts = (f"{setup.command!r} has not installed the repository's dependencies: {error}", said)
    return "\n".join(part for part in (*parts, advice) if part)
