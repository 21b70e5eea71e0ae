"""What each kind of event is in a transcript: lines of Markdown. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from api.quantities import duration, plural
from cli.client.events import Event
from cli.render.verification import command_text, experiment_text

Texts = Mapping[tuple[str, str], str]
"""Whole texts that are told cut, by the run's id and the part of it."""
Data = Mapping[str, Any]

_TICKS = re.compile(r"`{3,}")
_LANGUAGES = {"python": "python", "shell": "bash"}


def _planned(data: Data, _: Texts) -> Iterator[str]:
    yield from ("## Plan", "")
    yield from (f"{number}. {step}" for number, step in enumerate(data["steps"], 1))
    yield from ((f"\n({data['note']})", "") if data.get("note") else ("",))


def _ran(data: Data, texts: Texts) -> Iterator[str]:
    tool = data.get("tool", "python")
    end = f"exit code {data['exit_code']}" if data["end"] == "exited" else data["end"]
    by = "" if data["by"] == "executor" else f", by {data['by']}"
    yield from (f"## Run {data['id']} ({tool}{by}): {end}, {duration(data['seconds'])}", "")
    for part in ("code", "stdout", "stderr"):
        text = texts.get((data["id"], part), data[part]["text"])
        if text.strip():
            language = _LANGUAGES.get(tool, "text") if part == "code" else "text"
            yield from ((f"{part}:", "") if part != "code" else ())
            yield from (*fenced(text, language), "")
    if failure := data.get("failure"):
        yield from (f"Failure: {failure['class']}: {failure['cause']}", "")
    if made := [file["name"] for file in data["artifacts"]]:
        yield from (f"Files: {', '.join(f'`{name}`' for name in made)}", "")


def _used(data: Data, _: Texts) -> Iterator[str]:
    path = f" `{data['path']}`" if data.get("path") else ""
    note = "" if data["ok"] else f": {data['note']}"
    yield from (f"* {data['tool']}{path}{note}", "")


def _answered(data: Data, _: Texts) -> Iterator[str]:
    yield from (f"## Answer, revision {data['revision']}", "", data["text"], "")


def _repaired(data: Data, texts: Texts) -> Iterator[str]:
    yield from (f"## Repair of {data['of']} in {data['run']}: {data['class']}", "")
    yield from (str(data["cause"]), "")
    if diff := data.get("diff"):
        yield from (*fenced(texts.get((data["run"], "diff"), diff["text"]), "diff"), "")


def _checked(data: Data, _: Texts) -> Iterator[str]:
    word = "passed" if data["passed"] else "not passed"
    word += ", by exit code alone" if data.get("judged_by") == "exit_code" else ""
    yield from (f"## Checks: {word}", "")
    if data.get("problem"):
        yield from (str(data["problem"]), "")
    for test in data["tests"]:
        yield f"* {test['outcome']} `{test['id']}`"
        if test["outcome"] != "passed" and test.get("detail", "").strip():
            yield from ("", *fenced(test["detail"], "text"), "")
    for notice in data.get("notices", ()):
        yield f"* notice `{notice['file']}`, line {notice['line']}: `{notice['what']}`"
    yield ""


def _verified(data: Data, _: Texts) -> Iterator[str]:
    word = "holds" if data["holds"] else "is no evidence"
    yield from (f"## Verification, revision {data['revision']}: {word}", "")
    yield from (command_text(data), "")
    if data["problem"]:
        yield from (data["problem"], "")
    for experiment in data["experiments"]:
        yield from (f"* {experiment_text(experiment)}", "")
        for part in ("stdout", "stderr"):
            if (text := experiment[part]["text"]).strip():
                yield from ("<details>", f"<summary>{part}</summary>", "")
                yield from (*fenced(text, "text"), "", "</details>", "")


def _critiqued(data: Data, _: Texts) -> Iterator[str]:
    on = f", resting on {data['run']}" if data.get("run") else ""
    yield from (f"## Verdict, revision {data['revision']}: {data['verdict']}{on}", "")
    for text in (data.get("feedback"), data.get("overruled") and f"Overruled: {data['overruled']}"):
        if text:
            yield from (str(text), "")


def _asked(data: Data, _: Texts) -> Iterator[str]:
    yield from ("## Questions", "")
    for number, each in enumerate(data["questions"], 1):
        yield f"{number}. {each['question']} (else: {each['default']})"
    yield ""


def _tests_written(data: Data, _: Texts) -> Iterator[str]:
    yield from ("## Tests written", "")
    yield from (f"* `{name}`" for name in data["tests"])
    yield from (f"* thrown out: `{each['id']}`: {each['why']}" for each in data["dropped"])
    yield ""


def _routed(data: Data, _: Texts) -> Iterator[str]:
    model = data["model"] or "the default model"
    yield from (f"* routed to {model}: {data['difficulty']} ({data['reason']})", "")


