"""The events of the work on a job: plan, model calls, tools, runs and the critique (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from api.http.foreign_text import first_line, visible_path
from api.quantities import UNREPORTED, duration, money, plural
from cli.client.files import TextOf
from cli.render.evidence import (
    Data,
    Detail,
    EventParts,
    check_parts,
    failure_label,
    merged_parts,
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


def _routed(data: Data, _detail: Detail) -> Iterator[Part]:
    model = data["model"] or "the default model"
    reason = first_line(printable(data["reason"]))
    yield Line("routed", f"{data['difficulty']}, to {model} ({reason})", Tone.QUIET)


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


def _step(word: str) -> EventParts:
    def draw(data: Data, _detail: Detail) -> Iterator[Part]:
        seconds = data.get("seconds")  # not of the event: `LiveView` adds it
        time = "" if seconds is None else f", {duration(seconds)}"
        yield Line("step", f"{data['step']} {word}{time}", Tone.QUIET)

    return draw


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


def _questions(data: Data, detail: Detail) -> Iterator[Part]:
    if detail.is_full:  # otherwise, the review that follows shows the questions
        yield from questions_parts(data["questions"])


def _answered(data: Data, detail: Detail) -> Iterator[Part]:
    text = printable(data["text"])
    yield Line("answered", "" if detail.is_full else first_line(text), Tone.QUIET)
    if detail.is_full:
        yield Prose(text)


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


DRAWN: Mapping[str, EventParts] = {
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
    "critiqued": critique_parts,
}
