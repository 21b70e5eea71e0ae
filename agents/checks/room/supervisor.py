"""The supervisor: the trusted first program of a room in which checks are judged.

It reads its order, works out what must be reported, forks the tested process, and only then reads
the secret that its own report bears. Nothing of the workspace is on a module path of its own, and
no other process of the room can look into it.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import signal
import sys
import time

from agents.checks.room import expected as expectation
from agents.checks.room import session, tested
from agents.checks.room.channel import Asker, Forged, Silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WORK = "/work"
_PR_SET_DUMPABLE = 4
_LENGTH_BYTES = 10
_TESTS, _ID, _DETAILS = 500, 500, 100_000
"""Tests that are told of, characters of an id, and of all details together."""
_FAILED = ("failed", "error", "missing")
_REPLACED = "the solution has replaced what judges it"
_UNHEARD = "it was not reported"
_SPENT = "the time for all checks was over"


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
    canary, must_fail = _canaries() if order["kind"] == "pytest" else ({}, set())
    (reports_in, reports_out), (numbers_in, numbers_out) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reports_in)
        os.close(numbers_out)
        tested.live({**order, "canary": canary}, numbers_in, reports_out)
    os.close(reports_out)
    os.close(numbers_in)
    secret = _rest()
    child, until = _Child(pid), started + order["seconds"]
    if order["kind"] == "command":
        report = _exit(order, child, until)
    else:
        report = _heard(Asker(reports_in, numbers_out, child.alive, until), wanted, must_fail)
    child.end()
    if child.status == tested.TAMPERED and order["kind"] != "command":
        report["problem"] = f"{_REPLACED}: what it reports with"
    return {**report, "secret": secret}


def _canaries() -> tuple[dict[str, str], set[str]]:
    """A file of tests that must fail, under a name that nobody knows; and what they are called."""
    path = f"test_{secrets.token_hex(6)}.py"
    return {path: session.CANARY}, {f"{path}::{name}" for name in session.CANARIES}


def _wanted(order: Mapping[str, Any]) -> list[expectation.Expected]:
    """The tests that must be reported."""
    if order["kind"] == "command":
        return []
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
    """The tested process, watched and ended. It is reaped at the end alone: until then its number,
    which is its group's too, is no other process's.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.status: int | None = None

    def alive(self) -> bool:
        if self.status is None:
            end = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if end is not None:
                killed = end.si_code != os.CLD_EXITED
                self.status = -end.si_status if killed else end.si_status
        return self.status is None

    def end(self) -> None:
        try:  # noqa: SIM105 - contextlib is slow to import
            os.killpg(self._pid, signal.SIGKILL)
        except OSError:
            pass
        os.kill(self._pid, signal.SIGKILL)  # it may not have had a group yet
        self.status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _exit(order: Mapping[str, Any], child: _Child, until: float) -> dict[str, Any]:
    """Of a command of the caller's the exit code decides."""
    while child.alive() and time.monotonic() < until:
        time.sleep(0.005)
    status = child.status
    name = " ".join(order["words"])
    detail = "" if status == 0 else _SPENT if status is None else _ending(status)
    test = {"id": name, "outcome": "failed" if detail else "passed", "detail": detail}
    return {"problem": None, "tests": [test]}


def _ending(status: int) -> str:
    return f"exit code {status}" if status >= 0 else f"killed by signal {-status}"


def _heard(asker: Asker, wanted: list[expectation.Expected], must_fail: set[str]) -> dict[str, Any]:
    """Ask until the end, and hold what came against what had to come."""
    heard: dict[str, dict[str, Any]] = {}
    end: dict[str, Any] = {"errors": {}, "changed": []}
    try:
        end = _listen(asker, heard)
    except Silent as silent:
        problem: str | None = _SPENT if str(silent) == "time" else str(silent)
    except (Forged, KeyError) as forged:
        problem = f"the report was tampered with: {forged}"
    else:
        problem = _bent(end, heard, must_fail)
    for name in must_fail:
        heard.pop(name, None)
    unheard = _SPENT if problem == _SPENT else _UNHEARD
    return {"problem": problem, "tests": _tests(wanted, heard, end["errors"], unheard)}


def _listen(asker: Asker, heard: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Add each test's report to `heard`; returns the last report. Raises Silent or Forged."""
    while "end" not in (said := asker.ask()):
        name = str(said["id"])
        if name in heard:
            raise Forged(f"{name} was reported twice")
        heard[name] = {"outcome": str(said["outcome"]), "detail": str(said["detail"])}
    asker.quiet()
    return {"errors": dict(said["errors"]), "changed": list(said["changed"])}


def _bent(
    end: Mapping[str, Any], heard: Mapping[str, dict[str, Any]], must_fail: set[str]
) -> str | None:
    """What shows that the judge is not what it was; None where nothing does."""
    if end["changed"]:
        names = ", ".join(list(dict.fromkeys(map(str, end["changed"])))[:3])
        return f"{_REPLACED}: {names}"
    if any(heard.get(name, {}).get("outcome") == "passed" for name in must_fail):
        return "a test that must fail has passed: the solution has bent the judge"
    if not must_fail <= heard.keys():
        return "not all tests were run"
    return None


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
    """So many that the report is kept whole; what has not passed comes first where some go."""
    if len(tests) > _TESTS:
        tests = sorted(tests, key=lambda test: bool(test["outcome"] == "passed"))[:_TESTS]
    left = _DETAILS
    for test in tests:
        test["id"] = test["id"][:_ID]
        test["detail"] = test["detail"][:left]
        left -= len(test["detail"])
    return tests


def _sweep() -> None:
    """Nothing of this copy is wanted back."""
    try:
        for name in os.listdir(WORK):  # noqa: PTH208
            path = f"{WORK}/{name}"
            if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)  # noqa: PTH108
    except (OSError, RecursionError):
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
