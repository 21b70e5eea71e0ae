"""Whether a job that the critic sent back continues, and with which model."""

from __future__ import annotations

from typing import Any

from agents.evidence.revisions import NextRevision, after_critique


def answer(revision: int, text: str = "", workspace: str = "", level: int = 0) -> dict[str, Any]:
    """An answer that differs from the answers of other revisions, unless `text` is passed."""
    at = workspace or f"w{revision}"
    return {"revision": revision, "text": text or f"t{revision}", "workspace": at, "level": level}


def revise_critique(revision: int, unmet: int = 0) -> dict[str, Any]:
    """A critique that names this many unmet criteria."""
    criteria = [{"criterion": f"c{n}", "location": "", "reason": ""} for n in range(unmet)]
    feedback = f"f{revision}"
    return {"revision": revision, "verdict": "revise", "unmet": criteria, "feedback": feedback}


def checked(revision: int, passed: int, unmet: int = 0) -> dict[str, Any]:
    return {**revise_critique(revision, unmet), "checks": {"passed": passed, "total": 5}}


def run(revision: int, out: str = "3") -> dict[str, Any]:
    texts = {name: {"text": out, "digest": None} for name in ("code", "stdout", "stderr")}
    return {"revision": revision, "end": "exited", "exit_code": 0, **texts}


def state(revision: int, *answers: Any, most: int = 9, **more: Any) -> dict[str, Any]:
    all_answers = list(answers) or [answer(n) for n in range(1, revision + 1)]
    return {"job": {"max_revisions": most}, "revision": revision, "answers": all_answers, **more}


def test_the_same_output_twice_ends_the_job() -> None:
    same = state(2, answer(1, "t", "w"), answer(2, "t", "w"), runs=[run(1), run(2)])
    next_revision = after_critique(same, [revise_critique(1), revise_critique(2)], 1)
    assert next_revision == NextRevision(
        exhausted=True, level=0, ends="two revisions in a row had the same result"
    )
    mute = state(2, answer(1, "t", "w"), answer(2, "t", "w"), runs=[run(1)])
    assert after_critique(mute, [revise_critique(1), revise_critique(2)], 1).exhausted


def test_a_retry_has_two_revisions_of_its_own_before_its_progress_counts() -> None:
    tried = [revise_critique(1, 2), revise_critique(2, 2), revise_critique(3, 2)]
    same = [answer(n, "t", "w") for n in range(1, 6)]
    retried = state(4, *same[:4], most=9)
    retried["job"]["judged_before"] = 3
    assert not after_critique(retried, [*tried, revise_critique(4, 3)], 1).exhausted
    again = {**retried, "revision": 5, "answers": same}
    assert after_critique(
        again, [*tried, revise_critique(4, 3), revise_critique(5, 3)], 1
    ).exhausted


def test_a_constant_number_of_unmet_criteria_ends_the_job() -> None:
    tried = [revise_critique(1, 2), revise_critique(2, 2), revise_critique(3, 3)]
    assert after_critique(state(2), tried[:2], 1).ends is None
    assert after_critique(state(3), tried, 1) == NextRevision(
        exhausted=True, level=0, ends="no fewer criteria are unmet than 2 revisions ago"
    )
    assert not after_critique(state(3), [*tried[:2], revise_critique(3, 1)], 1).exhausted
    assert not after_critique(
        state(3), [revise_critique(1), revise_critique(2, 2), revise_critique(3, 2)], 1
    ).exhausted


def test_the_critiques_of_an_older_release_count_by_their_unmet_criteria() -> None:
    older = [{**revise_critique(n), "failed": ["a"], "score": 0.5} for n in (1, 2, 3)]
    for critique in older:
        del critique["unmet"]
    assert after_critique(state(3), older, 1).exhausted


def test_a_constant_number_of_passed_checks_ends_the_job() -> None:
    stands = [checked(1, 3), checked(2, 2), checked(3, 3)]
    assert (
        after_critique(state(3), stands, 1).ends
        == "no more of the checks pass than 2 revisions ago"
    )
    assert after_critique(state(3), stands, 2) == NextRevision(exhausted=False, level=1)
    assert not after_critique(state(3), [*stands[:2], checked(3, 4)], 1).exhausted
    assert not after_critique(state(3), [revise_critique(1), *stands[1:]], 1).exhausted


def test_a_stronger_model_continues_before_the_job_ends() -> None:
    tried = [revise_critique(1, 2), revise_critique(2, 2), revise_critique(3, 2)]
    assert after_critique(state(3), tried, 2) == NextRevision(exhausted=False, level=1)
    assert after_critique(state(3, level=1), tried, 2).exhausted


def test_two_revisions_without_progress_end_the_use_of_a_model() -> None:
    assert after_critique(state(2), [revise_critique(1), revise_critique(2)], 2).level == 0
    assert (
        after_critique(
            state(3), [revise_critique(1), revise_critique(2), revise_critique(3)], 2
        ).level
        == 1
    )
    higher = [answer(n, level=int(n > 3)) for n in (1, 2, 3, 4)]
    tried = [revise_critique(n) for n in (1, 2, 3, 4)]
    assert after_critique(state(4, *higher, level=1), tried, 3).level == 1
    higher.append(answer(5, level=1))
    assert after_critique(state(5, *higher, level=1), [*tried, revise_critique(5)], 3).level == 2
    assert not after_critique(state(5, *higher, level=1), [*tried, revise_critique(5)], 2).exhausted


def test_two_passes_with_repeated_calls_end_the_job() -> None:
    circle = {"stopped": "6 repairs in a row have failed"}
    once = state(2, answer(1), {**answer(2), **circle})
    assert not after_critique(once, [revise_critique(1), revise_critique(2)], 1).exhausted
    twice = state(2, {**answer(1), **circle}, {**answer(2), **circle})
    ends = "two revisions in a row repeated themselves"
    assert after_critique(twice, [revise_critique(1), revise_critique(2)], 1).ends == ends
    assert after_critique(twice, [revise_critique(1), revise_critique(2)], 2) == NextRevision(
        exhausted=False, level=1
    )