def _merged(data: Data, _: Texts) -> Iterator[str]:
    steps = ", ".join(map(str, data["steps"]))
    yield from (f"## Merge of steps {steps}: {plural(len(data['files']), 'file')}", "")
    for each in data["conflicts"]:
        beside = f"; beside it: {', '.join(each['copies'])}" if each["copies"] else ""
        yield f"* conflict: `{each['path']}` {each['what']}{beside}"
    yield from (f"* step {each['step']} was left out: {each['why']}" for each in data["left_out"])
    yield ""


def _decided(event: Event, _: Texts) -> Iterator[str]:
    data = event.data
    yield from (f"## Decision: {data['action']}, by {data['by']}", "", *_bound(event))
    approved = [name for name in data.get("approvals") or () if name != data["by"]]
    if approved:
        yield f"* approved before by {', '.join(approved)}"
    yield ""
    if data.get("feedback"):
        yield from (str(data["feedback"]), "")
    if answers := data.get("answers"):
        yield from (f"{number}. {text}" for number, text in enumerate(answers, 1))
        yield ""


def _voted(event: Event, _: Texts) -> Iterator[str]:
    data = event.data
    so_far = f"{data['approvals']} of {data['approvals_needed']}"
    yield from (f"## Approval {so_far}, by {data['by']}", "", *_bound(event), "")
    if data.get("feedback"):
        yield from (str(data["feedback"]), "")


def _bound(event: Event) -> Iterator[str]:
    """When it was said, of what exactly, and whether against what the evidence says."""
    yield f"* at {event.at.isoformat(timespec='seconds')}"
    if digest := event.data.get("digest"):
        named = ", which the decision named" if event.data.get("digest_named") else ""
        yield f"* of what has the digest `{digest}`{named}"
    if event.data.get("override"):
        yield "* although the evidence does not bear it"


def _expired(data: Data, _: Texts) -> Iterator[str]:
    yield from (f"* nobody decided in time: {data['then']}", "")


def _nudged(event: Event, _: Texts) -> Iterator[str]:
    word = "reminded of" if event.kind == "review_reminded" else "escalated"
    yield from (f"* review {word}, after {duration(event.data['waited_seconds'])}", "")


def _given_back(data: Data, _: Texts) -> Iterator[str]:
    detail = f": {data['detail']}" if data.get("detail") else ""
    yield from (f"* given back to the queue ({data['why']}){detail}", "")


def _cancelled(data: Data, _: Texts) -> Iterator[str]:
    yield from (f"* cancelled by {data['by']}", "")


def _summarized(data: Data, _: Texts) -> Iterator[str]:
    yield from ("## Summary", "", data["text"], "")


def _opened(data: Data, _: Texts) -> Iterator[str]:
    yield from (f"* a person is asked ({data['kind']})", "")


def _lost(data: Data, _: Texts) -> Iterator[str]:
    yield from (f"* worker {data['worker']} was lost; another goes on", "")


def _anew(data: Data, _: Texts) -> Iterator[str]:
    yield from (f"* begun anew by {data['by']}: what stands above was given up", "")


def fenced(text: str, language: str) -> Iterator[str]:
    """A block whose fence is longer than any in the text."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    yield from (f"{fence}{language}", text.rstrip("\n"), fence)


_BY_DATA: Mapping[str, Callable[[Data, Texts], Iterator[str]]] = {
    "routed": _routed,
    "asked": _asked,
    "tests_written": _tests_written,
    "planned": _planned,
    "run_finished": _ran,
    "tool_used": _used,
    "answered": _answered,
    "repaired": _repaired,
    "merged": _merged,
    "checked": _checked,
    "verified": _verified,
    "critiqued": _critiqued,
    "review_opened": _opened,
    "review_expired": _expired,
    "given_back": _given_back,
    "lease_lost": _lost,
    "begun_anew": _anew,
    "summarized": _summarized,
    "cancelled": _cancelled,
}
_BY_EVENT: Mapping[str, Callable[[Event, Texts], Iterator[str]]] = {
    "decided": _decided,
    "voted": _voted,
    "review_reminded": _nudged,
    "review_escalated": _nudged,
}
LEFT_OUT: Mapping[str, str] = {
    "submitted": "the head tells it",
    "started": "which worker it was matters to the event stream alone",
    "model_called": "the table of costs at the end sums them up",
    "step_started": "the runs that follow tell what was done",
    "step_finished": "the runs that follow tell what was done",
    "succeeded": "the end tells it",
    "failed": "the end tells it",
}
"""Kinds of event that a transcript does not tell, and why."""


def told(event: Event, texts: Texts) -> Iterator[str]:
    """The lines of one event; none for what is left out, or of a kind that a later release has."""
    if of_data := _BY_DATA.get(event.kind):
        yield from of_data(event.data, texts)
    elif of_event := _BY_EVENT.get(event.kind):
        yield from of_event(event, texts)
