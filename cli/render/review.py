"""An open review as parts, with everything that a person needs for a decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from api.quantities import plural
from cli.client.files import JobChange
from cli.render.evidence import Detail, run_parts
from cli.render.job import critic_may_decide, digest_option, rule_parts, waiting_parts
from cli.render.parts import Code, Line, Part, Prose, Steps, Tone
from cli.render.review_events import decision_parts
from cli.render.texts import printable
from cli.render.work_events import critique_parts

REVIEW_DETAIL = Detail(code_lines=None, output_lines=60)


CHOICES: Mapping[str, str] = {
    "approve": "accept the work",
    "revise": "send it back with a request for changes",
    "edit": "change files of the work, or run your own Python program",
    "reject": "end the job",
    "delegate": "let the critic decide, which ends your review",
    "withdraw": "take back your approval",
}
GO_ON = "continue, with or without a note"
"""The meaning of `revise` if the work has paused so that a person can look at a run."""

QUESTION_CHOICES: Mapping[str, str] = {
    "answer": "answer them, one by one; Enter leaves it to the default",
    "reject": "end the job",
}


def choices(review: Mapping[str, Any]) -> Mapping[str, str]:
    """The actions and their effects. The review of an upgrade has its own texts."""
    if review["kind"] == "questions":
        return QUESTION_CHOICES
    if review["kind"] == "upgrade":
        choices: Mapping[str, str] = review["payload"]["choices"]
        return choices
    offered = {**CHOICES, "revise": GO_ON} if review["payload"].get("paused") else CHOICES
    left_out = set() if critic_may_decide(review) else {"delegate"}
    if "withdraw" not in review.get("actions", ()):
        left_out.add("withdraw")
    return {name: does for name, does in offered.items() if name not in left_out}


def override_question(review: Mapping[str, Any]) -> str | None:
    """The question before an approval that overrides missing or failed evidence; None if the
    approval overrides no evidence."""
    verdict = review.get("verdict")
    if not verdict or not verdict["needs_override"]:
        return None
    return f"{printable(verdict['reason'])}. Approve against the evidence?"


def upgrade_parts(payload: Mapping[str, Any]) -> Iterator[Part]:
    """The reason why no worker continues the job."""
    yield Prose(printable(payload["reason"]))


def review_parts(job: Mapping[str, Any], change: JobChange) -> Iterator[Part]:
    """Plan, earlier decisions and critiques, the last run with its code and output, and the work
    that waits for the decision."""
    payload = job["review"]["payload"]
    yield Line("plan", plural(len(payload["plan"]), "step"))
    yield Steps(tuple(printable(step) for step in payload["plan"]))
    for decision in payload["decisions"]:
        yield from decision_parts(decision, REVIEW_DETAIL)
    if refused := payload.get("refused_edit"):
        yield Line("not edited", printable(refused), Tone.WARN)
    for critique in payload["critiques"]:
        yield from critique_parts(critique, REVIEW_DETAIL)
    if runs := payload["runs"]:
        yield from run_parts(runs[-1], REVIEW_DETAIL)
    elif payload["code"]:
        yield Line("code", "it has not run")
        yield Code(printable(payload["code"]))
    yield from rule_parts(job)
    yield from waiting_parts(job, change)


def how_to_decide(job_id: str, review: Mapping[str, Any]) -> str:
    """The commands that answer a review. A decision names the digest of the review, so that it
    counts only for the work that the person has seen."""
    if review["kind"] == "questions":
        return f"fettle review {job_id} answer --answer TEXT ... (one for each question)"
    return f"fettle review {job_id} {'|'.join(choices(review))} [-m TEXT]{digest_option(review)}"
