"""What an event looks like: a pure function from events to parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from api.http.foreign_text import first_line
from api.quantities import duration, money, plural, size
from cli.client.events import Event
from cli.render.branches import merged_parts, of_step
from cli.render.checks import checked_parts, written_parts
from cli.render.parts import Code, Line, Output, Part, Prose, Steps, Tone
from cli.render.verification import verified_parts
from cli.render.words import clip, printable

Data = Mapping[str, Any]

ACCEPTED = "unapproved: nobody approved it, it was accepted as the job asked"

STEPS = frozenset({"step_started", "step_finished", "run_finished"})
"""Events whose own words name the step."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How many lines of code, and of each output, are shown; None: all."""

    code_lines: int | None = 24
    output_lines: int | None = 16


def parts(event: Event, detail: Detail) -> tuple[Part, ...]:
    """What to show of an event; nothing where a person would learn nothing."""
    draw = _DRAWN.get(event.kind)
    drawn = draw(event.data, detail) if draw else ()
    step = event.data.get("step")
    return tuple(drawn if step is None or event.kind in STEPS else of_step(step, drawn))


def run_parts(run: Data, detail: Detail) -> Iterator[Part]:
    """A run: how it ended, its code, its output, its files."""
    good = bool(run["succeeded"])
    by = "" if run["by"] in (None, "", "executor") else f", by {run['by']}"
    step = f"step {run['step']}: " if run.get("step") else ""
    text = f"{step}{_what(run)}{_ending(run)} in {duration(run['seconds'])}{by}"
    yield Line(f"run {run['number']}", text, Tone.GOOD if good else Tone.BAD)
    if failure := run.get("failure"):
        yield Line(failure_label(failure), printable(failure["cause"]), Tone.BAD)
    if code := _stored(run["code"]):
        language = "python" if run.get("tool", "python") == "python" else "bash"
        yield Code(clip(code, detail.code_lines), language)
    if output := _stored(run["stdout"]):
        yield Output(clip(output, detail.output_lines))
    if output := _stored(run["stderr"]):
        yield Output(clip(output, detail.output_lines), error=True)
    for made in run["artifacts"]:
        yield Line("file", artifact_text(made), Tone.QUIET)
    for refused in run["refused"]:
        yield Line("left out", printable(refused), Tone.WARN)


def _what(run: Data) -> str:
    """What it was a run of, where that was no program: `shell, `; of tests, how they went."""
    tool = run.get("tool", "python")
    counts = (run.get("tests") or {}).get("counts", {})
    told = [f"{count} {printable(name).replace('_', ' ')}" for name, count in counts.items()]
    return ", ".join(([] if tool == "python" else [printable(tool)]) + told + [""])


def failure_label(failure: Data) -> str:
    """`zero division`: the class of a failure, as it is read."""
    return str(failure["class"]).replace("_", " ")


def artifact_text(artifact: Data) -> str:
    """`plot.png (image/png, 34.1 KiB)`."""
    name = printable(artifact["name"])
    return f"{name} ({artifact['media_type']}, {size(artifact['size'])})"


def critique_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """The critic's verdict, and the run it rests on."""
    approved = data["verdict"] == "approve"
    run = str(data["run"] or "").removeprefix("r")  # an id is r and the number
    rests = f", resting on run {run}" if run else ""
    score = data.get("score")
    scored = "" if score is None else f", score {score:.2f}"
    by = ", by the rules alone" if data.get("by") == "rules" else ""
    text = f"{data['verdict']}{rests}{scored}{by}"
    yield Line("verdict", text, Tone.GOOD if approved else Tone.WARN)
    for criterion in data.get("failed", ()):
        yield Line("not met", printable(criterion), Tone.WARN)
    if data["overruled"]:
        yield Line("overruled", printable(data["overruled"]), Tone.WARN)
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))
    if data.get("ends"):
        yield Line("ends here", printable(data["ends"]), Tone.WARN)


def plan_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """The steps, and whose they are."""
    whose = {"model": "", "caller": " (yours)", "default": " (the default plan)"}
    yield Line("plan", f"{plural(len(data['steps']), 'step')}{whose.get(data['source'], '')}")
    steps = tuple(printable(step) for step in data["steps"])
    yield Steps(steps, tuple(data.get("progress") or ()))
    if data["note"]:
        yield Line("note", printable(data["note"]), Tone.WARN)


def decision_parts(data: Data, _detail: Detail) -> Iterator[Part]:
    """What a person has decided."""
    override = ", overriding failed evidence" if data["override"] else ""
    yield Line("decided", f"{data['action']}, by {printable(data['by'])}{override}", Tone.ASK)
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))
    for answer in data.get("answers") or ():
        yield Line("answer", printable(answer) or "(the default)")
    if data.get("ends"):
        yield Line("ends here", printable(data["ends"]), Tone.WARN)


def _voted(data: Data, _detail: Detail) -> Iterator[Part]:
    """One of the approvals that a review takes."""
    override = ", overriding failed evidence" if data["override"] else ""
    count = f"{data['approvals']} of {data['approvals_needed']} approvals"
    yield Line("approved", f"by {printable(data['by'])}{override}: {count}", Tone.ASK)
    if data["feedback"]:
        yield Prose(printable(data["feedback"]))
    if data.get("ends"):
        yield Line("ends here", printable(data["ends"]), Tone.WARN)


def _step(word: str) -> Callable[[Data, Detail], Iterator[Part]]:
    def draw(data: Data, _detail: Detail) -> Iterator[Part]:
        yield Line("step", f"{data['step']} {word}", Tone.QUIET)

    return draw


