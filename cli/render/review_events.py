"""The events of reviews: their course, and the decisions of people (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from api.http.foreign_text import signature, visible_path
from api.line_comments import location
from api.quantities import duration
from cli.render.evidence import Data, Detail, EventParts, evidence_parts
from cli.render.parts import Code, Line, Part, Prose, Tone
from cli.render.texts import printable


def _review_opened(data: Data, _detail: Detail) -> Iterator[Part]:
    upgrade = "no worker can resume it after an upgrade; " if data["kind"] == "upgrade" else ""
    text = "asks a question first" if data["kind"] == "questions" else "waits for a person"
    yield Line("review", f"{upgrade}{text}", Tone.ASK)


def _review_assigned(data: Data, _detail: Detail) -> Iterator[Part]:
    by = signature(data["by"], data["person"])
    act = f"assigned to {printable(data['assignee'])}" if data["assignee"] else "released"
    yield Line("review", f"{act} by {by}", Tone.QUIET)


def _review_expired(data: Data, _detail: Detail) -> Iterator[Part]:
    then = "it stays open" if data["then"] == "stay" else f"the job says: {data['then']}"
    yield Line("review", f"nobody decided in time; {then}", Tone.WARN)


def _review_reminded(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("review", f"still waits, for {duration(data['waited_seconds'])}", Tone.WARN)


def _review_escalated(data: Data, _detail: Detail) -> Iterator[Part]:
    waits = duration(data["waited_seconds"])
    yield Line("review", f"still waits, for {waits}: escalated", Tone.WARN)


def _voted(data: Data, _detail: Detail) -> Iterator[Part]:
    """An approval, if the review needs several."""
    override = override_note(data)
    count = f"{data['approvals']} of {data['approvals_needed']} approvals"
    yield Line(
        "approved", f"by {signature(data['by'], data.get('person'))}{override}: {count}", Tone.ASK
    )
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))
    if data.get("ends"):
        yield Line("ends here", printable(data["ends"]), Tone.WARN)


def _vote_withdrawn(data: Data, _detail: Detail) -> Iterator[Part]:
    by = signature(data["by"], data.get("person"))
    count = f"{data['approvals']} of {data['approvals_needed']} approvals"
    yield Line("withdrawn", f"the approval by {by}: {count}", Tone.ASK)
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))


def decision_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """The decision of a person."""
    override = override_note(data)
    has_note = data["feedback"] or data.get("comments")
    # Without a note, `revise` continues a job that pauses after each run.
    action = "go on" if data["action"] == "revise" and not has_note else data["action"]
    yield Line(
        "decided", f"{action}, by {signature(data['by'], data.get('person'))}{override}", Tone.ASK
    )
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))
    for answer in data.get("answers") or ():
        yield Line("answer", printable(answer) or "(the default)")
    for comment in data.get("comments") or ():
        yield from _comment_parts(comment)
    for path, digest in (data.get("files") or {}).items():
        yield Line("edited" if digest else "removed", visible_path(path))
    if data.get("ends"):
        yield Line("ends here", printable(data["ends"]), Tone.WARN)


def override_note(data: Data) -> str:
    """`, overriding the evidence` after a decision, or a result, that overrides it; else empty."""
    return ", overriding the evidence" if data.get("override") else ""


def comment_line(comment: Data) -> Line:
    """The position of a comment; in a later review also whether the line has changed."""
    state = ""
    if "outdated" in comment:
        state = ": the line has changed" if comment["outdated"] else ": the line is as it was"
    return Line("comment", printable(location(comment)) + state, Tone.ASK)


def _comment_parts(comment: Data) -> Iterator[Part]:
    yield comment_line(comment)
    line = comment["excerpt"][comment["at"] :][:1]
    yield Code(printable("\n".join(line)), "diff")
    yield Prose(printable(comment["text"]))


def approval_parts(approval: Data) -> Iterator[Part]:
    """An approval of a job's result: the person, the time, the digest, the evidence, the remark."""
    override = override_note(approval)
    at = approval["at"]
    by = signature(approval["by"], approval.get("person"))
    tone = Tone.WARN if override else Tone.GOOD
    yield Line("approval", f"by {by} at {at[:10]} {at[11:19]} UTC{override}", tone)
    yield from subject_parts(approval)
    if approval["feedback"]:
        yield Prose(printable(approval["feedback"]))


def subject_parts(data: Data) -> Iterator[Part]:
    """The digest and the evidence that a decision is about."""
    if digest := data.get("digest"):
        naming = ", which the decision named" if data.get("digest_named") else ""
        yield Line("digest", f"{digest}{naming}")
    if evidence := data.get("evidence"):
        yield from evidence_parts(evidence)


DRAWN: Mapping[str, EventParts] = {
    "review_opened": _review_opened,
    "review_expired": _review_expired,
    "review_reminded": _review_reminded,
    "review_escalated": _review_escalated,
    "review_assigned": _review_assigned,
    "voted": _voted,
    "vote_withdrawn": _vote_withdrawn,
    "decided": decision_parts,
}
