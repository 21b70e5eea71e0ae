"""The verdict on a review: how far the evidence supports an approval, in words for people. Pure.

The API, the pages and the terminal show the same verdict, and `jobs.transitions.reviews.decide`
refuses an approval that needs an override and does not say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from jobs.model.event_data.reviews import EvidenceData
from jobs.model.review import Review, ReviewKind, is_proven
from jobs.model.review_data import ReviewPayload
from jobs.model.visibility import escape_invisible, in_backticks

MAX_UNNOTICED_SHARE = 1 / 3
"""If more of the small changes to the code are not noticed, the evidence is weak."""
COMMAND_LENGTH = 80
"""The characters of a command in a sentence."""
_ADVICE_TO_MODEL = re.compile(r": verify (?:a|them) [^`]*$")
"""The end of a problem. A command in a problem ends with a backtick, so the advice is not in it."""
_CONFLICTS = ("copies of conflicting files", "conflict markers are left")
_PLAIN_PATH = re.compile(r"[\w./+-]+")
_RUN_ID = re.compile(r"^r(\d+)\b")
_NO_CODE: Mapping[str, str] = {
    "nothing has been run": "Nothing ran",
    "nothing to run: documents only": "Documents only: there is nothing to run",
    "nothing to run: the answer rests on no run": "Nothing ran: the answer rests on no run",
}
"""Problems of `agents.evidence`, in the words of this module."""


class Level(StrEnum):
    """The color of a verdict."""

    RED = "red"
    """A check, the verification or the last run failed; or experiments show that the verification
    cannot fail; or copies of conflicting files, or conflict markers, are left."""
    GREY = "grey"
    """Nothing failed, but no run verified the work."""
    AMBER = "amber"
    """The job asks for no more evidence than there is, but the evidence is weak."""
    GREEN = "green"
    """The verification holds, and has no known weakness."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far the evidence supports an approval."""

    level: Level
    """Red or grey if `needs_override`, otherwise amber or green."""
    reason: str
    """One sentence without a full stop, such as `1 test fails`."""
    facts: tuple[str, ...]
    """Further facts on the evidence, one short sentence each, the most important first."""
    needs_override: bool
    """Whether an approval overrides the evidence: `not Review.proven`. So a job with
    `evidence: none` needs no override for missing evidence; its level is then amber."""

    def to_data(self) -> EvidenceData:
        """Plain values for JSON."""
        return EvidenceData(
            level=self.level.value,
            reason=self.reason,
            facts=list(self.facts),
            needs_override=self.needs_override,
        )


def verdict_of_review(review: Review) -> Verdict | None:
    """The verdict on the work; None if the review does not ask about work."""
    if review.kind is not ReviewKind.REVIEW:
        return None
    return verdict_of(cast("ReviewPayload", review.payload))


def verdict_of(payload: ReviewPayload) -> Verdict:
    """The verdict on the work of a review of the kind `review`."""
    if not is_proven(payload):
        level = Level.RED if _has_failed(payload) else Level.GREY
        return Verdict(level, _objection(payload), tuple(_outcomes(payload)), needs_override=True)
    verification = payload.get("verification")
    if verification is None:
        return _verdict_of_checks(payload)
    if not verification["holds"]:
        reason = _sentence(verification["problem"] or "")
        facts = ("the job asks for no evidence",)
        return Verdict(Level.AMBER, reason, facts, needs_override=False)
    proof, strength = _proof(payload, verification), tuple(_strength(verification))
    weaknesses = tuple(_weaknesses(payload, verification))
    if not weaknesses:
        return Verdict(Level.GREEN, f"Verified: {proof}", strength, needs_override=False)
    reason = f"Weak evidence: {weaknesses[0]}"
    return Verdict(Level.AMBER, reason, (proof, *weaknesses[1:], *strength), needs_override=False)


