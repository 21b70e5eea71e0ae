"""Checks, the tester and the planner's questions in the graph, with the real sandbox."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from support.graph.graphs import PLAN, Crash, Journey, call, only, turn, verdict

from agents.critic.request import critic_messages
from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryEvents, MemoryRecord
from agents.ports import Bounds, Event
from agents.ports.checks import Checks
from agents.ports.repository import RepositoryFacts
from agents.state import State
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, IsolationLayer, Limits, RunResult

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
TASK = "Write add(a, b) in solution.py."
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TEST = "from solution import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
CHECKS = Checks({"tests/test_add.py": TEST})

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Counted:
    """A sandbox that counts the programs that it runs."""

    inner: LocalSandbox
    runs: int = 0

    async def run(self, command: Command, limits: Limits) -> RunResult:
        self.runs += 1
        return await self.inner.run(command, limits)

    async def check(self) -> tuple[IsolationLayer, ...]:
        return await self.inner.check()

    async def close(self) -> None:
        """Has no resources to close."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local() -> AsyncIterator[LocalSandbox]:
    backend = LocalSandbox(PYTHON)
    try:
        yield backend
    finally:
        await backend.close()


@pytest.fixture
def sandbox(local: LocalSandbox) -> Counted:
    return Counted(local)


def passing(expect: str, text: str, after: int, answer: str = "Done.") -> list[dict[str, Any]]:
    """A pass of the executor: a file, a verification, an answer."""
    write = call("write_file", path="solution.py", content=text)
    check = call(
        "verify", command=["python", "-c", "import solution; solution.add(1, 2); print('written')"]
    )
    return [
        turn("executor", expect, write, check, after=after),
        turn("executor", "stdout:\nwritten", answer, after=after + 1),
    ]


def journey_of(
    folder: Path, turns: list[Any], sandbox: Counted, checks: Checks | None = CHECKS
) -> Journey:
    journey = Journey.plan(folder, turns, sandbox)
    journey.ports = journey.with_ports(checks=checks)
    return journey


MENDED = [
    PLAN,
    *passing("Acceptance checks will run on the work: tests/test_add.py", WRONG, 0),
    verdict("- tests/test_add.py::test_add: failed", "approve", run="r1"),
    *passing("tests/test_add.py::test_add: failed", RIGHT, 2),
    verdict("Acceptance checks of revision 2: passed", "approve", run="r2"),
]


async def test_the_critic_cannot_approve_while_checks_fail(
    tmp_path: Path, sandbox: Counted
) -> None:
    journey = journey_of(tmp_path, MENDED, sandbox)
    await journey.begin(job_fields(TASK, checks=True))
    first, second = journey.event_data("critiqued")
    assert (first["verdict"], first["overruled"]) == (
        "revise",
        "1 of 1 acceptance checks do not pass",
    )
    assert (second["verdict"], second["overruled"]) == ("approve", None)
    outcome = await journey.outcome()
    assert outcome.approved_by == "critic"
    assert outcome.checks is not None
    assert outcome.checks["passed"] is True
    assert [row["revision"] for row in journey.event_data("checked")] == [1, 2]
    failed, verified = journey.event_data("verified")
    assert (failed["source"], failed["holds"], failed["experiments"]) == ("checks", False, [])
    assert (verified["source"], verified["holds"]) == ("checks", True)
    (experiment,) = verified["experiments"]
    assert (experiment["replaced"], experiment["still_green"]) == (["solution.py"], False)
    # The workspace never contained a file of the checks.
    assert list(journey.ports.workspace.list()) == ["solution.py"]


IMPORTS = "import solution\n\n\ndef test_one():\n    assert solution.add\n"


