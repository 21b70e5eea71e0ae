"""Cases: programs that are started with an input, and compared by their output and files.

Each case runs in its own sandbox over a copy of the workspace. The expected values never enter that
sandbox: the worker compares texts, and another sandbox matches a pattern.

See ADR 39.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace

from agents.checks.commit import Commit
from agents.checks.copied_files import placed, with_texts
from agents.checks.reports import JudgedBy, Outcome, Report, Test
from agents.layout.site import site_of
from agents.ports.checks import Case
from agents.runs.program import installed_command
from agents.texts import head_and_tail
from agents.tree import Tree
from sandbox.protocol import Command, End, Limits, RunResult, Sandbox
from sandbox.result import result_without_answer

TOTAL_WALL_TIMES = 5
"""The time for all cases, as a multiple of the wall time of one run."""
MATCH_SECONDS = 5.0
EXCERPT = 400
"""Characters of a text in a detail, from shortly before the first difference."""
BEFORE = 60
"""Characters of an excerpt before the first difference."""
OUTPUT_BYTES = 64 * 1024
"""Bytes of output beyond the expected length that are collected."""

_MATCH = """
import json, re, sys
order = json.load(sys.stdin)
print(re.fullmatch(order["pattern"], order["text"], re.DOTALL) is not None)
"""


def parse_cases(text: str) -> tuple[Case, ...]:
    """Cases from JSON, in the form of `POST /jobs`: a list of objects without null values."""
    cases = []
    for number, fields in enumerate(json.loads(text), 1):
        name = fields.pop("name", number)
        cases.append(Case(f"case {name}", tuple(fields.pop("argv")), **fields))
    return tuple(cases)


async def run_cases(
    sandbox: Sandbox,
    tree: Tree,
    cases: Sequence[Case],
    limits: Limits,
    judged_by: JudgedBy = "cases",
    commit: Commit | None = None,
) -> Report:
    """Run `cases` one after the other. Raises SandboxUnavailable."""
    tests: list[Test] = []
    decisive, seconds = result_without_answer(End.EXITED, 0.0), 0.0
    until = time.monotonic() + TOTAL_WALL_TIMES * limits.wall_seconds
    for case in cases:
        remaining = until - time.monotonic()
        if remaining <= 0:
            tests.append(Test(case.id, "missing", "the time for all cases was used up"))
            continue
        within = replace(limits, wall_seconds=min(limits.wall_seconds, remaining))
        test, result = await _run_case(sandbox, tree, case, within, commit)
        if all(test.outcome == "passed" for test in tests):
            decisive = replace(result, changed={}, deleted=frozenset(), refused=())
        seconds += result.seconds
        tests.append(test)
    return Report(tuple(tests), None, decisive, seconds, judged_by)


async def _run_case(
    sandbox: Sandbox, tree: Tree, case: Case, limits: Limits, commit: Commit | None
) -> tuple[Test, RunResult]:
    links = commit.links if commit else {}
    tree = with_texts(tree, {placed(path, links): text for path, text in case.files.items()})
    output_bytes = max(limits.output_bytes, len((case.stdout or "").encode()) + OUTPUT_BYTES)
    try:
        site = commit.site if commit else site_of(tree.files)
        command = installed_command(case.argv, tree, site, case.stdin.encode())
        result = await sandbox.run(command, replace(limits, output_bytes=output_bytes))
    except ValueError as error:  # too many files, or invalid names, for any sandbox
        reason = f"the files cannot be checked: {error}"
        return Test(case.id, "error", reason), result_without_answer(End.EXITED, 0.0)
    differences = [
        *_wrong_ending(case, result),
        *_wrong_output(case, result),
        *await _wrong_files(case, result, tree, commit),
    ]
    pattern_error = None
    if case.stdout_matches is not None:
        pattern, text = case.stdout_matches, result.stdout.text
        matches = await _match(sandbox, pattern, text, limits)
        if isinstance(matches, str):
            pattern_error = matches
        elif not matches:
            differences.append(f"stdout: expected a match of {_cut(pattern)}, actual {_cut(text)}")
    outcome: Outcome = "error" if pattern_error else "failed" if differences else "passed"
    return Test(
        case.id, outcome, _detail(case, result, [*differences, pattern_error or ""])
    ), result


def _wrong_ending(case: Case, result: RunResult) -> list[str]:
    if result.end is End.EXITED and result.exit_code == case.exit_code:
        return []
    actual = {End.EXITED: str(result.exit_code), End.SIGNALED: f"signal {result.signal}"}
    return [f"exit code: expected {case.exit_code}, actual {actual.get(result.end, result.end)}"]


def _wrong_output(case: Case, result: RunResult) -> list[str]:
    if result.stdout.dropped_bytes and (case.stdout, case.stdout_matches) != (None, None):
        return [f"stdout: {result.stdout.dropped_bytes} bytes more than the limit"]
    if case.stdout is None or case.stdout == result.stdout.text:
        return []
    return [f"stdout: {_difference(case.stdout, result.stdout.text)}"]


async def _wrong_files(
    case: Case, result: RunResult, tree: Tree, commit: Commit | None
) -> list[str]:
    differences = []
    for name, text in case.expect_files.items():
        path = placed(name, commit.links if commit else {})
        actual = {**tree.files, **result.changed}.get(path)
        if actual is None and commit and path not in tree.removed | tree.links.keys():
            actual = await commit.read(path)
        if actual is None or path in result.deleted - result.changed.keys():
            differences.append(f"{name}: expected {_cut(text)}, but there is no such file")
        elif actual != text.encode():
            actual_text = actual.decode(errors="replace")
            differences.append(f"{name}: {_difference(text, actual_text)}")
    return differences


async def _match(sandbox: Sandbox, pattern: str, text: str, limits: Limits) -> bool | str:
    """Whether a pattern matches all of a text; a text says why that is unknown."""
    order = json.dumps({"pattern": pattern, "text": text}).encode()
    bounds = replace(limits, wall_seconds=min(limits.wall_seconds, MATCH_SECONDS))
    result = await sandbox.run(Command(("python", "-c", _MATCH), stdin=order), bounds)
    if result.succeeded and result.stdout.text in {"True\n", "False\n"}:
        return result.stdout.text == "True\n"
    reason = result.stderr.text.strip().rpartition("\n")[2] or result.end.value
    return f"stdout_matches: {_cut(pattern)} cannot be matched: {reason[:EXCERPT]}"


def _detail(case: Case, result: RunResult, lines: Sequence[str]) -> str:
    parts = [line for line in lines if line]
    if not parts:
        return ""
    command = head_and_tail(shlex.join(case.argv), EXCERPT)
    if stderr := result.stderr.text.strip():
        parts.append(f"stderr: {head_and_tail(stderr, EXCERPT)}")
    return "\n".join([f"$ {command}", *parts])


def _difference(expected: str, actual: str) -> str:
    """Both texts from shortly before their first difference."""
    same = next(
        (at for at, pair in enumerate(zip(expected, actual, strict=False)) if pair[0] != pair[1]),
        min(len(expected), len(actual)),
    )
    start = max(same - BEFORE, 0)
    at = f" (from character {start + 1})" if start else ""
    return f"expected {_cut(expected[start:])}, actual {_cut(actual[start:])}{at}"


def _cut(text: str) -> str:
    return repr(text if len(text) <= EXCERPT else f"{text[:EXCERPT]}...")
