"""The verdict on a review: its level, its reason and its facts, from the payload alone."""

from __future__ import annotations

import pytest
from support.pages.api_front import a_run, text

from agents.evidence import declared
from agents.evidence.conclusions import Results
from agents.evidence.verdict import NOT_VERIFIED, missing_evidence
from jobs.model.review import Review, ReviewKind
from jobs.view.verdict import _NO_CODE, Level, verdict_of, verdict_of_review

COMMAND = "pytest -q"
BEFORE = {"kind": "before", "replaced": ["a.py"], "still_green": False, "undecided": False}
UNLOADABLE = {**BEFORE, "kind": "unloadable"}
PASSED_CHECK = {"id": "test_a", "outcome": "passed", "detail": ""}
FAILED_CHECK = {"id": "test_b", "outcome": "failed", "detail": "no"}
SKIPPED_CHECK = {"id": "test_c", "outcome": "skipped", "detail": ""}


def run_with_tests(**counts: int):
    good = not counts.get("failed") and not counts.get("error")
    tests = {"counts": counts, "tests": []}
    return a_run(tool="verify", code=text(COMMAND), succeeded=good, tests=tests)


def verification(**changed):
    return {
        "revision": 1,
        "source": "job",
        "command": COMMAND,
        "run": "run-1",
        "holds": changed.get("problem") is None,
        "problem": None,
        "experiments": [],
        "workspace": "w",
        "strength": None,
        "functions": None,
        "notes": [],
        "own_word": False,
        "judged_by": "report",
        **changed,
    }


def verdict_for(verified=None, *runs, **payload):
    """The verdict on work with this verification; `unproven` is its problem."""
    unproven = verified["problem"] if verified else "the work was not verified"
    defaults = {"unproven": unproven, "verification": verified, "runs": list(runs), "checks": None}
    return verdict_of({**defaults, **payload})


def strength(noticed: int, tried: int):
    return {"noticed": noticed, "tried": tried, "untried": 0, "unnoticed": []}


def test_a_verification_that_holds_is_green_with_the_run_and_its_strength():
    functions = {"executed": ["a.py::f"], "not_executed": ["a.py::g"]}
    verified = verification(
        experiments=[BEFORE, UNLOADABLE], strength=strength(7, 9), functions=functions
    )
    verdict = verdict_for(verified, run_with_tests(passed=23, skipped=0))
    assert (verdict.level, verdict.needs_override) == (Level.GREEN, False)
    assert verdict.reason == "Verified: `pytest -q`, 23 passed over exactly these files"
    assert verdict.facts == (
        "fails on the state before",
        "7 of 9 small changes to the code are noticed",
        "fails if a.py cannot be loaded",
        "1 of 2 changed functions not executed",
    )


def test_an_experiment_without_a_result_is_no_fact():
    undecided = {**BEFORE, "undecided": True}
    still_green = {**UNLOADABLE, "still_green": True}
    verdict = verdict_for(
        verification(experiments=[undecided, still_green]), run_with_tests(passed=1)
    )
    assert (verdict.level, verdict.facts) == (Level.GREEN, ())


@pytest.mark.parametrize(
    ("weakness", "reason"),
    [
        ({"judged_by": "exit_code"}, "exit code only"),
        ({"own_word": True, "judged_by": "exit_code"}, "verified only by itself"),
        (
            {"notes": ["The job changed existing tests: test_a.py."]},
            "the job changed existing tests: test_a.py",
        ),
        ({"strength": strength(5, 9)}, "only 5 of 9 small changes to the code are noticed"),
    ],
)
def test_weak_evidence_is_amber_and_needs_no_override(weakness, reason):
    verdict = verdict_for(verification(**weakness), run_with_tests(passed=2))
    assert (verdict.level, verdict.needs_override) == (Level.AMBER, False)
    assert verdict.reason == f"Weak evidence: {reason}"
    assert verdict.facts == ("`pytest -q`, 2 passed over exactly these files",)


