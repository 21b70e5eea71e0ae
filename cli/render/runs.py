"""Runs as parts, and what branches of a plan have done side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.http.foreign_text import visible_path
from api.quantities import duration, plural, size
from cli.render.parts import Code, Line, Output, Part, Prose, Tone
from cli.render.words import clip, printable

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Detail:
    """How many lines of code, and of each output, are shown; None: all. `whole`: also what only a
    transcript has room for: whole answers, diffs, questions, what a decision was bound to."""

    code_lines: int | None = 24
    output_lines: int | None = 16
    whole: bool = False


WHOLE = Detail(code_lines=None, output_lines=None, whole=True)


def run_parts(run: Data, detail: Detail) -> Iterator[Part]:
    """A run: how it ended, its code, its output, its files."""
    good = bool(run["succeeded"])
    by = "" if run["by"] in (None, "", "executor") else f", by {run['by']}"
    step = f"step {run['step']}: " if run.get("step") else ""
    text = f"{step}{_what(run)}{_ending(run)} in {duration(run['seconds'])}{by}"
    yield Line(f"run {run['number']}", text, Tone.GOOD if good else Tone.BAD)
    if failure := run.get("failure"):
        yield _failure_line(run, failure)
    if code := stored(run["code"]):
        language = "python" if run.get("tool", "python") == "python" else "bash"
        yield Code(clip(code, detail.code_lines), language)
    if output := stored(run["stdout"]):
        yield Output(clip(output, detail.output_lines))
    if output := stored(run["stderr"]):
        yield Output(clip(output, detail.output_lines), error=True)
    for made in run["artifacts"]:
        yield from artifact_parts("file", made, Tone.QUIET)
    for refused in run["refused"]:
        yield Line("left out", printable(refused), Tone.WARN)


def _what(run: Data) -> str:
    """What it was a run of, where that was no program: `shell, `; of tests, how they went."""
    tool = run.get("tool", "python")
    counts = (run.get("tests") or {}).get("counts", {})
    counted = [f"{count} {printable(name).replace('_', ' ')}" for name, count in counts.items()]
    return ", ".join(([] if tool == "python" else [printable(tool)]) + counted + [""])


def _failure_line(run: Data, failure: Data) -> Line:
    """The class and the cause; of tests that failed for an unknown reason, their number."""
    counts = (run.get("tests") or {}).get("counts", {})
    bad = counts.get("failed", 0) + counts.get("error", 0)
    if failure["class"] == "unknown" and bad:
        return Line("tests failed", f"{bad} of {sum(counts.values())}", Tone.BAD)
    return Line(failure_label(failure), printable(failure["cause"]), Tone.BAD)


def failure_label(failure: Data) -> str:
    """`zero division`: the class of a failure, as it is read."""
    return "failed" if failure["class"] == "unknown" else str(failure["class"]).replace("_", " ")


def artifact_parts(label: str, made: Data, tone: Tone = Tone.PLAIN) -> Iterator[Part]:
    """A file with its type and size; of a chart, the description of the picture, too."""
    yield Line(label, artifact_text(made), tone)
    if description := made.get("description"):
        yield Prose(printable(description))


def artifact_text(artifact: Data) -> str:
    """`plot.png (image/png, 34.1 KiB)`."""
    name = visible_path(artifact["name"])
    return f"{name} ({artifact['media_type']}, {size(artifact['size'])})"


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


def stored(kept: Mapping[str, Any]) -> str:
    """A text as it is kept, and how much of it is not."""
    text = printable(kept["text"])
    if kept["dropped_bytes"]:
        text += f"\n... {size(kept['dropped_bytes'])} not kept"
    return text if text.strip() else ""


def merged_parts(data: Data, _detail: object) -> Iterator[Part]:
    """What branches have left, merged: how much, and what did not go together."""
    steps = ", ".join(str(step) for step in data["steps"])
    yield Line("merged", f"{plural(len(data['files']), 'file')} of steps {steps}")
    for conflict in data["conflicts"]:
        copies = ", ".join(map(visible_path, conflict["copies"]))
        where = f"; {copies} beside it" if copies else ""
        yield Line(
            "conflict",
            printable(f"{visible_path(conflict['path'])}: {conflict['what']}{where}"),
            Tone.WARN,
        )
    for left in data["left_out"]:
        yield Line("left out", printable(f"step {left['step']}: {left['why']}"), Tone.WARN)


def of_step(step: int, drawn: Iterable[Part]) -> Iterator[Part]:
    """The same, with the step that a branch was at: what several do side by side is mixed."""
    first = True
    for part in drawn:
        if first and isinstance(part, Line):
            yield replace(part, text=f"step {step}: {part.text}")
        else:
            yield part
        first = False
