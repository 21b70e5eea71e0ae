"""A complete job as parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import zip_longest
from typing import Any

from api.http.foreign_text import visible_path
from api.quantities import duration, plural
from cli.client.files import JobChange
from cli.render.events import parts
from cli.render.evidence import (
    Detail,
    artifact_parts,
    check_parts,
    evidence_parts,
    questions_parts,
    run_parts,
    verification_parts,
)
from cli.render.job_events import ACCEPTED, delivery_parts, message_parts
from cli.render.parts import Code, Line, Part, Prose, Tone
from cli.render.review_events import approval_parts, comment_line, decision_parts, override_note
from cli.render.texts import clip, patch_text, printable, spend, waits_text
from cli.render.work_events import critique_parts, plan_parts
from fettle.events import ReceivedEvent

PATCH_LINES = 400


def patch_of(job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The figures of the patch of its open review, else of its result; None without a patch."""
    about = job["review"]["payload"] if job["review"] else job["result"]
    return (about or {}).get("patch")


def patch_parts(job: Mapping[str, Any]) -> Iterator[Part]:
    """The size of the patch, and the command that shows it while a decision is open, or else
    applies it."""
    if patch := patch_of(job):
        command, does = ("patch", "shows") if job["review"] else ("apply", "applies")
        yield Line("patch", f"{patch_text(patch)}; `fettle {command} {job['id']}` {does} it")


def change_parts(job: Mapping[str, Any], change: JobChange) -> Iterator[Part]:
    """The facts about the files to look at, and the patch."""
    for path, facts in change.facts.items():
        yield Line("look at", f"{visible_path(path)}: {printable('; '.join(facts))}", Tone.WARN)
    if change.patch is not None:
        summary = patch_text(change.about)
        yield Line("change", f"{summary}; `fettle patch {job['id']}` writes all of it")
        yield Code(clip(printable(change.patch), PATCH_LINES), "diff")
    if change.problem:
        yield Line("change", printable(change.problem), Tone.WARN)


Job = Mapping[str, Any]

_TONES = {
    "succeeded": Tone.GOOD,
    "failed": Tone.BAD,
    "cancelled": Tone.BAD,
    "awaiting_review": Tone.ASK,
}


def job_parts(
    job: Job, detail: Detail, noted: Iterable[ReceivedEvent] = (), change: JobChange | None = None
) -> Iterator[Part]:
    """The request, the work in the order in which it happened, the outcome. `noted` are events that
    the job itself does not show, `change` is the change that an open review is about."""
    yield Line("job", job["id"])
    yield Line("task", printable(job["spec"]["task"]))
    if repo := job["spec"].get("repo"):
        repository = (repo["url"] or "sent as a bundle", repo["ref"])
        yield Line("repository", printable(", ".join(filter(None, repository))))
    if rebase := job["spec"].get("rebase"):
        yield Line("rebase of", rebase["job_id"], Tone.QUIET)
    elif start := job.get("continues"):
        branch = f", on the branch {printable(start['branch'])}" if start["branch"] else ""
        yield Line("goes on from", f"{start['job_id']}{branch}", Tone.QUIET)
    if deliver := job["spec"].get("deliver"):
        request = " and a pull request" if deliver["pull_request"] else ""
        yield Line("delivers", f"a branch{request}, once it is approved", Tone.QUIET)
    if (setup := job["spec"].get("setup")) is not None:
        yield Line("setup", printable(setup) if setup.strip() else "none")
    yield from rule_parts(job)
    for event in noted:
        yield from parts(event, detail)
    if job["conversation_id"] != job["id"]:
        yield Line("follows up", job["conversation_id"], Tone.QUIET)
    if job["plan"]:
        yield from plan_parts(job["plan"], detail)
    yield from _history(job, detail)
    if is_of_work(job["review"]):
        yield from waiting_parts(job, change or JobChange())
        yield cost_line(job)
        yield status_line(job)  # at the end: it has the command that decides
    else:
        yield from outcome_parts(job)