def test_work_with_a_failed_last_run_is_not_green():
    last = {**a_run(2, succeeded=False), "id": "run-2"}
    verdict = verdict_for(verification(), run_with_tests(passed=2), last)
    assert (verdict.level, verdict.needs_override) == (Level.AMBER, False)
    assert verdict.reason.startswith("Weak evidence: run 2, the last, failed: ")


@pytest.mark.parametrize("left", ["copies of conflicting files", "conflict markers"])
def test_an_unresolved_conflict_is_red_also_without_a_verification(left):
    verdict = verdict_for(None, unproven=f"{left} are left: a.py")
    assert verdict.level is Level.RED


def test_a_command_and_a_path_cannot_imitate_the_words_of_a_verdict():
    command = "true`, 23 passed over exactly these files; `\u202ex\x1b\u200b"
    path = "a. 9 of 9 small changes to the code are noticed\u202e.py"
    experiment = {**UNLOADABLE, "replaced": [path]}
    verdict = verdict_for(verification(command=command, experiments=[experiment]), a_run())
    quoted = "`true', 23 passed over exactly these files; '\\u202ex\\x1b\\u200b`"
    assert verdict.reason == f"Verified: {quoted} passed over exactly these files"
    escaped_path = path.replace("\u202e", "\\u202e")
    assert verdict.facts == (f"fails if `{escaped_path}` cannot be loaded",)


def test_a_program_cannot_imitate_the_words_of_a_verdict():
    cause = "` 0 tests. Verified: `pytest -q` passed over exactly these files"
    quoted = f"`{cause.replace('`', chr(39))}`"
    failed = a_run(3, succeeded=False, failure={"class": "unknown", "cause": cause})
    assert verdict_for(None, failed).reason == f"Run 3 failed: {quoted}"
    verdict = verdict_for(verification(), run_with_tests(passed=2), failed)
    assert verdict.reason == f"Weak evidence: run 3, the last, failed: {quoted}"


def test_a_command_that_resembles_advice_leaves_the_problem_complete():
    problem = "the verification `echo : verify a ` failed: 3 of 4 tests failed"
    verdict = verdict_for(verification(problem=problem), a_run(succeeded=False))
    assert verdict.reason == f"T{problem[1:]}"


def test_a_third_of_the_changes_may_stay_unnoticed():
    assert verdict_for(verification(strength=strength(6, 9))).level is Level.GREEN


def test_passed_checks_are_counted():
    checks = {"passed": True, "problem": None, "tests": [PASSED_CHECK, SKIPPED_CHECK], "seconds": 1}
    verdict = verdict_for(verification(source="checks", run=None), checks=checks)
    assert (
        verdict.reason
        == "Verified: 1 of 2 acceptance checks passed (1 skipped) over exactly these files"
    )


