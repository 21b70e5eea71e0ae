"""The supervisor: the trusted first program of a sandbox in which test files are judged.

It reads its order, determines the expected tests, forks the test process, and only then reads the
secret of its own report. It has nothing of the workspace on its module path, and no other process
of the sandbox can inspect it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import secrets
import shutil
import signal
import sys
import time

from agents.checks.supervised import expected as expectation
from agents.checks.supervised import test_process
from agents.checks.supervised.channel import Forged, ReportReader, Silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WORK = "/work"
_PR_SET_DUMPABLE = 4
_LENGTH_BYTES = 10
_TESTS, _ID, _DETAILS = 500, 500, 100_000
"""Tests that are reported, characters of an id, and of all details together."""
_FAILED = ("failed", "error", "missing")
_UNHEARD = "it was not reported"
SPENT = "the time for all checks was used up"

CANARY = """
import unittest

import pytest


def test_equals():
    left, right = [1, 2], [1, 3]
    assert left == right


def test_raises():
    with pytest.raises(ValueError):
        pass


class TestSuite(unittest.TestCase):
    def test_equal(self):
        self.assertEqual({"a": 1}, {"a": 2})
"""
"""Tests that must fail. If one passes, the solution has changed how tests are judged."""
CANARIES = ("test_equals", "test_raises", "TestSuite::test_equal")


def main() -> None:
    """Judge one order: `length, order, secret` on stdin; `secret, report` on stdout."""
    started = time.monotonic()
    if ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError("prctl(PR_SET_DUMPABLE)")
    order = json.loads(_exactly(int(_exactly(_LENGTH_BYTES))))
    try:
        report = _judge(order, started)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report = {"problem": f"the checks cannot be read: {error}", "tests": []}
        secret = _rest()
    else:
        secret = report.pop("secret")
    _sweep()
    report["tests"] = _bounded(report["tests"])
    _write_all(secret + json.dumps(report).encode())


def _judge(order: Mapping[str, Any], started: float) -> dict[str, Any]:
    wanted = _wanted(order)
    canary, must_fail = dict[str, str](), set[str]()
    if order["kind"] == "pytest":
        importlib.import_module("pytest")  # without it the sandbox is broken, not a test
        canary, must_fail = _canaries()
    (reports_in, reports_out), (numbers_in, numbers_out) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reports_in)
        os.close(numbers_out)
        test_process.run_test_process({**order, "canary": canary}, numbers_in, reports_out)
    os.close(reports_out)
    os.close(numbers_in)
    secret = _rest()
    child, until = _Child(pid), started + order["seconds"]
    report = _received(ReportReader(reports_in, numbers_out, child.alive, until), wanted, must_fail)
    child.end()
    return {**report, "secret": secret}


def _canaries() -> tuple[dict[str, str], set[str]]:
    """A file of tests that must fail, under a random name, and the tests' ids."""
    path = f"test_{secrets.token_hex(6)}.py"
    return {path: CANARY}, {f"{path}::{name}" for name in CANARIES}


def _wanted(order: Mapping[str, Any]) -> list[expectation.Expected]:
    """The tests that must be reported."""
    if order["kind"] == "script":
        return [expectation.Expected(order["words"][0], 1, may_skip=False)]
    found = []
    for path in order["tests"]:
        try:
            found += expectation.expected(path, order["files"][path])
        except SyntaxError as error:
            raise SyntaxError(f"{path}, line {error.lineno}: {error.msg}") from None
    if aimed := order["aimed"]:
        found = [meant for test in found if (meant := test.aimed(aimed)) is not None]
    if not found:
        raise ValueError("there is no test in them")
    return found


