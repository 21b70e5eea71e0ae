"""The strip at the top of a job's page: the verdict on its review, or its state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.http.foreign_text import signature
from api.pages.format.words import STATUS, VERDICT, first_line, moment
from api.quantities import plural
from jobs.model.record import Status
from jobs.view.verdict import Level, verdict_of_result

WAITS, WORKS = "waits", "works"
"""Levels of a job without a verdict: it waits for a person or a worker, or a worker has it."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The first element of a job's page."""

    level: str
    """Its color: a `Level`, `WAITS` or `WORKS`."""
    label: str
    """The level or the state of the job, in one or two words."""
    title: str
    """The reason for the level, as one sentence without a full stop."""
    facts: tuple[str, ...] = ()
    """Further short sentences."""
    section: str = "activity"
    """The section of the page that opens first."""


def strip_of(job: Mapping[str, Any]) -> Strip:
    """The strip of a job in the form of `jobs.view.job.render_job`."""
    if job["review"]:
        return _of_review(job["review"])
    status = Status(job["status"])
    if status is Status.SUCCEEDED:
        return _of_success(job)
    if status is Status.FAILED:
        return _of_failure(job)
    if status is Status.CANCELLED:
        return Strip(Level.GREY, STATUS[status], "No result: the job was cancelled")
    decided = tuple(_last_decision(decision) for decision in job["decisions"][-1:])
    if status is Status.RUNNING:
        return Strip(WORKS, STATUS[status], _current_step(job), decided)
    return Strip(WAITS, STATUS[status], _queued(job), decided)


def _of_review(review: Mapping[str, Any]) -> Strip:
    payload = review["payload"]
    if review["kind"] == "questions":
        count = plural(len(payload["questions"]), "question")
        return Strip(WAITS, "questions", f"{count} before the work begins")
    if review["kind"] == "upgrade":
        reason = (str(payload["reason"]),)
        return Strip(WAITS, STATUS["awaiting_review"], "No worker can continue this job", reason)
    verdict = review["verdict"]
    level = Level(verdict["level"])
    return Strip(level, VERDICT[level], verdict["reason"], tuple(verdict["facts"]), "changes")


def _of_success(job: Mapping[str, Any]) -> Strip:
    result = job["result"]
    evidence = _evidence_of(job, result)
    if result["override"]:
        title = f"Approved by {result['approved_by']} against the evidence"
        return Strip(Level.AMBER, "override", title, evidence, "changes")
    if result["approved_by"]:
        title = f"Approved by {result['approved_by']}"
        return Strip(Level.GREEN, STATUS["succeeded"], title, evidence, "changes")
    if job["unapproved"]:
        title = f"Accepted without approval: this job allows it{_last_critique(job)}"
        return Strip(Level.AMBER, "unapproved", title, evidence, "changes")
    verdict = verdict_of_result(result, job["runs"])  # a verification: it needs no approval
    return Strip(verdict.level, VERDICT[verdict.level], verdict.reason, verdict.facts, "evidence")


def _evidence_of(job: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[str, ...]:
    """The reason and the facts of the verdict on a result: of the verdict that a person approved,
    otherwise of the verdict on the result itself."""
    recorded = result["approvals"][-1]["evidence"] if result["approvals"] else None
    if recorded:
        return (recorded["reason"], *recorded["facts"])
    verdict = verdict_of_result(result, job["runs"])
    return (verdict.reason, *verdict.facts)


def _last_critique(job: Mapping[str, Any]) -> str:
    """` after 2 revisions (the end of the revisions)`; empty without a critique."""
    if not job["critiques"]:
        return ""
    last = job["critiques"][-1]
    ending = f" ({last['ends']})" if last.get("ends") else ""
    return f" after {plural(last['revision'], 'revision')}{ending}"


def _of_failure(job: Mapping[str, Any]) -> Strip:
    reason = job["reason"].replace("_", " ").capitalize()
    facts = tuple(filter(None, [first_line(job["detail"] or "")]))
    if result := job["result"]:
        approved_by = result["approved_by"]
        if job["reason"] == "delivery" and approved_by:
            facts += (f"approved by {approved_by}, not delivered",)
        else:
            facts += ("the best result so far" + ("" if approved_by else ", not approved"),)
    return Strip(Level.RED, STATUS["failed"], reason, facts, "evidence")


def _last_decision(decision: Mapping[str, Any]) -> str:
    """`ann decided: revise, “Handle the empty list”, 2 comments on lines`."""
    feedback = first_line(decision["feedback"] or "")
    comments = decision.get("comments") or ()
    parts = (
        f"{signature(decision['by'], decision.get('person'))} decided: {decision['action']}",
        f"“{feedback}”" if feedback else "",
        f"{plural(len(comments), 'comment')} on lines" if comments else "",
    )
    return ", ".join(filter(None, parts))


def _current_step(job: Mapping[str, Any]) -> str:
    plan = job["plan"] or {"steps": [], "progress": None}
    for number, state in enumerate(plan["progress"] or (), 1):
        if state == "begun":
            text = first_line(plan["steps"][number - 1], 100)
            return f"Step {number} of {len(plan['steps'])}: {text}"
    return "At work"


def _queued(job: Mapping[str, Any]) -> str:
    if wait := job["waits"]:
        return f"It waits for {wait['on']} until {moment(wait['until'])} UTC"
    queued = job["queued"]
    return queued["text"] if queued else "It waits for a worker"
