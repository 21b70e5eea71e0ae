"""Which revision is a job's result, with its answer, its files and its report of checks."""

from __future__ import annotations

from typing import Any

import pytest

from agents.evidence.revisions import best_revision

Fields = dict[str, Any]
HOLDS, GREEN, RED, NONE = "evidence", "green, but no evidence", "red", "nothing was run"


def revision(number: int, verified: str = HOLDS, **more: Any) -> Fields:
    """The result of one revision."""
    return {"number": number, "verified": verified, **more}


def state(*revisions: Fields, **more: Any) -> Fields:
    history: Fields = {
        "runs": [],
        "answers": [],
        "critiques": [],
        "reports": [],
        "verifications": [],
    }
    for revision in revisions:
        number, passed = revision["number"], revision.get("passed")
        ok = revision["verified"] in (HOLDS, GREEN)
        history["runs"].append({"id": f"r{number}", "revision": number, "succeeded": ok})
        files = {f"{number}.py": {"name": f"{number}.py"}}
        answer = {"revision": number, "text": f"answer {number}", "workspace": f"w{number}"}
        history["answers"].append({**answer, "artifacts": files})
        history["critiques"].append({"revision": number, "unmet": ["c"] * revision.get("unmet", 0)})
        run = None if revision["verified"] == NONE else f"r{number}"
        verification = {"revision": number, "run": run, "holds": revision["verified"] == HOLDS}
        history["verifications"].append(verification)
        if passed is not None:
            tests = [
                {"id": str(n), "outcome": "passed" if n < passed else "failed"} for n in range(3)
            ]
            history["reports"].append({"revision": number, "passed": passed == 3, "tests": tests})
    last = history["answers"][-1]
    final_files = {"artifacts": last["artifacts"], "workspace": last["workspace"]}
    reports = history["reports"]
    return {**history, **final_files, "checked": reports[-1] if reports else None, **more}


@pytest.mark.parametrize(
    ("revisions", "chosen"),
    [
        ([revision(1), revision(2)], 2),  # the later revision
        ([revision(1), revision(2, RED)], 1),
        ([revision(1, GREEN), revision(2, RED)], 1),
        ([revision(1, RED), revision(2, RED)], 2),
        ([revision(1, unmet=3), revision(2, unmet=1), revision(3, unmet=2)], 2),
        # The critique of the third revision names no criteria.
        ([revision(1, unmet=3), revision(2, unmet=1), revision(3)], 3),
        ([revision(1, RED, unmet=1), revision(2, unmet=3)], 2),  # runs count before criteria
        ([revision(1, passed=3, unmet=3), revision(2, passed=2, unmet=1)], 1),
        ([revision(1, passed=1), revision(2, passed=2), revision(3, RED, passed=2)], 2),
    ],
)
def test_answer_files_and_report_are_those_of_the_best_revision(
    revisions: list[Fields], chosen: int
) -> None:
    best = best_revision(now := state(*revisions))
    assert (best.revision, best.answer) == (chosen, f"answer {chosen}")
    assert (list(best.artifacts), best.workspace) == ([f"{chosen}.py"], f"w{chosen}")
    assert best.is_earlier == (chosen != len(revisions))
    assert best.verification == now["verifications"][chosen - 1]
    if now["reports"]:
        assert best.checked == now["reports"][chosen - 1]


def test_a_judged_revision_comes_before_an_unjudged_revision() -> None:
    now = state(revision(1, unmet=2), revision(2))
    del now["critiques"][1]
    assert best_revision(now).revision == 1


def test_a_revision_is_judged_by_its_last_verification() -> None:
    now = state(revision(1), revision(2))
    red = {"revision": 2, "run": "r3", "holds": False}  # after a person's edit
    now["verifications"].append(red)
    assert best_revision(now).revision == 1
    now["verifications"].append({**red, "run": "r4", "holds": True})
    assert best_revision(now).revision == 2
    assert best_revision(now).verification == now["verifications"][-1]