class _Child:
    """The test process. It is reaped only at the end, so that its pid, which is its group's too, is
    not reused."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def alive(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def end(self) -> None:
        try:  # noqa: SIM105 - contextlib is slow to import
            os.killpg(self._pid, signal.SIGKILL)
        except OSError:
            pass
        os.kill(self._pid, signal.SIGKILL)  # it may not have a group yet
        os.waitpid(self._pid, 0)


def _received(
    reader: ReportReader, wanted: list[expectation.Expected], must_fail: set[str]
) -> dict[str, Any]:
    """Receive all reports, and compare them with the expected tests."""
    heard: dict[str, dict[str, Any]] = {}
    errors: dict[str, str] = {}
    try:
        errors = _listen(reader, heard)
    except Silent as silent:
        problem: str | None = SPENT if str(silent) == "time" else str(silent)
    except (Forged, KeyError) as forged:
        problem = f"the report was tampered with: {forged}"
    else:
        problem = _tampering(heard, must_fail)
    for name in must_fail:
        heard.pop(name, None)
    unheard = SPENT if problem == SPENT else _UNHEARD
    return {"problem": problem, "tests": _tests(wanted, heard, errors, unheard)}


def _listen(reader: ReportReader, heard: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Add each test's report to `heard`; returns the collection errors by file. Raises Silent or
    Forged."""
    while "end" not in (said := reader.next_report()):
        name = str(said["id"])
        if name in heard:
            raise Forged(f"{name} was reported twice")
        heard[name] = {"outcome": str(said["outcome"]), "detail": str(said["detail"])}
    reader.require_no_more()
    return dict(said["errors"])


def _tampering(heard: Mapping[str, dict[str, Any]], must_fail: set[str]) -> str | None:
    """What shows that the judging was changed, or None."""
    if any(heard.get(name, {}).get("outcome") == "passed" for name in must_fail):
        return "a test that must fail has passed: the solution has changed how tests are judged"
    return None if must_fail <= heard.keys() else "not all tests were run"


def _tests(
    wanted: list[expectation.Expected],
    heard: dict[str, dict[str, Any]],
    errors: dict[str, str],
    unheard: str = _UNHEARD,
) -> list[dict[str, Any]]:
    tests = []
    for test in wanted:
        cases = {name: heard.pop(name) for name in list(heard) if test.holds(name)}
        tests += [_case(name, case, test.may_skip) for name, case in cases.items()]
        if not cases:
            why = errors.get(test.name.partition("::")[0], unheard)
            tests.append({"id": test.name, "outcome": "missing", "detail": str(why)})
        elif test.cases is not None and len(cases) < test.cases:
            why = f"{len(cases)} of its {test.cases} cases were reported"
            tests.append({"id": test.name, "outcome": "missing", "detail": why})
    return tests + [_case(name, case, may_skip=False) for name, case in heard.items()]


def _case(name: str, case: dict[str, Any], may_skip: bool) -> dict[str, Any]:
    outcome, detail = case["outcome"], case["detail"]
    if outcome in {"skipped", "xfailed"} and may_skip:
        outcome = "passed"
    elif outcome not in {"passed", *_FAILED}:
        detail = f"{outcome}, which its source does not say. {detail}".strip()
        outcome = "failed"
    return {"id": name, "outcome": outcome, "detail": detail}


def _bounded(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most so many that the report is kept whole; failures come first if some are dropped."""
    if len(tests) > _TESTS:
        tests = sorted(tests, key=lambda test: bool(test["outcome"] == "passed"))[:_TESTS]
    left = _DETAILS
    for test in tests:
        test["id"] = test["id"][:_ID]
        test["detail"] = test["detail"][:left]
        left -= len(test["detail"])
    return tests


def _sweep() -> None:
    """Delete the copy, which nobody needs any more."""
    try:  # noqa: SIM105 - contextlib is slow to import
        shutil.rmtree(WORK, ignore_errors=True)
    except RecursionError:
        pass


def _exactly(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            sys.exit("the order was cut short")
        data += more
    return data


def _rest() -> bytes:
    data = b""
    while more := os.read(0, 4096):
        data += more
    return data


def _write_all(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]
