"""The judge: one run in a fresh room, over a copy of the workspace, which it does not change."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from agents.checks.checks import JUDGED_BY, Checks, Plan, plan
from agents.checks.laying import copied
from agents.checks.program import program
from agents.checks.report import JudgedBy, Report, Test
from sandbox.outcome import died
from sandbox.protocol import Command, End, Limits, RunResult, Sandbox, SandboxUnavailable

REPORT_BYTES = 2 * 1024 * 1024
"""Kept of what the supervisor says: it is the only one whose word counts."""
OWN_SECONDS = 1.0
"""Of the run's wall time, what is left to the supervisor to say who was not done."""

_ENDS = {
    End.TIMEOUT: "the checks ran for longer than they may",
    End.CPU: "the checks used more processor time than they may",
    End.MEMORY: "the checks used more memory than they may",
    End.OUTPUT: "the checks printed far more than is kept",
    End.DISK: "the checks' files took more room than they may",
}


async def judge(
    sandbox: Sandbox, files: Mapping[str, bytes], checks: Checks, limits: Limits
) -> Report:
    """Run `checks` over a copy of the workspace's `files`.

    Raises SandboxUnavailable where nothing can be run, or pytest is not there; ValueError for a
    command that cannot be split. Expected ends of the tests are values.
    """
    planned = plan(checks)
    by = JUDGED_BY[planned.kind]
    hidden, secret = f"copy-{secrets.token_hex(8)}", secrets.token_hex(16)
    own = copied(files, checks.files)
    order = _order(planned, checks, own, hidden, max(limits.wall_seconds - OWN_SECONDS, 0.5))
    command = Command(
        argv=("python", "-c", program()),
        files={f"{hidden}/{path}": content for path, content in own.items()},
        stdin=b"%010d" % len(order) + order + secret.encode(),
    )
    wider = replace(limits, output_bytes=max(limits.output_bytes, REPORT_BYTES))
    try:
        result = await sandbox.run(command, wider)
    except ValueError as error:  # so many files, or such names, that no room takes them
        return Report((), f"the files cannot be checked: {error}", died(End.EXITED, 0.0), 0.0, by)
    return _read(result, secret, by)


def _order(
    planned: Plan, checks: Checks, own: Mapping[str, bytes], hidden: str, seconds: float
) -> bytes:
    order = {
        **asdict(planned),
        "files": dict(checks.files),
        "own": sorted({path.partition("/")[0] for path in own}),
        "hidden": hidden,
        "seconds": seconds,
    }
    return json.dumps(order).encode()


def _read(result: RunResult, secret: str, by: JudgedBy) -> Report:
    """The report, if it bears the secret; all else is a failure."""
    bare = replace(result, changed={}, deleted=frozenset(), refused=())
    said = result.stdout.text
    if not (result.succeeded and said.startswith(secret)):
        if "No module named 'pytest'" in result.stderr.text and not said:
            raise SandboxUnavailable(
                "pytest is not installed for the sandbox's Python, so no checks can be run: "
                "install it there (`make install` does)"
            )
        return Report((), _silence(result), bare, result.seconds, by)
    told: dict[str, Any] = json.loads(said[len(secret) :])
    tests = tuple(Test(test["id"], test["outcome"], test["detail"]) for test in told["tests"])
    return Report(tests, told["problem"], bare, result.seconds, by)


def _silence(result: RunResult) -> str:
    """Why there is no report."""
    how = _ENDS.get(result.end)
    return how or "what judges the tests was ended by the code under test"
