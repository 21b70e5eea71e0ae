"""The outcome of a job, short enough to be read beside those of other jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.view.verdict import verdict_of_result

_FIELDS = (
    "id",
    "kind",
    "status",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "unapproved",
    "override",
    "conversation_id",
    "submitted_by",
    "person",
    "reason",
    "detail",
    "ran_seconds",
)
"""The fields that the outcome has from the job."""


def outcome_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of a job in the form of `jobs.view.job.render_job`: of its open review, otherwise
    of its result."""
    review = job["review"] if job["review"] and job["review"]["kind"] == "review" else None
    result = job["result"]
    work = review["payload"] if review else result or {}
    verdict = review["verdict"] if review else None
    if result:
        verdict = verdict_of_result(result, job["runs"]).to_data()
    checks = work.get("checks") or job["checks"]
    return {
        **{name: job[name] for name in _FIELDS},
        "task": job["spec"]["task"],
        "model": job["spec"]["model"],
        "approved_by": result["approved_by"] if result else None,
        "answer": work.get("answer", ""),
        "verdict": verdict,
        "checks": _count(checks) if checks else None,
        "runs": len(job["runs"]),
        "cost": job["cost"]["total"],
        "links": {"self": f"/jobs/{job['id']}"},
    }


def _count(checks: Mapping[str, Any]) -> dict[str, int]:
    passed = sum(test["outcome"] == "passed" for test in checks["tests"])
    return {"passed": passed, "total": len(checks["tests"])}