def _started(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("attempt", f"{data['attempt']}, by worker {data['worker']}", Tone.QUIET)


def _routed(data: Data, _detail: Detail) -> Iterator[Part]:
    model = data["model"] or "the default model"
    reason = first_line(printable(data["reason"]))
    yield Line("routed", f"{data['difficulty']}, to {model} ({reason})", Tone.QUIET)


def _model_called(data: Data, _detail: Detail) -> Iterator[Part]:
    spent = duration(data["seconds"])
    if data["input_tokens"] + data["output_tokens"]:  # a recording may have none
        tokens = f"{data['input_tokens']:,} + {data['output_tokens']:,} tokens"
        spent = f"{tokens}, {money(data['cost_usd'])}, {spent}"
    yield Line(data["role"], f"asked {data['model']}: {spent}", Tone.QUIET)
    for over in data.get("fell_back_from", ()):
        reason = first_line(printable(over["reason"]))
        yield Line("", f"in place of {over['model']}: {reason}", Tone.WARN)


def _run_finished(data: Data, detail: Detail) -> Iterator[Part]:
    yield from run_parts(data, detail)


def _repaired(data: Data, _detail: Detail) -> Iterator[Part]:
    """The run itself is told before it: how it went, and its code."""
    same = {"code": "nothing was changed", "failure": "the failure is the same"}
    as_before = same.get(data.get("same") or "", "it fails in another way")  # of older releases
    went = "fixed" if data["fixed"] else as_before
    lines = f"+{data['lines']['added']} -{data['lines']['removed']} lines"
    by = f"repair {data['attempt']} by {printable(data['model'])}"
    text = f"{went} ({data['of']}, {failure_label(data)}): {by}, {lines}"
    yield Line("repair", text, Tone.GOOD if data["fixed"] else Tone.WARN)


def _tool_used(data: Data, _detail: Detail) -> Iterator[Part]:
    note = f": {first_line(printable(data['note']))}" if data["note"] else ""
    path = f" {printable(data['path'])}" if data["path"] else ""
    text = f"{data['tool']}{path}{note}"
    yield Line("tool", text, Tone.QUIET if data["ok"] else Tone.WARN)


def _answered(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("answered", first_line(printable(data["text"])), Tone.QUIET)


def _review_opened(data: Data, _detail: Detail) -> Iterator[Part]:
    upgrade = "no worker can go on with it since an upgrade; " if data["kind"] == "upgrade" else ""
    what = "asks a question first" if data["kind"] == "questions" else "waits for a person"
    yield Line("review", f"{upgrade}{what}", Tone.ASK)


def _begun_anew(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("anew", f"begins again from the task, by {printable(data['by'])}", Tone.WARN)


def _review_expired(data: Data, _detail: Detail) -> Iterator[Part]:
    then = "it stays open" if data["then"] == "stay" else f"the job says: {data['then']}"
    yield Line("review", f"nobody decided in time; {then}", Tone.WARN)


def _review_reminded(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("review", f"still waits, for {duration(data['waited_seconds'])}", Tone.WARN)


def _review_escalated(data: Data, _detail: Detail) -> Iterator[Part]:
    waits = duration(data["waited_seconds"])
    yield Line("review", f"still waits, for {waits}: escalated", Tone.WARN)


def _given_back(data: Data, _detail: Detail) -> Iterator[Part]:
    if data["why"] == "retry":
        again = f"; tried again in {duration(data['delay_ms'] / 1000)}"
        yield Line("trouble", printable(data["detail"]) + again, Tone.WARN)
    else:
        why = printable(data["detail"]) or "the worker stops"
        yield Line("handed on", f"{why}; another one goes on with the job", Tone.WARN)


def _lease_lost(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("lost", f"worker {data['worker']} fell silent; another one goes on", Tone.WARN)


def _succeeded(data: Data, _detail: Detail) -> Iterator[Part]:
    if by := data["approved_by"]:
        yield Line("succeeded", f"approved by {printable(by)}", Tone.GOOD)
    elif data.get("unapproved", True):
        yield Line("succeeded", ACCEPTED, Tone.WARN)
    else:
        yield Line("succeeded", "the checks were run", Tone.GOOD)


def _failed(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("failed", printable(f"{data['reason']}: {data['detail']}"), Tone.BAD)


def _cancelled(data: Data, _detail: Detail) -> Iterator[Part]:
    yield Line("cancelled", f"by {printable(data['by'])}", Tone.BAD)


def _ending(run: Data) -> str:
    match run["end"]:
        case "exited":
            return f"exit {run['exit_code']}"
        case "signaled":
            return f"killed by signal {run['signal']}"
        case "killed":
            return "killed"
        case limit:
            return f"stopped at the {limit} limit"


def _stored(kept: Mapping[str, Any]) -> str:
    text = printable(kept["text"])
    if kept["dropped_bytes"]:
        text += f"\n... {size(kept['dropped_bytes'])} not kept"
    return text if text.strip() else ""


_DRAWN: Mapping[str, Callable[[Data, Detail], Iterator[Part]]] = {
    "started": _started,
    "routed": _routed,
    "planned": plan_parts,
    "step_started": _step("begins"),
    "step_finished": _step("is done"),
    "merged": merged_parts,
    "model_called": _model_called,
    "tests_written": written_parts,
    "checked": checked_parts,
    "verified": verified_parts,
    "run_finished": _run_finished,
    "repaired": _repaired,
    "tool_used": _tool_used,
    "answered": _answered,
    "review_opened": _review_opened,
    "review_expired": _review_expired,
    "review_reminded": _review_reminded,
    "review_escalated": _review_escalated,
    "begun_anew": _begun_anew,
    "voted": _voted,
    "decided": decision_parts,
    "critiqued": critique_parts,
    "given_back": _given_back,
    "lease_lost": _lease_lost,
    "succeeded": _succeeded,
    "failed": _failed,
    "cancelled": _cancelled,
}