def rule_parts(job: Job) -> Iterator[Part]:
    """The operator's review rules that apply to the job."""
    if rules := job["spec"].get("review_rules"):
        lists = (f"approvers: {', '.join(names)}" for names in rules["approvers"])
        conditions = [f" ({text})" for text in rules.get("conditions", ())]
        names = map("".join, zip_longest(rules["names"], conditions, fillvalue=""))
        yield Line("review rule", printable("; ".join((", ".join(names), *lists))))


def is_of_work(review: Mapping[str, Any] | None) -> bool:
    """Whether it is an open review of work, not questions or an upgrade."""
    return review is not None and review["kind"] == "review"


def waiting_parts(job: Job, change: JobChange) -> Iterator[Part]:
    """The work that an open review asks about: answer, files, change, evidence."""
    payload = job["review"]["payload"]
    yield from answer_parts(payload.get("answer", ""))
    for artifact in payload.get("artifacts", ()):
        yield from artifact_parts("file", artifact)
    yield from change_parts(job, change)
    for decision in payload.get("decisions", ()):
        yield from map(comment_line, decision.get("comments", ()))
    yield from _evidence_parts(payload.get("checks"), payload.get("verification"))
    if verdict := job["review"].get("verdict"):
        yield from evidence_parts(verdict)


def _evidence_parts(checks: Any, verification: Any) -> Iterator[Part]:
    if checks:
        yield from check_parts(checks)
    if verification:
        yield from verification_parts(verification, checks=checks)


def outcome_parts(job: Job) -> Iterator[Part]:
    """The job's status, answer, files and cost, and the command that takes its patch."""
    yield status_line(job)
    if (review := job["review"]) is not None and review["kind"] == "questions":
        yield from questions_parts(review["payload"]["questions"])
    evidence = job["result"] or job
    yield from _evidence_parts(evidence.get("checks"), evidence.get("verification"))
    if job["result"]:
        for approval in job["result"].get("approvals", ()):
            yield from approval_parts(approval)
        yield from _heading(job)
        yield from answer_parts(job["result"]["answer"])
        yield from delivery_parts(job["result"].get("delivery"))
        for artifact in job["result"]["artifacts"]:
            yield from artifact_parts("file", artifact)
    remedy = f"`fettle run --conversation {job['conversation_id']} TASK` follows up"
    yield from unread_parts(job, remedy)
    yield cost_line(job)
    yield from patch_parts(job)


def unread_parts(job: Job, remedy: str) -> Iterator[Part]:
    """The messages that the models had not read when the job ended, and the remedy."""
    unread = [sent["number"] for sent in job.get("messages", ()) if not sent["read_by"]]
    if unread and job.get("finished_at"):
        numbers = ", ".join(map(str, unread))
        yield Line("not read", f"message {numbers}: it came too late; {remedy}", Tone.WARN)


def look_line(job: Job, url: str) -> Line:
    """The job's page at the service's `url`, and the command that shows the job."""
    shows = "the answer, the files and the change" if is_of_work(job["review"]) else "all of it"
    return Line("look", f"{url}/app/jobs/{job['id']}; `fettle show {job['id']}` shows {shows}")


def next_parts(job: Job, url: str) -> Iterator[Part]:
    """The next commands after the job's end: show it, save its files, follow it up, retry it."""
    yield look_line(job, url)
    result = job["result"]
    if result and result["artifacts"] and not patch_of(job):
        yield Line("files", f"`fettle show {job['id']} --save DIR` saves them")
    if job["status"] in ("failed", "cancelled"):
        yield Line("try again", f"`fettle retry {job['id']}` continues it as a new job")
    elif job["spec"].get("kind") not in ("verification", "benchmark"):
        command = f'fettle run --conversation {job["conversation_id"]} "..."'
        yield Line("follow up", f"`{command}` {_start_of_follow_up(job)}")


def _start_of_follow_up(job: Job) -> str:
    repo = job["spec"].get("repo")
    if repo is None:
        return "goes on from these files"
    if repo["url"] is None:
        return "goes on from this change; --repo . sends the present state of your repository"
    delivery = job["result"] and job["result"].get("delivery")
    branch = printable(delivery["branch"]) if delivery and delivery.get("branch") else None
    return f"adds to the branch {branch}" if branch else "goes on from this change"


