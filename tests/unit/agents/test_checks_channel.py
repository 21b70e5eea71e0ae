"""The supervisor's side: whom it believes, and what it makes of silence."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator

import pytest

from agents.checks.supervised.channel import Forged, ReportReader, Silent
from agents.checks.supervised.expected import Expected
from agents.checks.supervised.supervisor import _tests


class Process:
    """A tested process, scripted: what it says of its own accord, or to a number."""

    def __init__(self) -> None:
        self.reports_in, self._out = os.pipe()
        self._numbers, self.numbers_out = os.pipe()
        self.given: list[str] = []

    def says(self, *lines: object) -> None:
        os.write(self._out, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def answers(self, *more: object, **report: object) -> None:
        """Ask for a number, answer with it (or with another, where `report` has one), and go on."""

        def speak() -> None:
            self.says({"next": True})
            self.given.append(os.read(self._numbers, 32).decode())
            self.says({"id": "a", "number": self.given[-1], **report}, *more)

        threading.Thread(target=speak).start()

    def asker(self, alive: bool = True, seconds: float = 60.0) -> ReportReader:
        until = time.monotonic() + seconds
        return ReportReader(self.reports_in, self.numbers_out, lambda: alive, until)

    def close(self) -> None:
        for fd in (self.reports_in, self._out, self._numbers, self.numbers_out):
            os.close(fd)


@pytest.fixture
def tested() -> Iterator[Process]:
    made = Process()
    yield made
    made.close()


def test_a_report_with_its_number_is_believed_once(tested: Process) -> None:
    asker = tested.asker()
    for name in ("a", "b"):
        tested.answers(id=name)
        assert asker.next_report() == {"id": name}
    asker.require_no_more()
    assert len(set(tested.given)) == 2


def test_an_old_number_or_none_is_a_forgery(tested: Process) -> None:
    asker = tested.asker()
    tested.answers()
    asker.next_report()
    for number in (tested.given[0], "", None, "0" * 32):
        tested.answers(number=number)
        with pytest.raises(Forged, match="a number that was not given"):
            asker.next_report()


def test_what_was_not_asked_for_is_a_forgery(tested: Process) -> None:
    tested.says({"id": "a", "number": "0" * 32})
    with pytest.raises(Forged, match="not requested"):
        tested.asker().next_report()


@pytest.mark.parametrize("line", ["no report", 3, ["next"]])
def test_what_is_no_report_is_a_forgery(tested: Process, line: object) -> None:
    tested.says(line)
    with pytest.raises(Forged, match="cannot be read"):
        tested.asker().next_report()


@pytest.mark.parametrize("at_once", [True, False])
def test_two_answers_to_a_question_are_a_forgery(tested: Process, at_once: bool) -> None:
    asker = tested.asker()
    tested.answers(*[{"id": "a"}] * at_once)
    asker.next_report()
    tested.says(*[{"id": "a"}] * (not at_once))
    with pytest.raises(Forged, match="more than one report"):
        asker.require_no_more()


def test_silence_is_told_from_time(tested: Process) -> None:
    with pytest.raises(Silent, match="ended"):
        tested.asker(alive=False).next_report()
    with pytest.raises(Silent, match="time"):
        tested.asker(seconds=0.01).next_report()


def test_a_test_that_nobody_has_heard_of_is_missing() -> None:
    wanted = [Expected(name, cases, may_skip=False) for name, cases in (("a", 1), ("b", 1))]
    wanted += [Expected("c", 2, may_skip=False), Expected("d", None, may_skip=True)]
    passed = {"outcome": "passed", "detail": ""}
    heard = {"a": passed, "c[1]": passed, "d[1]": {"outcome": "skipped", "detail": ""}, "e": passed}
    told = [(test["id"], test["outcome"], test["detail"]) for test in _tests(wanted, heard, {})]
    assert told == [
        ("a", "passed", ""),
        ("b", "missing", "it was not reported"),
        ("c[1]", "passed", ""),
        ("c", "missing", "1 of its 2 cases were reported"),
        ("d[1]", "passed", ""),
        ("e", "passed", ""),
    ]


@pytest.mark.parametrize("outcome", ["skipped", "xfailed", "nonsense"])
def test_an_outcome_that_the_source_does_not_allow_is_a_failure(outcome: str) -> None:
    heard = {"a": {"outcome": outcome, "detail": "why"}}
    (test,) = _tests([Expected("a", 1, may_skip=False)], heard, {})
    assert test["outcome"] == "failed"
    assert test["detail"] == f"{outcome}, which its source does not say. why"