@pytest.mark.parametrize(
    ("verified", "runs", "payload", "reason"),
    [
        (
            verification(problem="the verification `pytest -q` failed: 1 of 23 tests failed"),
            [run_with_tests(passed=22, failed=1)],
            {},
            "1 test fails",
        ),
        (
            verification(problem="the verification `pytest -q` failed: exit code 2"),
            [a_run(succeeded=False)],
            {},
            "The verification `pytest -q` failed: exit code 2",
        ),
        (
            verification(
                problem="the verification `x` still passes when a.py cannot be loaded: verify a"
                " command that runs the work, such as tests"
            ),
            [a_run()],
            {},
            "The verification `x` still passes when a.py cannot be loaded",
        ),
        (
            verification(source="program", problem="r3 failed, and nothing has been run since: x"),
            [],
            {},
            "Run 3 failed, and nothing has been run since: x",
        ),
        (
            verification(),
            [run_with_tests(passed=1)],
            {"unproven": "copies of conflicting files are left: a.py.step-2"},
            "Copies of conflicting files are left: a.py.step-2",
        ),
        (
            verification(),
            [run_with_tests(passed=1)],
            {
                "unproven": "2 of 4 acceptance checks do not pass",
                "checks": {
                    "passed": False,
                    "problem": None,
                    "tests": [PASSED_CHECK, FAILED_CHECK, FAILED_CHECK, SKIPPED_CHECK],
                },
            },
            "2 tests fail",
        ),
        (
            None,
            [],
            {
                "unproven": "the acceptance checks have not passed: out of time",
                "checks": {"passed": False, "problem": "out of time", "tests": [FAILED_CHECK]},
            },
            "The acceptance checks have not passed: out of time",
        ),
        (
            None,
            [a_run(3, succeeded=False, exit_code=1)],
            {"paused": True},
            "Run 3 failed: exit code 1",
        ),
    ],
    ids=["tests", "exit", "blind", "program", "copies", "checks", "problem", "paused"],
)
def test_a_failure_is_red_and_needs_an_override(verified, runs, payload, reason):
    verdict = verdict_for(verified, *runs, **payload)
    assert (verdict.level, verdict.reason, verdict.needs_override) == (Level.RED, reason, True)


@pytest.mark.parametrize(
    ("verified", "runs", "reason"),
    [
        (verification(source=None, command=None, run=None, problem=declared.NO_RUN), [], "Nothing"),
        (
            verification(source=None, command=None, run=None, problem=declared._NO_MAKER),
            [],
            "Documents only: there is nothing to run",
        ),
        (None, [], "The work was not verified"),
        (None, [a_run()], "The work was not verified"),
    ],
)
def test_missing_evidence_is_grey_and_needs_an_override(verified, runs, reason):
    verdict = verdict_for(verified, *runs)
    assert (verdict.level, verdict.needs_override) == (Level.GREY, True)
    assert verdict.reason.startswith(reason)


def test_documents_are_amber_if_the_job_asks_for_no_evidence():
    documents = verification(source=None, command=None, run=None, problem=declared._NO_MAKER)
    verdict = verdict_for(documents, unproven=None)
    assert (verdict.level, verdict.needs_override) == (Level.AMBER, False)
    assert verdict.reason == "Documents only: there is nothing to run"


def test_a_review_of_an_older_release_is_shown():
    assert verdict_of({}).level is Level.GREY
    assert verdict_of({"unproven": None}).level is Level.AMBER
    assert verdict_of({"unproven": None}).needs_override is False


def test_the_words_for_missing_runs_are_those_of_the_evidence():
    assert set(_NO_CODE) == {declared.NO_RUN, declared._NO_MAKER, declared._NO_PROGRAM}
    assert verdict_of({}).reason.lower() == NOT_VERIFIED


def test_the_words_for_copies_of_conflicting_files_are_those_of_the_evidence():
    conflict = {"path": "a.py", "steps": [1, 2], "copies": ["a.conflict-step2.py"]}
    artifacts = {"a.conflict-step2.py": {}}
    problem = missing_evidence({"revision": 1, "conflicts": [conflict], "artifacts": artifacts})
    assert verdict_for(None, unproven=problem).level is Level.RED


@pytest.mark.parametrize("written", [set(), {"a.py"}])
def test_the_advice_for_the_model_is_that_of_the_evidence(written):
    experiment = {**UNLOADABLE, "replaced": ["a.py"], "still_green": True}
    problem = Results(COMMAND, ["a.py"], [experiment], written).problem()
    assert ": verify " in problem
    reason = verdict_for(verification(problem=problem), run_with_tests(passed=1)).reason
    assert reason == f"T{problem[1:].partition(': verify ')[0]}"


@pytest.mark.parametrize("kind", [ReviewKind.QUESTIONS, ReviewKind.UPGRADE])
def test_a_question_has_no_verdict(kind):
    assert verdict_of_review(Review("r", kind, {})) is None
