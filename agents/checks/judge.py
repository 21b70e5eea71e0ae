"""The judge: runs checks over a copy of a workspace, in new sandboxes. The files stay unchanged.

Why: docs/decisions/0016-who-judges-the-tests.md
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from agents.checks import cases
from agents.checks.checks import JUDGED_BY, Plan, plan
from agents.checks.copied_files import files_under_test, links_under_test
from agents.checks.program import program
from agents.checks.report import JudgedBy, Report, Test, merged
from agents.layout.site import site_of
from agents.ports.checks import Case, Checks
from sandbox.protocol import Command, End, Limits, RunResult, Sandbox, SandboxUnavailable, Stream
from sandbox.result import no_answer

NO_LINKS: Mapping[str, str] = {}
REPORT_BYTES = 2 * 1024 * 1024
"""Kept of the supervisor's output: only its report counts."""
OWN_SECONDS = 1.0
"""Part of the run's wall time that the supervisor has to report the tests that did not run."""

_ENDS = {
    End.TIMEOUT: "the checks ran for longer than they may",
    End.CPU: "the checks used more processor time than they may",
    End.MEMORY: "the checks used more memory than they may",
    End.OUTPUT: "the checks printed far more than is kept",
    End.DISK: "the checks' files took more space than they may",
}


async def judge(
    sandbox: Sandbox,
    files: Mapping[str, bytes],
    checks: Checks,
    limits: Limits,
    links: Mapping[str, str] = NO_LINKS,
) -> Report:
    """Run `checks` over a copy of a workspace's `files` and symbolic `links`, which may be any.

    Raises SandboxUnavailable if nothing can run or pytest is not installed; ValueError for a
    command that cannot be split. Expected ends of tests and programs are values.
    """
    reports = []
    if checks.files or not checks.cases:
        reports.append(await _of_files(sandbox, files, links, checks, limits))
    if checks.cases:
        reports.append(await cases.run_cases(sandbox, files, checks.cases, limits, links=links))
    return merged(reports)


async def _of_files(
    sandbox: Sandbox,
    files: Mapping[str, bytes],
    links: Mapping[str, str],
    checks: Checks,
    limits: Limits,
) -> Report:
    planned = plan(checks)
    work_files = files_under_test(files, checks.files)
    work_links = links_under_test(links, checks.files)
    if planned.kind == "command":  # a case whose exit code decides
        case = Case(" ".join(planned.words), planned.words, files=checks.files)
        by = JUDGED_BY["command"]
        return await cases.run_cases(sandbox, work_files, [case], limits, by, work_links)
    return await _supervised(sandbox, planned, checks, work_files, work_links, limits)


async def _supervised(
    sandbox: Sandbox,
    planned: Plan,
    checks: Checks,
    work_files: Mapping[str, bytes],
    work_links: Mapping[str, str],
    limits: Limits,
) -> Report:
    hidden, secret = f"copy-{secrets.token_hex(8)}", secrets.token_hex(16)
    site = site_of(work_files)
    order = {
        **asdict(planned),
        "files": dict(checks.files),
        "own": sorted({path.partition("/")[0] for path in (*work_files, *work_links)}),
        "site": bool(site),
        "hidden": hidden,
        "seconds": max(limits.wall_seconds - OWN_SECONDS, 0.5),
    }
    text = json.dumps(order).encode()
    command = Command(
        argv=("python", "-c", program()),
        files={f"{hidden}/{path}": content for path, content in work_files.items()},
        links={f"{hidden}/{path}": target for path, target in work_links.items()},
        stdin=b"%010d" % len(text) + text + secret.encode(),
        site=site,
    )
    wider = replace(limits, output_bytes=max(limits.output_bytes, REPORT_BYTES))
    by = JUDGED_BY[planned.kind]
    try:
        result = await sandbox.run(command, wider)
    except ValueError as error:  # too many files, or invalid names, for any sandbox
        return Report(
            (), f"the files cannot be checked: {error}", no_answer(End.EXITED, 0.0), 0.0, by
        )
    return _read(result, secret, by)


def _read(result: RunResult, secret: str, by: JudgedBy) -> Report:
    """The report, if it has the secret; everything else is a failure."""
    said = result.stdout.text
    output = replace(result, stdout=result.stderr, stderr=Stream(), changed={}, deleted=frozenset())
    if not (result.succeeded and said.startswith(secret)):
        if "No module named 'pytest'" in result.stderr.text and not said:
            raise SandboxUnavailable(
                "pytest is not installed for the sandbox's Python, so no checks can be run: "
                "install it there (`make install` does)"
            )
        why = _ENDS.get(result.end) or "the code under test ended the process that judges it"
        return Report((), why, output, result.seconds, by)
    found: dict[str, Any] = json.loads(said[len(secret) :])
    tests = tuple(Test(test["id"], test["outcome"], test["detail"]) for test in found["tests"])
    return Report(tests, found["problem"], output, result.seconds, by)
