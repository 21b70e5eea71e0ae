"""Verification by experiment, with the real sandbox: which runs are evidence of a job's work."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
import pytest_asyncio
from support.graph.graphs import ASKED, PLAN, Journey, Written, call, only, turn, verdict

from agents.evidence.conclusions import PASSES_BEFORE
from agents.graph.job_input import job_fields
from agents.ports import Bounds
from jobs.view.verdict import Level, Verdict, verdict_of
from sandbox.local import LocalSandbox

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
TASK = "Write add(a, b) in sums.py."
WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
TEST = "from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
CHECK = "from sums import add\n\nassert add(1, 2) == 3\nprint('it adds')\n"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(PYTHON, pool_size=1)
    try:
        yield local
    finally:
        await local.close()


def write(path: str, content: str) -> Written:
    return call("write_file", path=path, content=content)


def python(code: str) -> Written:
    return call("python", code=code)


def pytest_over(*paths: str) -> Written:
    return call("verify", paths=list(paths) or ["."])


def command(*words: str) -> Written:
    return call("verify", command=list(words))


WRITES = write("sums.py", RIGHT)
WRITES_TEST = write("test_sums.py", TEST)
BY_ITSELF = f"open('sums.py', 'w').write({RIGHT!r})\nimport sums\nassert sums.add(1, 2) == 3"


async def done(
    folder: Path,
    sandbox: LocalSandbox,
    *calls: Written,
    calls_when_asked: tuple[Written, ...] = (),
    files: Mapping[str, bytes] | None = None,
    bounds: Bounds | None = None,
    **job: Any,
) -> Journey:
    """A job of one pass that makes these calls in one reply, is perhaps asked for a verification
    and then makes `calls_when_asked`; its critic approves."""
    turns = [PLAN, turn("executor", TASK, *calls, after=0)]
    turns += [turn("executor", ASKED, *(calls_when_asked or ["There is none."]), after=2)]
    turns += [turn("executor", "", "It adds."), verdict("(revision 1)", "approve")]
    journey = Journey.plan(folder, turns, sandbox, files, bounds)
    fields = {"max_revisions": 1, "files": tuple(files or ()), **job}
    await journey.begin(job_fields(TASK, **fields))
    return journey


def tried(
    verification: Mapping[str, Any], kind: str = "unloadable"
) -> list[tuple[list[str], bool]]:
    experiments = [entry for entry in verification["experiments"] if entry["kind"] == kind]
    return [(experiment["replaced"], experiment["still_green"]) for experiment in experiments]


NONE: dict[str, tuple[list[Written], str]] = {
    "a program that only prints": (
        [WRITES, command("python", "-c", "print('it adds')")],
        "still passes when sums.py cannot be loaded",
    ),
    "a check that reads the file": (
        [WRITES, command("grep", "-q", "a + b", "sums.py")],
        "still passes when sums.py cannot be loaded",
    ),
    "one that hides its exit code": (
        [write("sums.py", WRONG), WRITES_TEST, command("bash", "-c", "pytest || true")],
        "still passes when sums.py cannot be loaded",
    ),
    "a program that writes what it runs": ([python(BY_ITSELF)], "writes sums.py itself"),
    "work that was changed behind it": (
        [WRITES, WRITES_TEST, pytest_over(), write("sums.py", WRONG)],
        "failed: 1 of 1 tests failed: test_sums.py::test_add",
    ),
    "no tests": ([WRITES, pytest_over()], "pytest found no tests"),
    "code that never ran": ([WRITES], "nothing has been run"),
}


@pytest.mark.parametrize(("calls", "problem"), NONE.values(), ids=NONE)
async def test_a_run_without_the_work_is_no_verification(
    tmp_path: Path, sandbox: LocalSandbox, calls: list[Written], problem: str
) -> None:
    journey = await done(tmp_path, sandbox, *calls)
    verification = only(journey.event_data("verified"))
    assert verification["holds"] is False
    assert problem in verification["problem"]
    critique = only(journey.event_data("critiqued"))
    assert (critique["verdict"], critique["overruled"]) == ("revise", verification["problem"])
    outcome = await journey.outcome()
    assert (outcome.approved, outcome.exhausted) == (False, True)


async def test_an_experiment_records_its_output_and_changes_no_file(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    journey = await done(
        tmp_path, sandbox, WRITES, write("check.py", CHECK), command("python", "check.py")
    )
    (experiment,) = only(journey.event_data("verified"))["experiments"]
    assert (experiment["replaced"], experiment["exit_code"]) == (["sums.py"], 1)
    assert "ImportError: replaced, to see whether" in experiment["stderr"]["text"]
    assert experiment["stdout"] == {"text": "", "dropped_bytes": 0, "digest": None}
    assert len(journey.event_data("run_finished")) == 1
    files = (await journey.ports.workspace.tree()).files
    assert files == {"sums.py": RIGHT.encode(), "check.py": CHECK.encode()}


async def test_a_verification_runs_again_only_after_a_change(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    calls = [WRITES, WRITES_TEST, pytest_over(), write("notes.md", "Done.")]
    journey = await done(tmp_path, sandbox, *calls)
    first, again = journey.event_data("run_finished")
    assert (again["tool"], again["by"], again["number"]) == ("verify", "executor", 2)
    assert again["on"] == again["workspace"] == journey.ports.workspace.digest != first["on"]
    assert again["tests"]["counts"] == {"passed": 1}
    assert again["artifacts"] == []
    assert only(journey.event_data("verified"))["run"] == "r2"


async def test_files_that_a_verification_writes_are_not_delivered(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    """Its `verify` left a file, so Fettle runs it again on the new files."""
    logs = command(
        "python", "-c", "import sums, uuid; open(uuid.uuid4().hex + str(sums.add(1, 2)), 'w')"
    )
    journey = await done(tmp_path, sandbox, WRITES, logs)
    assert len(journey.event_data("run_finished")) == 2
    assert only(journey.event_data("verified"))["holds"] is True
    assert len(journey.ports.workspace.list()) == 2


async def test_a_model_without_a_declared_verification_is_asked_once(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    journey = await done(tmp_path, sandbox, WRITES, calls_when_asked=(WRITES_TEST, pytest_over()))
    assert only(journey.event_data("verified"))["source"] == "model"
    assert only(journey.event_data("answered"))["text"] == "It adds."
    roles = [data["role"] for data in journey.event_data("model_called")]
    assert (
        roles.count("executor") == 4
    )  # the work, an answer, the requested verification, an answer
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_model_that_only_looks_at_files_is_not_asked_again(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    journey = await done(tmp_path, sandbox, WRITES, calls_when_asked=(call("list_dir"),))
    roles = [data["role"] for data in journey.event_data("model_called")]
    assert roles.count("executor") == 4
    assert only(journey.event_data("verified"))["problem"] == "nothing has been run"


@pytest.mark.parametrize(
    ("calls", "job"),
    [
        ([write("data.csv", "1,2\n"), python("print(3)")], {}),
        ([WRITES, WRITES_TEST], {"verify": ("pytest", "-q")}),
        ([python("print(3)")], {}),
    ],
    ids=["no source files", "the job's own", "no files"],
)
async def test_a_job_without_source_files_is_not_asked(
    tmp_path: Path, sandbox: LocalSandbox, calls: list[Written], job: dict[str, Any]
) -> None:
    journey = await done(tmp_path, sandbox, *calls, **job)
    roles = [data["role"] for data in journey.event_data("model_called")]
    assert roles.count("executor") == 2


async def test_the_command_of_the_job_counts_and_is_in_the_prompt(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    instruction = (
        "has to end with exit code 0: `python -c 'import sums; assert sums.add(1, 2) == 3'`"
    )
    turns = [
        PLAN,
        turn("executor", instruction, write("sums.py", WRONG), python("import sums"), after=0),
        turn("executor", "exit code 0", "It adds.", after=1),
        verdict("(revision 1)", "approve"),
        turn("executor", "failed: AssertionError", WRITES, after=2),
        turn("executor", "wrote sums.py", "Now it does.", after=3),
        verdict("(revision 2)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox)
    verify_command = ("python", "-c", "import sums; assert sums.add(1, 2) == 3")
    await journey.begin(job_fields(TASK, verify=verify_command))
    first, second = journey.event_data("verified")
    assert (first["source"], first["holds"]) == (second["source"], False) == ("job", False)
    assert (second["holds"], tried(second)) == (True, [(["sums.py"], False)])
    assert only(journey.event_data("repaired"))["run"] == second["run"]
    assert (await journey.outcome()).approved_by == "critic"


async def test_the_initial_files_of_a_job_are_not_its_work(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    """A test that imports an existing module does not verify the module that the job wrote."""
    files_before = {"sums.py": RIGHT.encode(), "test_sums.py": TEST.encode()}
    journey = await done(
        tmp_path, sandbox, write("shop.py", "x = 1\n"), pytest_over(), files=files_before
    )
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], tried(verification)) == (False, [(["shop.py"], True)])


async def test_a_verification_fails_without_the_change(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    files_before = {"sums.py": WRONG.encode(), "test_old.py": b"def test_it():\n    import sums\n"}
    journey = await done(tmp_path, sandbox, WRITES, WRITES_TEST, pytest_over(), files=files_before)
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], verification["notes"], verification["judged_by"]) == (
        True,
        [],
        "report",
    )
    assert tried(verification, "before") == tried(verification) == [(["sums.py"], False)]
    (before, _) = verification["experiments"]
    assert "assert -1 == 3" in before["stdout"]["text"]


async def test_a_change_that_makes_no_difference_is_noted(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    files_before = {"sums.py": RIGHT.encode(), "test_sums.py": TEST.encode()}
    rewrite = write("sums.py", RIGHT.replace("a + b", "b + a"))
    journey = await done(tmp_path, sandbox, rewrite, pytest_over(), files=files_before)
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], tried(verification, "before")) == (True, [(["sums.py"], True)])
    assert verification["notes"] == [PASSES_BEFORE]
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_change_that_keeps_the_behaviour_may_pass_before_it(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    files_before = {"sums.py": RIGHT.encode(), "test_sums.py": TEST.encode()}
    plan = call("Plan", steps=["Swap the operands."], keeps_behaviour=True)
    rewrite = write("sums.py", RIGHT.replace("a + b", "b + a"))
    turns = [
        turn("planner", "The task:", plan),
        turn("executor", TASK, rewrite, pytest_over(), after=0),
        turn("executor", "", "Done.", after=1),
        verdict("(revision 1)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox, files_before)
    await journey.begin(job_fields(TASK, files=tuple(files_before)))
    verification = only(journey.event_data("verified"))
    assert (tried(verification, "before"), verification["notes"]) == ([(["sums.py"], True)], [])


OWN_WORD: dict[str, tuple[list[Written], bool]] = {
    "a program that prints": ([python("print('all found')")], True),
    "a program that verifies itself": (
        [write("look.py", "print('all found')\n"), command("python", "look.py")], True,
    ),
    "data that another program verifies": (
        [python("open('n.txt', 'w').write('3')"), command("grep", "-q", "3", "n.txt")], False,
    ),
    "a program that another one verifies": (
        [WRITES, write("check.py", CHECK), command("python", "check.py")], False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("calls", "own_word"), OWN_WORD.values(), ids=OWN_WORD)
async def test_a_program_that_only_verifies_itself_is_marked(
    tmp_path: Path, sandbox: LocalSandbox, calls: list[Written], own_word: bool
) -> None:
    journey = await done(tmp_path, sandbox, *calls)
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], verification["own_word"]) == (True, own_word)
    assert verification["judged_by"] == "exit_code"


async def test_unnoticed_mutations_are_given_to_the_executor_once(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    weak = write("test_sums.py", TEST.replace("== 3", "is not None"))
    turns = [
        PLAN,
        turn("executor", TASK, WRITES, weak, pytest_over(), after=0),
        turn("executor", "passed", "It adds.", after=1),
        verdict("(revision 1)", "revise", "Say more."),
        turn(
            "executor", "- sums.py:2: `return a - b` instead of `return a + b`\n", "More.", after=2
        ),
        verdict("(revision 2)", "revise", "Say still more."),
        turn("executor", "Say still more.\n\nFix this", "Still more.", after=3),
        verdict("(revision 3)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox, bounds=MUTATED)
    await journey.begin(job_fields(TASK))
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_changed_setting_is_reverted(tmp_path: Path, sandbox: LocalSandbox) -> None:
    test = b"def test_limit():\n    assert open('limit.txt').read() == '5'\n"
    files_before = {"limit.txt": b"4", "test_limit.py": test}
    journey = await done(
        tmp_path, sandbox, write("limit.txt", "5"), pytest_over(), files=files_before
    )
    verification = only(journey.event_data("verified"))
    assert (verification["source"], verification["holds"]) == ("model", True)
    assert tried(verification, "before") == [(["limit.txt"], False)]


async def test_a_file_that_no_test_exercises_is_named(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    helper = write("release.py", "def release():\n    raise NotImplementedError\n")
    journey = await done(tmp_path, sandbox, WRITES, helper, WRITES_TEST, pytest_over())
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], tried(verification)) == (
        True,
        [(["release.py"], True), (["sums.py"], False)],
    )
    (note,) = verification["notes"]
    assert "does not exercise release.py" in note


IMPORTS = "import sums\n\n\ndef test_add():\n    assert sums.add\n"
REPLACES = "import sums\n\nsums.add = lambda a, b: a + b\n"
CLI = (
    RIGHT + "\n\nif __name__ == '__main__':\n    import sys\n    print(add(1, int(sys.argv[1])))\n"
)
RUNS_CLI = (
    "import subprocess, sys\n\n\ndef test_cli():\n"
    "    run = [sys.executable, '-I', 'sums.py', '2']\n"
    "    assert subprocess.check_output(run, env={}) == b'3\\n'\n"
)
TRACES = (
    "import sys, threading\n\nsys.settrace(lambda *_: None)\nsys.setprofile(None)\n\n"
    "import sums\n\n\ndef test_add():\n    seen = []\n"
    "    thread = threading.Thread(target=lambda: seen.append(sums.add(1, 2)))\n"
    "    thread.start()\n    thread.join()\n    assert seen == [3]\n"
)
HIDES = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
    "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
)
MUTATED = Bounds(mutations=20)
UNEXECUTED: dict[str, list[Written]] = {
    "a test that only imports": [WRITES, write("test_sums.py", IMPORTS), pytest_over()],
    "a program that only imports": [WRITES, command("python", "-c", "import sums")],
    "a conftest.py that replaces the function": [
        write("sums.py", WRONG), WRITES_TEST, write("conftest.py", REPLACES), pytest_over(),
    ],
}  # fmt: skip
EXECUTED: dict[str, list[Written]] = {
    "a test": [WRITES, WRITES_TEST, pytest_over()],
    "a child process": [write("sums.py", CLI), write("test_cli.py", RUNS_CLI), pytest_over()],
    "a thread beside a trace function": [WRITES, write("test_sums.py", TRACES), pytest_over()],
    "a pipe": [write("sums.py", CLI), command("bash", "-c", "python sums.py 2 | grep -q 3")],
}


@pytest.mark.parametrize("calls", UNEXECUTED.values(), ids=UNEXECUTED)
async def test_a_verification_has_to_execute_a_changed_function(
    tmp_path: Path, sandbox: LocalSandbox, calls: list[Written]
) -> None:
    journey = await done(tmp_path, sandbox, *calls)
    verification = only(journey.event_data("verified"))
    assert "executes none of the functions that the job wrote or changed" in verification["problem"]
    assert verification["functions"] == {"executed": [], "not_executed": ["sums.py::add"]}
    assert not (await journey.outcome()).approved


async def test_hooks_that_turn_failures_into_successes_are_no_evidence(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    calls = write("sums.py", WRONG), WRITES_TEST, write("conftest.py", HIDES), pytest_over()
    journey = await done(tmp_path, sandbox, *calls, bounds=MUTATED)
    verification = only(journey.event_data("verified"))
    assert "the functions that it executes (sums.py::add) raise an error" in verification["problem"]
    assert not (await journey.outcome()).approved


async def test_changed_tests_are_noted(tmp_path: Path, sandbox: LocalSandbox) -> None:
    files_before = {"sums.py": WRONG.encode(), "test_sums.py": TEST.encode()}
    calls = WRITES, write("test_sums.py", TEST.replace("== 3", "== +3")), pytest_over()
    journey = await done(tmp_path, sandbox, *calls, files=files_before)
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], verification["notes"]) == (
        True, ["The job changed existing tests: test_sums.py."],
    )  # fmt: skip


@pytest.mark.parametrize("calls", EXECUTED.values(), ids=EXECUTED)
async def test_a_function_counts_as_executed_in_any_process_or_thread(
    tmp_path: Path, sandbox: LocalSandbox, calls: list[Written]
) -> None:
    journey = await done(tmp_path, sandbox, *calls, bounds=MUTATED)
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], verification["notes"]) == (True, [])
    assert verification["functions"] == {"executed": ["sums.py::add"], "not_executed": []}
    assert verification["strength"]["noticed"] == verification["strength"]["tried"] > 0
    assert not any(path.startswith(".fettle") for path in journey.ports.workspace.list())


async def test_a_weak_test_has_a_low_strength(tmp_path: Path, sandbox: LocalSandbox) -> None:
    weak = write("test_sums.py", TEST.replace("== 3", "is not None"))
    journey = await done(tmp_path, sandbox, WRITES, weak, pytest_over(), bounds=MUTATED)
    verification = only(journey.event_data("verified"))
    unnoticed = verification["strength"]["unnoticed"]
    assert {"path": "sums.py", "line": 2, "before": "return a + b", "after": "return a - b"} in (
        unnoticed
    )
    assert len(unnoticed) == verification["strength"]["tried"] - verification["strength"]["noticed"]
    assert (verification["holds"], (await journey.outcome()).approved) == (True, True)


async def test_the_mutations_of_a_workspace_are_always_the_same(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    long = write("sums.py", RIGHT + "".join(f"\n\ndef f{n}():\n    return {n}\n" for n in range(9)))
    few, verification = Bounds(mutations=3), list[Any]()
    for name in ("once", "again"):
        journey = await done(tmp_path / name, sandbox, long, WRITES_TEST, pytest_over(), bounds=few)
        verification.append(only(journey.event_data("verified"))["strength"])
    assert verification[0] == verification[1]
    assert verification[0]["tried"] == 3


async def test_work_that_only_deletes_a_file_is_verified_by_the_tests(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    files_before = {"sums.py": RIGHT.encode(), "old.py": b"x = 1\n", "test_sums.py": TEST.encode()}
    deletes = call("shell", command="rm old.py")
    journey = await done(tmp_path, sandbox, deletes, pytest_over(), files=files_before)
    verification = only(journey.event_data("verified"))
    assert (verification["source"], verification["holds"]) == ("model", True)
    assert tried(verification, "before") == [(["old.py"], True)]


async def test_a_person_s_edit_is_verified_before_it_is_shown(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, WRITES, WRITES_TEST, pytest_over(), after=0),
        turn("executor", "passed", "It adds.", after=1),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox, bounds=Bounds(review=True))
    state = await journey.begin(job_fields(TASK))
    review = only(state["__interrupt__"]).value
    assert (review["unproven"], review["verification"]["holds"]) == (None, True)
    proof = "Verified: `pytest .`, 1 passed over exactly these files"
    assert verdict_of(review) == Verdict(Level.GREEN, proof, ANY, needs_override=False)
    state = await journey.decide("edit", code=f"open('sums.py', 'w').write({WRONG!r})")
    review = only(state["__interrupt__"]).value
    assert review["unproven"].startswith("the verification `pytest .` failed: 1 of 1 tests failed")
    assert verdict_of(review) == Verdict(Level.RED, "1 test fails", ANY, needs_override=True)
    assert [(run["tool"], run["by"]) for run in review["runs"]] == [
        ("verify", "executor"), ("python", "Ada"), ("verify", "executor"),
    ]  # fmt: skip
    edited_code = RIGHT.replace("a + b", "b + a")
    state = await journey.decide("edit", code=f"open('sums.py', 'w').write({edited_code!r})")
    assert only(state["__interrupt__"]).value["unproven"] is None
    assert only(journey.event_data("repaired"))["run"] == "r5"
    await journey.decide("approve")
    outcome = await journey.outcome()
    assert (outcome.approved_by, outcome.override) == ("Ada", False)


async def test_files_that_a_person_writes_are_verified_before_they_are_shown(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    heard = "Ada changed `sums.py`:\n\n```diff\n--- a/sums.py\n+++ b/sums.py\n"
    turns = [
        PLAN,
        turn("executor", TASK, WRITES, WRITES_TEST, pytest_over(), after=0),
        turn("executor", "passed", "It adds.", after=1),
        turn("executor", heard, "I see.", after=2),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox, bounds=Bounds(review=True))
    await journey.begin(job_fields(TASK))
    wrong = await journey.ports.workspace.keep(WRONG.encode())
    state = await journey.decide("edit", files={"sums.py": wrong, "notes.md": wrong})
    review = only(state["__interrupt__"]).value
    assert verdict_of(review) == Verdict(Level.RED, "1 test fails", ANY, needs_override=True)
    assert only(review["decisions"])["files"] == {"sums.py": wrong, "notes.md": wrong}
    assert review["refused_edit"] is None
    edits = [use for use in journey.event_data("tool_used") if use.get("by") == "Ada"]
    assert [(use["tool"], use["path"]) for use in edits] == [
        ("write_file", "notes.md"), ("edit_file", "sums.py"),
    ]  # fmt: skip
    assert edits[1]["diff"].startswith("--- a/sums.py\n+++ b/sums.py\n")
    assert only(edits[1]["artifacts"])["digest"] == wrong
    again = await journey.ports.workspace.keep(RIGHT.replace("a + b", "b + a").encode())
    state = await journey.decide("edit", files={"sums.py": again, "notes.md": None})
    review = only(state["__interrupt__"]).value
    assert (review["unproven"], review["verification"]["holds"]) == (None, True)
    assert [artifact["name"] for artifact in review["artifacts"]] == ["sums.py", "test_sums.py"]
    state = await journey.decide("revise", feedback="Keep it.")
    assert only(state["__interrupt__"]).value["answer"] == "I see."


@pytest.mark.parametrize(
    ("path", "removed", "reason"),
    [
        ("sums.py/a.py", False, "a file and a directory at once: 'sums.py'"),
        ("other.py", True, "there is no file 'other.py' to remove"),
        (".setup/a.py", False, "files in .setup/ are installed dependencies"),
    ],
)
async def test_an_edit_that_the_workspace_cannot_take_changes_no_file(
    tmp_path: Path, sandbox: LocalSandbox, path: str, removed: bool, reason: str
) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, WRITES, WRITES_TEST, pytest_over(), after=0),
        turn("executor", "passed", "It adds.", after=1),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox, bounds=Bounds(review=True))
    await journey.begin(job_fields(TASK))
    before = journey.ports.workspace.digest
    wrong = await journey.ports.workspace.keep(WRONG.encode())
    files = {"sums.py": wrong, path: None if removed else wrong}
    runs = len(journey.event_data("run_finished"))
    program = "open('left.py', 'w').close()"
    state = await journey.decide("edit", files=files, code=program)
    review = only(state["__interrupt__"]).value
    assert not [run for run in journey.event_data("run_finished")[runs:] if run["by"] == "Ada"]
    assert review["refused_edit"].startswith(reason)
    assert (journey.ports.workspace.digest, review["unproven"]) == (before, None)
    assert [use["ok"] for use in journey.event_data("tool_used") if use.get("by") == "Ada"] == [
        False, False,
    ]  # fmt: skip


QUESTION = "What does add(1, 2) in sums.py return?"
ASKS = turn("planner", "The task:", call("Plan", steps=["Answer it."], only_answer=True))
READS = call("read_file", path="sums.py")


async def answered(
    folder: Path,
    plan: Written,
    *calls: Written,
    files: Mapping[str, bytes] | None,
    excerpt: str = "(revision 1)",
) -> Journey:
    """A job that asks a question, makes these calls in one reply, and answers. The
    request of the critic contains `excerpt`, and the critic approves."""
    turns = [plan, turn("executor", QUESTION, *calls, after=0)]
    turns += [turn("executor", "", "It returns 3, by line 2 of sums.py.", after=1)]
    turns += [turn("executor", ASKED, "There is none.", after=2)]
    turns += [verdict(excerpt, "approve")]
    journey = Journey.plan(folder, turns, LocalSandbox(PYTHON, pool_size=0), files)
    job = job_fields(QUESTION, files=tuple(files or ()), start=journey.ports.workspace.digest)
    try:
        await journey.begin({**job, "max_revisions": 1})
    finally:
        await journey.ports.sandbox.close()
    return journey


async def test_a_question_about_files_ends_with_an_answer(tmp_path: Path) -> None:
    journey = await answered(tmp_path, ASKS, READS, files={"sums.py": RIGHT.encode()})
    outcome, verification = await journey.outcome(), only(journey.event_data("verified"))
    assert (outcome.approved_by, outcome.answer) == (
        "critic",
        "It returns 3, by line 2 of sums.py.",
    )
    assert (verification["holds"], verification["source"], verification["run"]) == (
        True,
        "answer",
        None,
    )
    assert verification["notes"] == ["The task only asks a question, and no run shows the answer."]
    assert only(journey.event_data("planned"))["note"].startswith("the task only asks a question")


async def test_the_critic_reads_the_files_that_the_executor_read(tmp_path: Path) -> None:
    files = {"sums.py": RIGHT.encode(), "notes/units.txt": b"All sums are in cents.\n"}
    reads = call("read_file", path="notes/units.txt")
    excerpt = "23 bytes\n```\nAll sums are in cents.\n```"
    journey = await answered(tmp_path, ASKS, reads, files=files, excerpt=excerpt)
    assert (await journey.outcome()).approved_by == "critic"


async def test_an_answer_that_a_run_supports_names_the_run(tmp_path: Path) -> None:
    runs = call("python", code="import sums; print(sums.add(1, 2))")
    journey = await answered(tmp_path, ASKS, READS, runs, files={"sums.py": RIGHT.encode()})
    verification = only(journey.event_data("verified"))
    assert (verification["source"], verification["run"], verification["notes"]) == (
        "program",
        "r1",
        [],
    )


NO_QUESTION = {
    "a job that is no question": (PLAN, [READS], {"sums.py": RIGHT.encode()}),
    "an answer without files": (ASKS, [call("list_dir")], None),
    "a file that was changed": (
        ASKS, [call("write_file", path="sums.py", content=WRONG)], {"sums.py": RIGHT.encode()}
    ),
}  # fmt: skip


@pytest.mark.parametrize(("plan", "calls", "files"), NO_QUESTION.values(), ids=NO_QUESTION)
async def test_only_a_job_with_a_question_may_be_based_on_its_answer(
    tmp_path: Path, plan: Written, calls: list[Written], files: Mapping[str, bytes] | None
) -> None:
    journey = await answered(tmp_path, plan, *calls, files=files)
    verification = only(journey.event_data("verified"))
    assert (verification["holds"], (await journey.outcome()).approved) == (False, False)