@pytest.mark.parametrize(
    ("checks", "project_files", "source"),
    [
        (CHECKS, (), "checks"),
        (Checks({"test_one.py": "def test_one():\n    assert 1 == 1\n"}), (), "model"),
        (Checks({"test_one.py": IMPORTS}), (), "model"),
        (CHECKS, ("python", "-c", "import solution; solution.add(1, 2)"), "job"),
    ],
    ids=["as they are", "import nothing", "only import", "beside a command of the job's own"],
)
async def test_passed_checks_are_evidence_if_they_fail_without_the_work(
    tmp_path: Path, sandbox: Counted, checks: Checks, project_files: tuple[str, ...], source: str
) -> None:
    turns = [PLAN, *passing(TASK, RIGHT, 0), verdict("(revision 1)", "approve")]
    journey = journey_of(tmp_path, turns, sandbox, checks)
    await journey.begin(job_fields(TASK, checks=True, verify=project_files))
    verified = only(journey.event_data("verified"))
    assert (verified["source"], verified["holds"]) == (source, True)
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_person_may_override_failed_checks_and_sees_them(
    tmp_path: Path, sandbox: Counted
) -> None:
    turns = [PLAN, *passing(TASK, WRONG, 0)]
    journey = journey_of(tmp_path, turns, sandbox)
    journey.ports = journey.with_ports(bounds=Bounds(review=True))
    state = await journey.begin(job_fields(TASK, checks=True))
    review_checks = only(state["__interrupt__"]).value["checks"]
    assert review_checks["passed"] is False
    assert only(review_checks["tests"])["id"] == "tests/test_add.py::test_add"
    await journey.decide("approve")
    outcome = await journey.outcome()
    assert (outcome.approved_by, outcome.override) == ("Ada", True)


WRITTEN = {
    "test_add.py": TEST + "\n\ndef test_nothing():\n    assert True\n",
    "test_broken.py": "def test_x(:\n",
    "test_other.py": "from elsewhere import thing\n\n\ndef test_thing():\n    assert thing\n",
}


def written_by_tester(files: Mapping[str, str]) -> dict[str, Any]:
    written = [{"path": path, "content": text} for path, text in files.items()]
    return turn("tester", TASK, call("Tests", interface="solution.py: add(a, b)", files=written))


async def test_a_tester_writes_tests_first_and_useless_tests_are_dropped(
    tmp_path: Path, sandbox: Counted
) -> None:
    turns = [
        written_by_tester(WRITTEN),
        PLAN,
        *passing("solution.py: add(a, b)", WRONG, 0),
        verdict("- test_add.py::test_add: failed", "revise", "Fix it.", run="r1"),
        *passing("test_add.py::test_add: failed", RIGHT, 2),
        verdict("Acceptance checks of revision 2: passed", "approve", run="r2"),
    ]
    journey = journey_of(tmp_path, turns, sandbox, None)
    await journey.begin(job_fields(TASK, write_tests=True))
    data = only(journey.event_data("tests_written"))
    assert (data["files"], data["tests"]) == (["test_add.py"], ["test_add.py::test_add"])
    dropped = {row["id"]: row["why"] for row in data["dropped"]}
    assert dropped["test_add.py::test_nothing"] == "it passes without a solution"
    assert "it cannot be read" in dropped["test_broken.py"]
    assert dropped["test_other.py"] == "it cannot be run"
    outcome = await journey.outcome()
    assert outcome.approved_by == "critic"
    assert outcome.checks is not None
    assert [test["id"] for test in outcome.checks["tests"]] == ["test_add.py::test_add"]


SOUND = """import pytest

import shop
from solution import Basket, parse


def test_nothing_of_an_empty_text():
    assert parse("") is None


def test_an_empty_basket_is_a_basket():
    assert isinstance(Basket(), Basket)


@pytest.fixture
def parsed():
    return parse(" ")


def test_blank(parsed):
    assert parsed is None


def test_what_is_there_stays():
    assert shop.price() == 7


def test_a_name_is_there():
    assert callable(parse)


def test_a_fixture_is_missing(no_such_fixture):
    assert parse("1") == 1


def test_an_error_of_any_kind():
    with pytest.raises(Exception):
        parse("x")


def test_a_sum():
    assert parse("1") == 1
"""