def verdict_of_result(result: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Verdict:
    """The verdict on a result as `jobs.view.job` renders it, and on the runs of its job. The result
    of a job that is a verification has checks only."""
    checks, verification = result["checks"], result["verification"]
    if verification:
        problem = verification["problem"]
    elif checks:
        problem = None if checks["passed"] else checks["problem"] or "the checks have not passed"
    else:
        problem = "the work was not verified" if runs else "nothing has been run"
    accepted = result["approved_by"] and not result["override"]
    evidence = {"runs": runs, "checks": checks, "verification": verification}
    payload = {**evidence, "unproven": None if accepted else problem}
    return verdict_of(cast("ReviewPayload", payload))


def _verdict_of_checks(payload: ReviewPayload) -> Verdict:
    """The verdict on proven work without a verification: only its checks were run."""
    checks = payload.get("checks")
    if not checks or not checks["passed"]:
        return Verdict(Level.AMBER, "No verification is on record", (), needs_override=False)
    counts = _count_checks(checks)
    if checks.get("judged_by") == "exit_code" and len(checks["tests"]) < 2:
        reason = "Weak evidence: exit code only"
        return Verdict(Level.AMBER, reason, (counts,), needs_override=False)
    reason = f"Verified: {counts} over exactly these files"
    return Verdict(Level.GREEN, reason, (), needs_override=False)


def _has_failed(payload: ReviewPayload) -> bool:
    """Whether a run, a check or a conflict speaks against the work, so that evidence is not only
    missing."""
    checks, verification = payload.get("checks"), payload.get("verification")
    if checks and not checks["passed"]:
        return True
    if verification and verification["command"]:
        return True
    unproven = payload.get("unproven") or ""
    if unproven.startswith(_CONFLICTS) or (verification and verification["problem"] != unproven):
        return True
    return _failed_last_run(payload) is not None


def _objection(payload: ReviewPayload) -> str:
    """The reason against an approval."""
    verification, run = payload.get("verification"), _failed_last_run(payload)
    if failing := _count_failing_tests(payload):
        return "1 test fails" if failing == 1 else f"{failing} tests fail"
    if run is not None and not (verification and verification["command"]):
        return f"Run {run['number']} failed: {_cause(run)}"
    return _sentence(payload.get("unproven") or "the work was not verified")


def _count_failing_tests(payload: ReviewPayload) -> int:
    """The tests that fail: of the acceptance checks, otherwise of the verification. 0 if another
    problem is the reason."""
    checks = payload.get("checks")
    if checks and checks["problem"]:
        return 0
    tests = checks["tests"] if checks else []
    if failing := sum(test["outcome"] not in {"passed", "skipped"} for test in tests):
        return failing
    run = _verifying_run(payload)
    if run is None or run["succeeded"]:
        return 0
    counts = (run.get("tests") or {}).get("counts", {})
    return int(counts.get("failed", 0) + counts.get("error", 0))


def _outcomes(payload: ReviewPayload) -> Iterator[str]:
    """The outcomes of the acceptance checks and of the verification, if tests were counted."""
    checks, run = payload.get("checks"), _verifying_run(payload)
    if checks and checks["tests"]:
        yield _count_checks(checks)
    if run is not None and (counts := _counts(run)):
        yield f"{_quote(run['code']['text'])}: {counts}"


def _proof(payload: ReviewPayload, verification: Mapping[str, Any]) -> str:
    """The run that shows that the work is right, as the predicate of `Verified`."""
    checks, run = payload.get("checks"), _verifying_run(payload)
    command = verification["command"] or ""
    match verification["source"]:
        case "checks" if checks:
            return f"{_count_checks(checks)} over exactly these files"
        case "answer":
            return _shorten(command)
        case "program":
            return f"{_quote(command)} succeeded"
    if run is not None and (counts := _counts(run)):
        return f"{_quote(command)}, {counts} over exactly these files"
    return f"{_quote(command)} passed over exactly these files"


def _weaknesses(payload: ReviewPayload, verification: Mapping[str, Any]) -> Iterator[str]:
    """Facts that weaken a verification that holds, the most serious first."""
    if run := _failed_last_run(payload):
        yield f"run {run['number']}, the last, failed: {_cause(run)}"
    if own_word := verification.get("own_word"):
        yield "verified only by itself"
    for note in verification.get("notes", ()):
        yield _visible(note[:1].lower() + note[1:].rstrip("."))
    strength = verification.get("strength")
    if strength and _is_weak(strength):
        yield f"only {_count_noticed(strength)}"
    if verification.get("judged_by") == "exit_code" and not own_word:
        yield "exit code only"


def _strength(verification: Mapping[str, Any]) -> Iterator[str]:
    """What the experiments show in favor of a verification, and the functions that it leaves
    out."""
    failed = [
        experiment
        for experiment in verification["experiments"]
        if not (experiment["still_green"] or experiment.get("undecided"))
    ]
    if any(experiment.get("kind") == "before" for experiment in failed):
        yield "fails on the state before"
    strength, functions = verification.get("strength"), verification.get("functions")
    if strength and strength["tried"] and not _is_weak(strength):
        yield _count_noticed(strength)
    paths = [experiment["replaced"] for experiment in failed if experiment.get("kind") != "before"]
    if names := list(dict.fromkeys(_name_path(path) for replaced in paths for path in replaced)):
        more_paths = f" or {len(names) - 2} more" if len(names) > 2 else ""
        yield f"fails if {' or '.join(names[:2])}{more_paths} cannot be loaded"
    if functions and (left_out := len(functions["not_executed"])):
        total = left_out + len(functions["executed"])
        yield f"{left_out} of {total} changed functions not executed"


def _is_weak(strength: Mapping[str, Any]) -> bool:
    unnoticed = strength["tried"] - strength["noticed"]
    return bool(unnoticed > strength["tried"] * MAX_UNNOTICED_SHARE)


def _count_noticed(strength: Mapping[str, Any]) -> str:
    verb = "is" if strength["noticed"] == 1 else "are"
    return f"{strength['noticed']} of {strength['tried']} small changes to the code {verb} noticed"


def _count_checks(checks: Mapping[str, Any]) -> str:
    passed = sum(test["outcome"] == "passed" for test in checks["tests"])
    skipped = sum(test["outcome"] == "skipped" for test in checks["tests"])
    skip_note = f" ({skipped} skipped)" if skipped else ""
    return f"{passed} of {len(checks['tests'])} acceptance checks passed{skip_note}"


def _verifying_run(payload: ReviewPayload) -> Mapping[str, Any] | None:
    """The run of the verification, if the payload still has it; without a verification, the last
    run."""
    runs, verification = payload.get("runs", []), payload.get("verification")
    if verification is None:
        return runs[-1] if runs else None
    return next((run for run in runs if run["id"] == verification["run"]), None)


def _failed_last_run(payload: ReviewPayload) -> Mapping[str, Any] | None:
    runs = payload.get("runs", [])
    return runs[-1] if runs and not runs[-1]["succeeded"] else None


def _counts(run: Mapping[str, Any]) -> str:
    """`22 passed, 1 failed`; empty without a report of tests."""
    counts = (run.get("tests") or {}).get("counts", {})
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)


def _cause(run: Mapping[str, Any]) -> str:
    """The cause of a failure: the program's words as a quotation, or else the run's end."""
    if cause := (run.get("failure") or {}).get("cause"):
        return _quote(cause)
    return f"exit code {run['exit_code']}" if run["end"] == "exited" else _shorten(str(run["end"]))


def _sentence(problem: str) -> str:
    """A problem of the evidence as a sentence for people, without the advice for the model."""
    if problem in _NO_CODE:
        return _NO_CODE[problem]
    text = _visible(_RUN_ID.sub(r"run \1", _ADVICE_TO_MODEL.sub("", problem)))
    return text[:1].upper() + text[1:]


def _quote(text: str) -> str:
    """A text of a model or a program, such as a command, in backticks."""
    return in_backticks(_shorten(text))


def _name_path(path: str) -> str:
    return path if _PLAIN_PATH.fullmatch(path) else _quote(path)


def _visible(text: str) -> str:
    """The text on one line, with invisible and control characters escaped: they could hide words,
    or reorder them on a screen."""
    return escape_invisible(" ".join(text.split()))


def _shorten(text: str) -> str:
    line = _visible(text)
    return line if len(line) <= COMMAND_LENGTH else f"{line[: COMMAND_LENGTH - 1]}…"
