"""Session: pytest as the checks see it, and what it has to say to the supervisor.

Canaries are among the tests: tests that must fail. Where one passes, somebody has bent the judge;
the supervisor knows them, and counts nothing then.
"""

from __future__ import annotations

import operator
import random
import types
from pathlib import Path

import pytest

from agents.checks.room.seal import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from agents.checks.room.channel import Teller
    from agents.checks.room.guard import Guard
    from agents.checks.room.sources import Sources

DETAIL_CHARACTERS = 2_000
OUTPUT_CHARACTERS = 600
ERROR_CHARACTERS = 20_000
"""Of all files that could not be collected, the first ones first: they go in one report."""
ID_CHARACTERS = 1_000
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
CANARIES = ("test_equals", "test_raises", "TestSuite::test_equal")
_IS = operator.is_


class Module(pytest.Module):
    """A test module of the checks: run from what was compiled beforehand."""

    sources: Sources

    def _getobj(self) -> Any:
        try:
            return self.sources.run(str(self.path))
        except SystemExit as end:
            raise self.CollectError(f"importing it called for an exit ({end.code!r})") from end


class Session:
    """A plug-in of pytest. What it asks for and reports is in `channel`; see `Teller`."""

    def __init__(
        self, teller: Teller, sources: Sources, guard: Guard, mix: Callable[[list[Any]], list[Any]]
    ) -> None:
        self._teller, self._sources, self._guard, self._mix = teller, sources, guard, mix
        self._reports: list[pytest.TestReport] = []
        self._codes: dict[str, object] = {}
        self._cases: dict[str, tuple[object, ...]] = {}
        self._errors: dict[str, str] = {}
        self.seal = sealed([self, teller, guard, *sources.keepers()], sources.seen)

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """pytest has put its own finder first, which reads from files."""
        self._sources.first()

    def pytest_configure(self, config: pytest.Config) -> None:
        """No conftest counts but the checks' own, whoever writes one meanwhile."""
        config.option.tbstyle = "short"
        manager: Any = config.pluginmanager
        read, paths = manager._importconftest, self._sources.paths  # noqa: SLF001

        def read_ours(path: Path, *given: Any, **named: Any) -> types.ModuleType:
            ours = str(path) in paths
            return read(path, *given, **named) if ours else types.ModuleType("conftest")

        manager._importconftest = read_ours  # noqa: SLF001

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """All plug-ins are there, and nothing of the solution."""
        self._guard.watch(session.config.pluginmanager, self._sources.loaded)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.Module | None:
        """Ours, for the checks' files."""
        if str(module_path) not in self._sources.paths:
            return None
        made: Module = Module.from_parent(parent, path=module_path)
        made.sources = self._sources
        return made

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take down what could not be collected."""
        if report.failed:
            left = ERROR_CHARACTERS - sum(len(name + text) for name, text in self._errors.items())
            room = min(DETAIL_CHARACTERS, left - len(report.nodeid))
            if room > 0:
                self._errors[report.nodeid] = report.longreprtext[-room:]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mix them, and take down what they are."""
        items[:] = self._mix(items)
        self._codes = {each.nodeid: _code(each) for each in items}
        if not any("callspec" in text for text in self._sources.texts.values()):
            self._cases = {each.nodeid: _case(each) for each in items}
        next(self.seal)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Ask before a test, report behind it."""
        self._sources.look()
        self._teller.begin()
        self._reports = reports = list[pytest.TestReport]()
        intact = _code(item) is self._codes.get(item.nodeid) and self._has_arguments(item)
        try:
            result = yield
        except BaseException as error:
            why = f"the session was broken off ({type(error).__name__})"
            self._teller.tell({"id": _id(item), "outcome": "error", "detail": why})
            raise
        self._guard.look()
        intact = intact and self._reports is reports and self._has_arguments(item)
        outcome = _outcome(reports) if intact else "replaced"
        self._teller.tell({"id": _id(item), "outcome": outcome, "detail": _detail(reports)})
        return result

    def _has_arguments(self, item: pytest.Item) -> bool:
        """Whether its case is what was collected."""
        was, now = self._cases.get(item.nodeid), _case(item)
        return was is None or (len(was) == len(now) and all(map(_IS, was, now)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take down a phase of the test at work."""
        self._reports.append(report)

    def close(self, status: int, changed: Sequence[str]) -> dict[str, Any]:
        """The last report: how pytest ended, what was not collected, what is not as it was."""
        return {"end": status, "errors": self._errors, "changed": list(changed[:20])}


def mixer(canary: str) -> Callable[[list[pytest.Item]], list[pytest.Item]]:
    """Puts the tests of the file `canary` anywhere among the others, whose own order stays."""
    anywhere = random.SystemRandom().randrange

    def mix(items: list[pytest.Item]) -> list[pytest.Item]:
        mixed = [each for each in items if not each.nodeid.startswith(canary)]
        for item in items:
            if item.nodeid.startswith(canary):
                mixed.insert(anywhere(len(mixed) + 1), item)
        return mixed

    return mix


def _id(item: pytest.Item) -> str:
    """A test's id; of one with endless parameters the beginning, and what tells it from others."""
    whole = item.nodeid
    if len(whole) <= ID_CHARACTERS:
        return whole
    return f"{whole[: ID_CHARACTERS - 16]}{hash(whole) & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _code(item: pytest.Item) -> object:
    function = getattr(item, "function", None)
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _case(item: pytest.Item) -> tuple[object, ...]:
    """The arguments that `parametrize` gives it."""
    made = getattr(item, "callspec", None)
    return () if made is None else tuple(made.params.values())


def _outcome(reports: Sequence[pytest.TestReport]) -> str:
    phases = {report.when: report for report in reports}
    if any(report.failed for report in reports):
        call = phases.get("call")
        return "failed" if call is not None and call.failed else "error"
    if any(report.skipped for report in reports):
        return "xfailed" if any(hasattr(report, "wasxfail") for report in reports) else "skipped"
    return "passed" if phases.keys() >= {"setup", "call", "teardown"} else "error"


def _detail(reports: Sequence[pytest.TestReport]) -> str:
    told = next((report for report in reports if not report.passed), None)
    if told is None:
        return ""
    text = told.longreprtext
    if isinstance(told.longrepr, tuple):  # of a skip: file, line, why
        text = str(told.longrepr[2])
    for name, content in told.sections:
        text += f"\n{name}:\n{content[-OUTPUT_CHARACTERS:]}"
    return text[-DETAIL_CHARACTERS:]
