"""The events of the course of a job: its attempts, its setup, messages, and its end (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from api.http.foreign_text import signature
from api.quantities import duration
from cli.render.evidence import Data, Detail, EventParts
from cli.render.parts import Line, Output, Part, Prose, Tone
from cli.render.review_events import override_note
from cli.render.texts import clip, printable

ACCEPTED = "accepted without approval: this job allows it"


def _started(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("attempt", f"{data['attempt']}, by worker {data['worker']}", Tone.QUIET)


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


def message_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """A message of a person."""
    yield Line("message", f"{data['number']}, by {signature(data['by'], data['person'])}", Tone.ASK)
    yield Prose(printable(data["text"]))


def _messages_read(data: Data, _detail: Detail) -> Iterator[Part]:
    numbers = ", ".join(map(str, data["messages"]))
    yield Line(data["role"], f"has read message {numbers}", Tone.QUIET)


def _begun_anew(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("restarted", f"from the task, by {printable(data['by'])}", Tone.WARN)


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


def _delivered(data: Data, detail: Detail) -> Iterator[Part]:
    if detail.is_full:
        yield from delivery_parts(data)
    else:  # the outcome shows the rest
        yield Line("delivered", f"as {data['branch']}", Tone.QUIET)


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


DRAWN: Mapping[str, EventParts] = {
    "message_added": message_parts,
    "messages_read": _messages_read,
    "started": _started,
    "fetch_started": _fetch_started,
    "files_missing": _files_missing,
    "setup_left_out": _setup_left_out,
    "setup_started": _setup_started,
    "setup_finished": _setup_finished,
    "begun_anew": _begun_anew,
    "delivered": _delivered,
    "given_back": _given_back,
    "lease_lost": _lease_lost,
    "succeeded": _succeeded,
    "failed": _failed,
    "cancelled": _cancelled,
}
