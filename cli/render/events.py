"""The events of a job as parts, for a terminal and for a transcript (pure)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from api.http.foreign_text import first_line, signature, visible_path
from api.line_comments import location
from api.quantities import UNREPORTED, duration, money, plural
from cli.client.files import TextOf
from cli.render.evidence import (
    Detail,
    check_parts,
    evidence_parts,
    failure_label,
    merged_parts,
    of_step,
    questions_parts,
    run_parts,
    stored_text,
    verification_parts,
    written_test_parts,
)
from cli.render.parts import Code, Line, Output, Part, Prose, Steps, Tone
from cli.render.texts import clip, language_of, printable
from fettle.events import ReceivedEvent
from jobs.view.work import read_critique, unmet_text

Data = Mapping[str, Any]

ACCEPTED = "accepted without approval: this job allows it"

DECISIONS = frozenset({"decided", "voted", "vote_withdrawn"})
"""The kinds of events by which a person decides."""
KINDS_WITH_STEP = frozenset({"step_started", "step_finished", "run_finished"})
"""The kinds of events that name the step in their text."""


def parts(event: ReceivedEvent, detail: Detail) -> tuple[Part, ...]:
    """The parts that show an event; none for kinds that only programs need."""
    draw = _DRAWN.get(event.kind)
    drawn = list(draw(event.data, detail)) if draw else []
    if detail.is_full and event.kind in DECISIONS:
        drawn.append(Line("at", event.at.isoformat(timespec="seconds")))
        drawn += _subject_parts(event.data)
    step = event.data.get("step")
    return tuple(drawn if step is None or event.kind in KINDS_WITH_STEP else of_step(step, drawn))


def critique_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """The critic's verdict, the runs that it rests on, and the unmet criteria."""
    approved = data["verdict"] == "approve"
    critique = read_critique(data)
    runs = ", ".join(run.removeprefix("r") for run in critique["runs"])  # an id: r and the number
    rests = f", resting on run {runs}" if runs else ""
    by = ", by the rules alone" if data.get("by") == "rules" else ""
    yield Line("verdict", f"{data['verdict']}{rests}{by}", Tone.GOOD if approved else Tone.WARN)
    for unmet in critique["unmet"]:
        yield Line("not met", printable(unmet_text(unmet)), Tone.WARN)
    if data["overruled"]:
        yield Line("overruled", printable(data["overruled"]), Tone.WARN)
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))
    if data.get("ends"):
        yield Line("ends here", printable(data["ends"]), Tone.WARN)


def plan_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """The steps, and the author of the plan."""
    author = {"model": "", "caller": " (yours)", "default": " (the default plan)"}
    yield Line("plan", f"{plural(len(data['steps']), 'step')}{author.get(data['source'], '')}")
    steps = tuple(printable(step) for step in data["steps"])
    times = tuple(map(_step_time, data.get("times") or ()))
    yield Steps(steps, tuple(data.get("progress") or ()), times)
    if data["note"]:
        yield Line("note", printable(data["note"]), Tone.WARN)


def _step_time(time: Data) -> str:
    """The time of work on a step; '' before its start."""
    seconds = float(time["seconds"])
    if time["since"]:
        elapsed = datetime.now(UTC) - datetime.fromisoformat(time["since"])
        seconds += max(elapsed.total_seconds(), 0.0)
    return duration(seconds) if time["started_at"] else ""


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


def _review_assigned(data: Data, _detail: Detail) -> Iterator[Part]:
    by = signature(data["by"], data["person"])
    act = f"assigned to {printable(data['assignee'])}" if data["assignee"] else "released"
    yield Line("review", f"{act} by {by}", Tone.QUIET)


def _vote_withdrawn(data: Data, _detail: Detail) -> Iterator[Part]:
    by = signature(data["by"], data.get("person"))
    count = f"{data['approvals']} of {data['approvals_needed']} approvals"
    yield Line("withdrawn", f"the approval by {by}: {count}", Tone.ASK)
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))


