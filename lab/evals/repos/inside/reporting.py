"""A pytest plugin that reports each test to the supervisor, and runs only the requested tests.

Its place and its channel are in the environment, which it removes from there at once: a session
that a test starts, in this process or in another, does not report. A line of the channel is
{token, for, when, outcome, detail}; `for` lists the requested ids that mean this test.
"""

from __future__ import annotations

import json
import os

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

ROOT = "/work"
WANTED = "/tmp/.fettle-bench/wanted.json"  # noqa: S108 - the sandbox's own
CHANNEL = "FETTLE_BENCH_CHANNEL"
DETAIL = 400


def _channel() -> Callable[[dict[str, Any]], None] | None:
    """Sends a line; its functions are bound before tests can replace them."""
    descriptor = os.environ.pop(CHANNEL, None)
    os.environ.pop("PYTEST_PLUGINS", None)
    if descriptor is None:
        return None
    report, secret = map(int, descriptor.split(","))
    token = os.read(secret, 64).decode()
    os.close(secret)
    os.set_inheritable(report, False)
    dumps, write, own_pid, pid = json.dumps, os.write, os.getpid, os.getpid()

    def send(line: dict[str, Any]) -> None:
        data = dumps({**line, "token": token}).encode() + b"\n"
        while data and own_pid() == pid:  # a fork of this process does not report
            data = data[write(report, data) :]

    return send


_send = _channel()


def names(test: str) -> Iterator[str]:
    """The names that may mean a test: its id, and the ids of all its cases, its classes and its
    file.
    """
    yield test
    path, _, nested = test.partition("::")
    parts = nested.partition("[")[0].split("::")
    for count in range(len(parts), 0, -1):
        yield "::".join([path, *parts[:count]])
    yield path


class Reporting:
    """The plugin's hooks, of one session."""

    def __init__(
        self, requested: list[str], *, reports_all: bool, send: Callable[[dict[str, Any]], None]
    ) -> None:
        self._requested, self._reports_all, self._send = frozenset(requested), reports_all, send
        self._files = {name.partition("::")[0] for name in requested}
        self._below = ""

    def stands_for(self, test: str) -> list[str]:
        """The requested ids that mean this test. Ids are relative to ROOT or to pytest's root."""
        requested = dict.fromkeys(
            name for test_id in (self._full_id(test), test) for name in names(test_id)
        )
        return [name for name in requested if name in self._requested]

    def _full_id(self, test: str) -> str:
        path, mark, nested = test.partition("::")
        return os.path.normpath(f"{self._below}/{path}").lstrip("/") + mark + nested

    def pytest_configure(self, config: Any) -> None:
        """If all tests must be reported, run each requested test even after failures of others."""
        if self._reports_all:
            config.option.continue_on_collection_errors = True
            config.option.maxfail = 0
        pytest_root = getattr(config, "rootpath", None) or config.rootdir
        root = os.path.relpath(os.path.realpath(str(pytest_root)), ROOT)
        self._below = "" if root == "." else root

    def leaves_out(self, file: str) -> bool | None:
        """True if a file has no requested test, so that it is not even loaded; otherwise None."""
        name = os.path.basename(file)  # noqa: PTH119
        if os.path.isdir(file) or name in {"conftest.py", "__init__.py"}:  # noqa: PTH112
            return None
        path = os.path.relpath(file, ROOT)
        relative_path = os.path.relpath(path, self._below or ".")
        return None if {path, relative_path} & self._files else True

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Deselect the tests that are not requested."""
        selected = [item for item in items if self.stands_for(item.nodeid)]
        deselected = [item for item in items if not self.stands_for(item.nodeid)]
        if deselected:
            config.hook.pytest_deselected(items=deselected)
        items[:] = selected

    def pytest_collectreport(self, report: Any) -> None:
        """Report a file that cannot be collected."""
        if report.failed:
            self._report(report, "error")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Report one phase of a test."""
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if outcome == "skipped" else outcome
        self._report(report, outcome)

    def _report(self, report: Any, outcome: str) -> None:
        detail = "" if outcome == "passed" else _detail(report)
        when = getattr(report, "when", "collect")
        stands_for = self.stands_for(report.nodeid)
        if stands_for or when == "collect":
            line = {"id": self._full_id(report.nodeid), "for": stands_for, "when": when}
            self._send({**line, "outcome": outcome, "detail": detail})


class Ignoring:
    """The hook with the argument that pytest has since version 7."""

    def __init__(self, of: Reporting) -> None:
        self._of = of

    def pytest_ignore_collect(self, collection_path: Any) -> bool | None:
        """Load only the files of requested tests."""
        return self._of.leaves_out(str(collection_path))


def _detail(report: Any) -> str:
    if isinstance(report.longrepr, tuple):  # for a skip: file, line, reason
        return str(report.longrepr[-1])[:DETAIL]
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message[:DETAIL] if crash is not None else str(report.longrepr or "")[-DETAIL:]


def pytest_configure(config: Any) -> None:
    """Register the session's plugin, in the process that the supervisor started. Workers of
    pytest-xdist load this too: they deselect the other tests, and their controller reports."""
    global _send
    send, _send = _send, None
    if hasattr(config, "workerinput"):
        send = _silent
    if send is None:
        return
    with open(WANTED, encoding="utf-8") as file:  # noqa: PTH123 - no imports beside the tests'
        order = json.load(file)
    plugin = Reporting(order["wanted"], reports_all=order["every"], send=send)
    config.pluginmanager.register(plugin, "fettle-bench-report")
    if int(pytest.__version__.partition(".")[0]) >= 7:
        config.pluginmanager.register(Ignoring(plugin), "fettle-bench-ignore")
    if send is not _silent and getattr(config.option, "dist", "no") != "no":
        os.environ["PYTEST_PLUGINS"] = __name__  # for workers: the controller runs no test


def _silent(line: dict[str, Any]) -> None:
    """Send nothing: the controller reports the results of its workers."""