async def test_the_tester_reads_the_steps_of_the_person(tmp_path: Path, sandbox: Counted) -> None:
    steps = "The steps, as the person planned them:\n\n1. Add a to b.\n2. Test it."
    tests = {**written_by_tester({"test_add.py": TEST}), "expect": steps}
    turns = [
        tests,
        *passing("solution.py: add(a, b)", RIGHT, 0),
        verdict("Acceptance checks of revision 1: passed", "approve", run="r1"),
    ]
    journey = journey_of(tmp_path, turns, sandbox, None)
    await journey.begin(job_fields(TASK, steps=["Add a to b.", "Test it."], write_tests=True))
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_test_that_needs_the_solution_stays_even_if_an_empty_solution_passes_it(
    tmp_path: Path, sandbox: Counted
) -> None:
    turns = [
        turn(
            "tester",
            TASK,
            call(
                "Tests",
                interface="solution.py: parse(text), Basket",
                files=[{"path": "test_parse.py", "content": SOUND}],
            ),
        ),
        PLAN,
        turn("executor", TASK, "No.", after=0),
        verdict("", "revise", "No."),
    ]
    files = {"shop.py": b"def price():\n    return 7\n"}
    journey = Journey.plan(tmp_path, turns, sandbox, files)
    await journey.begin(job_fields(TASK, write_tests=True, max_revisions=1))
    data = only(journey.event_data("tests_written"))
    assert {row["id"].partition("::")[2] for row in data["dropped"]} == {
        "test_a_name_is_there",
        "test_a_fixture_is_missing",
    }
    assert {row["why"] for row in data["dropped"]} == {
        "it passes without a solution",
        "it cannot be run",
    }


def asking(*questions: tuple[str, str]) -> dict[str, Any]:
    expected_questions = [
        {"question": question, "default": default} for question, default in questions
    ]
    return turn(
        "planner", "What do you need to ask first?", call("Questions", questions=expected_questions)
    )


async def test_questions_wait_for_answers_and_a_blank_answer_gets_the_default(
    tmp_path: Path, sandbox: Counted
) -> None:
    answers_text = "- Floats too?\n  Yes, floats.\n- How to round?\n  Not at all."
    turns = [
        asking(("Floats too?", "No."), ("How to round?", "Not at all.")),
        {**PLAN, "expect": answers_text},
        *passing(answers_text, RIGHT, 0),
        verdict("(revision 1)", "approve", run="r1"),
    ]
    journey = journey_of(tmp_path, turns, sandbox, None)
    state = await journey.begin(job_fields(TASK, questions=True))
    expected_questions = only(state["__interrupt__"])
    assert [row["question"] for row in expected_questions.value["questions"]] == [
        "Floats too?",
        "How to round?",
    ]
    again = await journey.go_on()  # a second delivery of the hint leaves the job paused
    assert only(again["__interrupt__"]).id == expected_questions.id
    await journey.resume(expected_questions.id, action="answer", by="Ada", answers=["Yes, floats."])
    assert (await journey.outcome()).approved_by == "critic"


FACTS = RepositoryFacts("c" * 40, 1, test_directories=("tests",), test_names=("test_*.py",))
TESTED = "tests/test_add.py"


def on_repository(journey: Journey, facts: RepositoryFacts = FACTS, **others: Any) -> Journey:
    journey.ports = journey.with_ports(repository=facts, **others)
    return journey


class CrashingEvents(MemoryEvents):
    """Events of an attempt that crashes before it emits an event of a kind."""

    def __init__(self, record: MemoryRecord, kind: str) -> None:
        super().__init__(record)
        self.kind = kind

    async def emit(self, event: Event) -> None:
        if event.kind == self.kind:
            raise Crash
        await super().emit(event)


def paused_work(state: Mapping[str, Any]) -> Mapping[str, Any]:
    payload: Mapping[str, Any] = only(state["__interrupt__"]).value
    return payload


