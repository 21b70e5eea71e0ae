"""The outcome of a job, short enough for a table of several jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.view.verdict import verdict_of_result


def outcome_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, the verdict, the checks and the cost of a job in the form of
    `jobs.view.job.render_job`: of its open review, otherwise of its result."""
    review = job["review"] if job["review"] and job["review"]["kind"] == "review" else None
    result = job["result"]
    work = review["payload"] if review else result or {}
    verdict = review["verdict"] if review else None
    if result:
        verdict = verdict_of_result(result, job["runs"]).to_data()
    tests = (work.get("checks") or job["checks"] or {}).get("tests")
    passed = sum(test["outcome"] == "passed" for test in tests or ())
    return {
        "answer": work.get("answer", ""),
        "verdict": verdict,
        "checks": {"passed": passed, "total": len(tests)} if tests else None,
        "runs": len(job["runs"]),
        "cost": job["cost"]["total"],
        "ran_seconds": job["ran_seconds"],
    }