def approval_parts(approval: Data) -> Iterator[Part]:
    """An approval of a job's result: the person, the time, the digest, the evidence, the remark."""
    override = override_note(approval)
    at = approval["at"]
    by = signature(approval["by"], approval.get("person"))
    tone = Tone.WARN if override else Tone.GOOD
    yield Line("approval", f"by {by} at {at[:10]} {at[11:19]} UTC{override}", tone)
    yield from _subject_parts(approval)
    if approval["feedback"]:
        yield Prose(printable(approval["feedback"]))


def _subject_parts(data: Data) -> Iterator[Part]:
    """The digest and the evidence that a decision is about."""
    if digest := data.get("digest"):
        naming = ", which the decision named" if data.get("digest_named") else ""
        yield Line("digest", f"{digest}{naming}")
    if evidence := data.get("evidence"):
        yield from evidence_parts(evidence)


def _step(word: str) -> Callable[[Data, Detail], Iterator[Part]]:
    def draw(data: Data, _detail: Detail) -> Iterator[Part]:
        seconds = data.get("seconds")  # not of the event: `LiveView` adds it
        time = "" if seconds is None else f", {duration(seconds)}"
        yield Line("step", f"{data['step']} {word}{time}", Tone.QUIET)

    return draw


def _started(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("attempt", f"{data['attempt']}, by worker {data['worker']}", Tone.QUIET)


def message_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """A message of a person."""
    yield Line("message", f"{data['number']}, by {signature(data['by'], data['person'])}", Tone.ASK)
    yield Prose(printable(data["text"]))


def _messages_read(data: Data, _detail: Detail) -> Iterator[Part]:
    numbers = ", ".join(map(str, data["messages"]))
    yield Line(data["role"], f"has read message {numbers}", Tone.QUIET)


def _fetch_started(data: Data, _detail: Detail) -> Iterator[Part]:
    action = f"fetching {data['url']}" if data["url"] else "unpacking what was sent"
    yield Line("repository", printable(", ".join(filter(None, (action, data["ref"])))), Tone.QUIET)


def _files_missing(data: Data, _detail: Detail) -> Iterator[Part]:
    for text in data["missing"]:
        yield Line("repository", printable(text), Tone.WARN)


def _setup_left_out(_data: Data, _detail: Detail) -> Iterator[Part]:
    reason = "the operator has named no hosts (FETTLE_SETUP_HOSTS)"
    yield Line("setup", f"this project's dependencies are not installed: {reason}", Tone.WARN)


def _setup_started(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("setup", printable(data["command"]), Tone.QUIET)


def _setup_finished(data: Data, detail: Detail) -> Iterator[Part]:
    if data["reused"]:
        yield Line("setup", f"{printable(data['command'])}: there already", Tone.QUIET)
    elif data["ok"]:
        yield Line("setup", f"done in {duration(data['seconds'])}", Tone.QUIET)
    else:
        yield Line("setup", f"failed after {duration(data['seconds'])}", Tone.BAD)
        if data["output"]:
            yield Output(clip(printable(data["output"]), detail.output_lines))


def _routed(data: Data, _detail: Detail) -> Iterator[Part]:
    model = data["model"] or "the default model"
    reason = first_line(printable(data["reason"]))
    yield Line("routed", f"{data['difficulty']}, to {model} ({reason})", Tone.QUIET)


def _model_called(data: Data, _detail: Detail) -> Iterator[Part]:
    spent = duration(data["seconds"])
    if data["input_tokens"] + data["output_tokens"]:  # a recording may have none
        tokens = f"{data['input_tokens']:,} + {data['output_tokens']:,} tokens"
        spent = f"{tokens}, {money(data['cost_usd'])}, {spent}"
    elif data["cost_usd"] is None:
        spent = f"{UNREPORTED}, {spent}"
    yield Line(data["role"], f"asked {data['model']}: {spent}", Tone.QUIET)
    for skipped in data.get("fell_back_from", ()):
        reason = first_line(printable(skipped["reason"]))
        yield Line("", f"in place of {skipped['model']}: {reason}", Tone.WARN)


def _repaired(data: Data, detail: Detail) -> Iterator[Part]:
    """A successful repair. The event before it shows the run."""
    lines = f"+{data['lines']['added']} -{data['lines']['removed']} lines"
    by = f"repair {data['attempt']} by {printable(data['model'])}"
    text = f"fixed ({data['of']}, {failure_label(data)}): {by}, {lines}"
    yield Line("repair", text, Tone.GOOD)
    if detail.is_full and (diff := data.get("diff")):
        yield Prose(printable(data["cause"]))
        yield Code(stored_text(diff), "diff")


def _tool_used(data: Data, detail: Detail) -> Iterator[Part]:
    note = f": {first_line(printable(data['note']))}" if data.get("note") else ""
    path = f" {visible_path(data['path'])}" if data["path"] else ""
    text = f"{printable(data['tool'])}{path}{note}"  # a model may call a tool that does not exist
    by = data.get("by")
    by = "critic's tool" if by == "critic" else printable(by) if by else "tool"
    yield Line(by, text, Tone.QUIET if data["ok"] else Tone.WARN)
    if output := data.get("output"):
        yield Output(clip(printable(output), detail.output_lines))
    if diff := data.get("diff"):
        yield Code(clip(printable(_without_names(diff)), detail.code_lines), "diff")


def _without_names(diff: str) -> str:
    """The diff of one file without the two lines that name the file, and without the empty line
    after the end of the file."""
    hunks = diff.split("\n", 2)[-1] if diff.startswith("--- ") else diff
    return hunks.removesuffix("\n ")


def file_parts(event: ReceivedEvent, text_of: TextOf, detail: Detail) -> Iterator[Part]:
    """The content of each file that a tool wrote, if the event has no diff."""
    if event.kind != "tool_used" or event.data.get("diff"):
        return
    for artifact in event.data.get("artifacts", ()):
        if text := text_of(artifact):
            yield Code(clip(printable(text), detail.code_lines), language_of(artifact["name"]))


def _answered(data: Data, detail: Detail) -> Iterator[Part]:
    text = printable(data["text"])
    yield Line("answered", "" if detail.is_full else first_line(text), Tone.QUIET)
    if detail.is_full:
        yield Prose(text)


def _questions(data: Data, detail: Detail) -> Iterator[Part]:
    if detail.is_full:  # otherwise, the review that follows shows the questions
        yield from questions_parts(data["questions"])


def _summarized(data: Data, detail: Detail) -> Iterator[Part]:
    if detail.is_full:
        yield Line("summary", "")
        yield Prose(printable(data["text"]))


def _benchmark_started(data: Data, _detail: Detail) -> Iterator[Part]:
    exercises = printable(str(data["set"]["name"]))
    yield Line("benchmark", f"{data['settings']['model']}, {exercises}, {data['tries']} tries")


def _exercise_finished(data: Data, _detail: Detail) -> Iterator[Part]:
    if data["why_not"]:
        outcome, tone = f"not measured: {data['why_not']}", Tone.BAD
    elif data["final"] is None:
        outcome, tone = "no tests", Tone.PLAIN
    elif data["final"]["passed"]:
        outcome, tone = "passed", Tone.GOOD
    else:
        outcome, tone = f"failed: {data['final']['why']}", Tone.WARN
    number = f" try {data['repeat']}" if data["repeat"] > 1 else ""
    yield Line("exercise", printable(f"{data['id']}{number}: {outcome}"), tone)


def _review_opened(data: Data, _detail: Detail) -> Iterator[Part]:
    upgrade = "no worker can resume it after an upgrade; " if data["kind"] == "upgrade" else ""
    text = "asks a question first" if data["kind"] == "questions" else "waits for a person"
    yield Line("review", f"{upgrade}{text}", Tone.ASK)


def _begun_anew(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("restarted", f"from the task, by {printable(data['by'])}", Tone.WARN)


def _review_expired(data: Data, _detail: Detail) -> Iterator[Part]:
    then = "it stays open" if data["then"] == "stay" else f"the job says: {data['then']}"
    yield Line("review", f"nobody decided in time; {then}", Tone.WARN)


def _review_reminded(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("review", f"still waits, for {duration(data['waited_seconds'])}", Tone.WARN)


def _review_escalated(data: Data, _detail: Detail) -> Iterator[Part]:
    waits = duration(data["waited_seconds"])
    yield Line("review", f"still waits, for {waits}: escalated", Tone.WARN)


def delivery_parts(data: Data | None) -> Iterator[Part]:
    """The branch and the pull request of the change."""
    if data is None:
        return
    if data["branch"]:
        yield Line("branch", f"{data['branch']}, at {(data['commit'] or '')[:12]}", Tone.GOOD)
    if data["pull_request"]:
        yield Line("request", printable(data["pull_request"]), Tone.GOOD)
    if data["note"]:
        yield Line("note", printable(data["note"]), Tone.WARN)


def _delivered(data: Data, detail: Detail) -> Iterator[Part]:
    if detail.is_full:
        yield from delivery_parts(data)
    else:  # the outcome shows the rest
        yield Line("delivered", f"as {data['branch']}", Tone.QUIET)


def _given_back(data: Data, _detail: Detail) -> Iterator[Part]:
    if data["why"] == "retry":
        waits = f"waits for {printable(data['waits_for'])}, " if data.get("waits_for") else ""
        again = f"; {waits}tried again in {duration(data['delay_ms'] / 1000)}"
        yield Line("trouble", printable(data["detail"]) + again, Tone.WARN)
    else:
        reason = printable(data["detail"]) or "the worker stops"
        yield Line("requeued", f"{reason}; another worker continues the job", Tone.WARN)


def _lease_lost(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("lost", f"worker {data['worker']} does not answer; another continues", Tone.WARN)


def _succeeded(data: Data, _detail: Detail) -> Iterator[Part]:
    if by := data["approved_by"]:
        override = override_note(data)
        tone = Tone.WARN if override else Tone.GOOD
        yield Line("succeeded", f"approved by {printable(by)}{override}", tone)
    elif data.get("unapproved", True):  # release 0.1.0 did not write this field
        yield Line("succeeded", ACCEPTED, Tone.WARN)
    else:
        yield Line("succeeded", "the checks were run", Tone.GOOD)


def _failed(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("failed", printable(f"{data['reason']}: {data['detail']}"), Tone.BAD)


def _cancelled(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("cancelled", f"by {printable(data['by'])}", Tone.BAD)


_DRAWN: Mapping[str, Callable[[Data, Detail], Iterator[Part]]] = {
    "message_added": message_parts,
    "messages_read": _messages_read,
    "started": _started,
    "fetch_started": _fetch_started,
    "files_missing": _files_missing,
    "setup_left_out": _setup_left_out,
    "setup_started": _setup_started,
    "setup_finished": _setup_finished,
    "routed": _routed,
    "planned": plan_parts,
    "step_started": _step("begins"),
    "step_finished": _step("is done"),
    "merged": merged_parts,
    "model_called": _model_called,
    "tests_written": written_test_parts,
    "checked": check_parts,
    "verified": verification_parts,
    "run_finished": run_parts,
    "repaired": _repaired,
    "tool_used": _tool_used,
    "asked": _questions,
    "answered": _answered,
    "summarized": _summarized,
    "benchmark_started": _benchmark_started,
    "exercise_finished": _exercise_finished,
    "review_opened": _review_opened,
    "review_expired": _review_expired,
    "review_reminded": _review_reminded,
    "review_escalated": _review_escalated,
    "review_assigned": _review_assigned,
    "begun_anew": _begun_anew,
    "voted": _voted,
    "vote_withdrawn": _vote_withdrawn,
    "decided": decision_parts,
    "critiqued": critique_parts,
    "delivered": _delivered,
    "given_back": _given_back,
    "lease_lost": _lease_lost,
    "succeeded": _succeeded,
    "failed": _failed,
    "cancelled": _cancelled,
}
SHOWN = _DRAWN.keys()
"""The kinds of event that are shown."""
