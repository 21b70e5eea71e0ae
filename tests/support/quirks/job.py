"""Runs the job of a row, and compares its end with the expected one."""

from __future__ import annotations

import asyncio
import functools
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from support.graph.graphs import Journey, PlannedSandbox, printed
from support.quirks.row import Ran, Row
from support.quirks.server import QuirkyServer

from agents.graph.job_input import job_fields
from agents.graph.outcome import Outcome
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.providers import PROVIDERS
from agents.models.role_models import Chains, RoleModels
from agents.models.transport.time_limits import RetryPolicy
from jobs.model.spec import JobSpec
from lab.provider import ProviderServer
from settings.starting.provider_rows import provider_variable
from worker.failures import Fail, Retry, classify_failure
from worker.results import failure_reason

TASK = "Print six times seven."
FILES = {"note.txt": b"one\ntwo\n"}
"""The files that the job starts with."""
LONGEST_SECONDS = 20.0
_certificates = functools.cache(httpx.create_ssl_context)


@dataclass(frozen=True)
class QuickOptions(ModelOptions):
    """The operator's settings, with nearly no wait between two tries."""

    @property
    def retry_policy(self) -> RetryPolicy:
        """The policy of production, with short waits."""
        policy: RetryPolicy = ModelOptions.retry_policy.fget(self)  # type: ignore[attr-defined]
        return replace(policy, first_wait_seconds=0.002, longest_wait_seconds=0.002)


async def run_row(row: Row, folder: Path) -> Ran:
    """Run a job over the real client libraries against the row's server."""
    started = time.monotonic()
    with ExitStack() as open_:
        script = QuirkyServer(row.quirks, row.model, strict=row.strict)
        server = open_.enter_context(ProviderServer(script))
        if row.listed is not None:
            server.lists["/v1/models"] = row.listed
        stand_in = open_.enter_context(ProviderServer(QuirkyServer(row.stand_in or ())))
        pool = _pool(row, server, stand_in)
        chain = (row.name,) if row.stand_in is None else (row.name, row.stand_in_name)
        sandbox = PlannedSandbox(defaultdict(lambda: printed("42\n")))
        journey = Journey.plan(folder, [], sandbox, files=FILES)
        journey.ports = journey.with_ports(models=RoleModels(pool, Chains(chain)))
        outcome, state, message = await _tried(row, journey)
        await pool.aclose()
    return Ran(
        state=state,
        message=message,
        answer=outcome.answer if outcome else "",
        programs=sandbox.ran,
        requests=server.requests,
        to_stand_in=stand_in.requests,
        record=journey.record,
        seconds=time.monotonic() - started,
    )


async def _tried(row: Row, journey: Journey) -> tuple[Outcome | None, str, str]:
    """The outcome, its state and its message, after at most the attempts that the row allows."""
    for attempts_left in reversed(range(row.attempts)):
        journey.ports = journey.with_ports(last_try=row.attempts > 1 and not attempts_left)
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                if attempts_left == row.attempts - 1:
                    await journey.begin(job_fields(TASK, max_revisions=1, files=tuple(FILES)))
                else:
                    await journey.go_on()
        except Exception as error:  # noqa: BLE001 - every end is a result
            state, message = _end_of_error(error)
            if state != "waits" or not attempts_left:
                return None, state, message
        else:
            job_outcome = await journey.outcome()
            return job_outcome, *_end_of(job_outcome, journey)
    raise AssertionError("a row has at least one attempt")


def _pool(row: Row, server: ProviderServer, stand_in: ProviderServer) -> ModelPool:
    second = {row.stand_in_name.partition(":")[0]: stand_in} if row.stand_in is not None else {}
    first = row.name.partition(":")[0]
    addresses = {
        name: provider_server.base_urls()[name] for name, provider_server in second.items()
    }
    keys = {provider: f"{provider}-key" for provider in PROVIDERS}
    base_urls = {**addresses, first: server.base_urls()[first]}
    options = {"api_keys": keys, "base_urls": base_urls, **row.options}
    if row.address is not None:
        tls_url = server.url.replace("http:", "https:")
        address = row.address.format(url=server.url, tls_url=tls_url)
        options["base_urls"] = {**base_urls, first: address}
    pool = ModelPool(QuickOptions(name_setting=provider_variable, **options))
    pool._tls = _certificates()
    return pool


def _end_of(outcome: Outcome, journey: Journey) -> tuple[str, str]:
    reason = failure_reason(JobSpec(TASK, max_revisions=1), outcome)
    if reason is None:
        return "succeeded", ""
    overruled = [str(data.get("overruled") or "") for data in journey.event_data("critiqued")]
    return "fails", "; ".join([reason, *filter(None, overruled)])


def _end_of_error(error: Exception) -> tuple[str, str]:
    if isinstance(error, TimeoutError):
        return "hangs", f"no end within {LONGEST_SECONDS:g} s"
    match classify_failure(error):
        case Retry(wait=wait):
            return "waits", f"{wait.on}: {wait.why}"
        case Fail(detail=detail, unforeseen=unforeseen):
            return "internal error" if unforeseen else "fails", detail
        case other:
            return "internal error", repr(other)


def problems(row: Row, ran: Ran) -> Sequence[str]:
    """The differences between a job's end and the expected end; empty if there are no
    differences.
    """
    faults = []
    succeeded = ran.state == "succeeded"
    if ran.state not in row.end.states:
        faults.append(f"it {ran.state}, expected: {' or '.join(row.end.states)} ({ran.message})")
    text = ran.message.casefold()
    words = () if succeeded else row.end.words
    faults += [
        f"{word!r} is not in: {ran.message}" for word in words if word.casefold() not in text
    ]
    faults += [f"{w!r} is in: {ran.message}" for w in row.end.without if w.casefold() in text]
    if succeeded and ran.answer != row.answer:
        faults.append(f"its answer is {ran.answer!r}, expected: {row.answer!r}")
    if succeeded and list(ran.programs) != list(row.programs):
        faults.append(f"it ran {ran.programs}, expected: {row.programs}")
    if succeeded and (source := ran.events("planned")[0]["source"]) != row.plan:
        faults.append(f"its plan is by {source}: {ran.events('planned')[0]['note']}")
    if len(ran.requests) > row.most_requests:
        faults.append(f"it sent {len(ran.requests)} requests, at most {row.most_requests} expected")
    if "the script failed" in ran.message:
        faults.append("the row's own server fails")
    if not faults and not row.check(ran):
        faults.append("the row's own check fails")
    return faults