async def test_the_testers_tests_become_part_of_the_change(
    tmp_path: Path, sandbox: Counted
) -> None:
    tamper = call("write_file", path=TESTED, content="# none\n")
    again = [turn("executor", "Fix it.", tamper, after=2), *passing("wrote", RIGHT, 3)]
    turns = [
        written_by_tester({"test_add.py": TEST}),
        PLAN,
        *passing(f"{TESTED}. Do not write or change them.", WRONG, 0),
        *again,
    ]
    journey = Journey.plan(tmp_path, turns, sandbox)
    on_repository(journey, bounds=Bounds(review=True))
    workspace = journey.ports.workspace
    payload = paused_work(await journey.begin(job_fields(TASK, write_tests=True)))
    assert TESTED in [artifact["name"] for artifact in payload["artifacts"]]
    assert payload["checks"]["passed"] is False
    payload = paused_work(await journey.decide("revise", feedback="Fix it."))
    assert await workspace.read(TESTED) == TEST.encode()
    assert [test["id"] for test in payload["checks"]["tests"]] == [f"{TESTED}::test_add"]
    assert payload["checks"]["passed"] is True
    written = [use for use in journey.event_data("tool_used") if use["path"] == TESTED]
    assert [use.get("by") for use in written] == ["tester", None, "tester"]
    state = await journey.graph.aget_state(journey.config)
    _, request = await critic_messages(cast("State", state.values), journey.ports)
    assert request.text.count(f"=== {TESTED}") == 1
    assert f"=== {TESTED}, by the tester\n" in request.text
    by_hand = await workspace.keep(TEST.replace("3", "4").encode())
    payload = paused_work(await journey.decide("edit", files={TESTED: by_hand}))
    assert payload["checks"]["passed"] is False
    payload = paused_work(await journey.decide("edit", files={TESTED: None}))
    assert payload["checks"] is None
    assert payload["verification"]["source"] != "checks"


@pytest.mark.parametrize("path", ["tests", f"{TESTED}/a.txt"])
async def test_the_testers_tests_replace_files_in_their_way(
    tmp_path: Path, sandbox: Counted, path: str
) -> None:
    in_the_way = call("write_file", path=path, content="x\n")
    turns = [
        written_by_tester({"test_add.py": TEST}),
        PLAN,
        turn("executor", TASK, in_the_way),
        *passing("wrote", RIGHT, 1),
        verdict("(revision 1)", "approve", run="r1"),
    ]
    journey = on_repository(Journey.plan(tmp_path, turns, sandbox))
    await journey.begin(job_fields(TASK, write_tests=True))
    assert journey.ports.workspace.list().keys() == {"solution.py", TESTED}
    outcome = await journey.outcome()
    assert outcome.checks is not None
    assert outcome.checks["passed"] is True


async def test_a_crash_repeats_no_step_of_the_testers_tests(
    tmp_path: Path, sandbox: Counted
) -> None:
    turns = [
        written_by_tester({"test_add.py": TEST}),
        PLAN,
        *passing(TASK, RIGHT, 0),
        verdict("(revision 1)", "approve", run="r1"),
    ]
    journey = on_repository(Journey.plan(tmp_path, turns, sandbox))
    journey.ports = journey.with_ports(events=CrashingEvents(journey.record, "answered"))
    with pytest.raises(Crash):
        await journey.begin(job_fields(TASK, write_tests=True))
    journey.ports = journey.with_ports(events=MemoryEvents(journey.record))
    await journey.go_on()
    outcome = await journey.outcome()
    assert TESTED in [artifact["name"] for artifact in outcome.artifacts]
    assert outcome.checks is not None
    assert outcome.checks["passed"] is True
    assert len(journey.event_data("tests_written")) == 1
    assert len([use for use in journey.event_data("tool_used") if use["path"] == TESTED]) == 1


@pytest.mark.parametrize(
    ("verify", "files", "note"),
    [
        (("npm", "test"), {"a.py": b""}, "`npm test` runs the project's tests: "),
        ((), {"src/a.ts": b""}, "the project has no Python files: "),
    ],
)
async def test_a_project_in_another_language_gets_no_tests_and_a_note(
    tmp_path: Path,
    sandbox: Counted,
    verify: tuple[str, ...],
    files: Mapping[str, bytes],
    note: str,
) -> None:
    turns = [PLAN, turn("executor", TASK, "No."), verdict("", "revise", "No.")]
    journey = Journey.plan(tmp_path, turns, sandbox, files)
    on_repository(journey, replace(FACTS, verify=verify))
    await journey.begin(job_fields(TASK, write_tests=True, max_revisions=1))
    data = only(journey.event_data("tests_written"))
    assert data["note"].startswith(f"{note}the tester writes tests for pytest only")
    assert (data["files"], data["dropped"]) == ([], [])