def _heading(job: Job) -> Iterator[Part]:
    """The value of a result from a job that did not succeed."""
    if job["status"] in ("failed", "cancelled"):
        approved = job["result"]["approved_by"] is not None
        undelivered = approved and job["reason"] == "delivery"
        worth = "approved, not delivered" if undelivered else "the best so far"
        yield Line("result", f"{worth}{'' if approved else ', not approved'}", Tone.WARN)


def status_line(job: Job) -> Line:
    """The status, with an explanation."""
    has_doubt = job.get("unapproved") or job.get("override")
    is_doubtful = job["status"] == "succeeded" and has_doubt
    tone = Tone.WARN if is_doubtful else _TONES.get(job["status"], Tone.PLAIN)
    return Line(job["status"].replace("_", " "), _status_text(job), tone)


def cost_line(job: Job) -> Line:
    """Calls, tokens, money and time."""
    spent = f"{spend(job['cost']['total'])}, {duration(job['ran_seconds'])} of work"
    total_seconds = _seconds_between(job["created_at"], job["finished_at"])
    return Line(
        "cost", f"{spent}, {duration(total_seconds)} in all" if total_seconds is not None else spent
    )


def answer_parts(text: str) -> Iterator[Part]:
    """The answer of the job."""
    if answer := printable(text).strip():
        yield Line("answer", "")
        yield Prose(answer)


def _status_text(job: Job) -> str:
    """The status in words."""
    match job["status"]:
        case "succeeded" if job["result"] and job["result"]["approved_by"]:
            by = printable(job["result"]["approved_by"])
            return f"approved by {by}{override_note(job['result'])}"
        case "succeeded" if job["spec"].get("kind") == "verification":
            return "its checks were run"
        case "succeeded":
            return _accepted_text(job)
        case "failed":
            return printable(f"{job['reason']}: {job['detail']}")
        case "awaiting_review":
            return _waiting_text(job)
        case "queued" if waits := job.get("waits"):
            return f"{waits_text(waits)} (try {waits['tries']} failed: {printable(waits['why'])})"
        case "queued":
            queued = job.get("queued")
            return printable(queued["text"]) if queued else "waits for a worker"
        case "running":
            return f"by a worker; `fettle watch {job['id']}` follows it"
        case _:
            return "for good"


def _accepted_text(job: Job) -> str:
    """`accepted without approval: this job allows it after 2 revisions`."""
    if not job["critiques"]:
        return ACCEPTED
    last = job["critiques"][-1]
    reason = f" ({printable(last['ends'])})" if last.get("ends") else ""
    return f"{ACCEPTED} after {plural(last['revision'], 'revision')}{reason}"


def _waiting_text(job: Job) -> str:
    review = job["review"]
    upgrade = review is not None and review["kind"] == "upgrade"
    reason = f"{printable(review['payload']['reason'])} " if upgrade else ""
    if review is not None and review["kind"] == "questions":
        return f"for answers: `fettle review {job['id']} answer --answer TEXT ...`"
    actions = "approve|delegate|reject" if upgrade else "approve|revise|edit|reject"
    if not upgrade and review is not None and critic_may_decide(review):
        actions += "|delegate"
    return f"{reason}decide with `fettle review {job['id']} {actions}{digest_option(review)}`"


def digest_option(review: Mapping[str, Any] | None) -> str:
    """` --digest ...` for the commands that decide on the review; empty if it has no digest."""
    digest = (review or {}).get("digest")
    return f" --digest {digest}" if digest else ""


def critic_may_decide(review: Mapping[str, Any]) -> bool:
    """Whether the review takes `delegate`. The answer may lack `actions`."""
    if "actions" in review:
        return "delegate" in review["actions"]
    return bool(review.get("approvals_needed", 1) == 1)


def _history(job: Job, detail: Detail) -> Iterator[Part]:
    happened = [
        *((sent["at"], 0, message_parts(sent, detail)) for sent in job.get("messages", ())),
        *((run["at"], 0, run_parts(run, detail)) for run in job["runs"]),
        *((decision["at"], 1, decision_parts(decision, detail)) for decision in job["decisions"]),
        *((critique["at"], 2, critique_parts(critique, detail)) for critique in job["critiques"]),
    ]
    for _, _, drawn in sorted(happened, key=lambda entry: entry[:2]):
        yield from drawn


def _seconds_between(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
