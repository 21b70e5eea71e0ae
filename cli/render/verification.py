"""A verification as parts: what was run, whether that is evidence, what the experiment shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from api.http.foreign_text import first_line
from cli.render.parts import Line, Output, Part, Tone
from cli.render.words import clip, printable

Data = Mapping[str, Any]

OUTPUT_LINES = 12
SOURCES: Mapping[str, str] = {
    "job": "the job's command",
    "checks": "the acceptance checks",
    "model": "the model's command",
    "default": "the default command",
    "program": "the program itself",
}


def verified_parts(data: Data, _detail: object = None) -> Iterator[Part]:
    """The command and how it went; why it is no evidence; the experiments, and facts that weaken
    the evidence."""
    tone = Tone.GOOD if data["holds"] else Tone.WARN
    yield Line("verified" if data["holds"] else "not verified", command_text(data), tone)
    if data["problem"]:
        yield Line("", printable(data["problem"]), Tone.WARN)
    for experiment in data["experiments"]:
        yield from _experiment(experiment)
    for note in data.get("notes", ()):
        yield Line("", printable(note), Tone.WARN)


def command_text(data: Data) -> str:
    """`pytest -q (the model's command), in run 5`."""
    if data["command"] is None:
        return "nothing was run"
    source = SOURCES.get(data["source"] or "", "")
    run = f", in run {data['run'].removeprefix('r')}" if data["run"] else ""
    command = first_line(printable(data["command"]))
    return f"{command}{f' ({source})' if source else ''}{run}"


def experiment_text(experiment: Data) -> str:
    """`without calc.py: failed as it must (exit 1)`."""
    files = ", ".join(map(printable, experiment["replaced"]))
    ended = experiment["end"]
    how = f"exit {experiment['exit_code']}" if ended == "exited" else f"stopped: {ended}"
    state = "as before the job" if experiment.get("kind") == "before" else "broken"
    if experiment.get("undecided"):
        return f"with {files} {state}: undecided ({how})"
    word = "still green" if experiment["still_green"] else "failed as it must"
    return f"with {files} {state}: {word} ({how})"


def _experiment(experiment: Data) -> Iterator[Part]:
    """Its output only where it says what nobody expects."""
    green = experiment["still_green"]
    yield Line("experiment", experiment_text(experiment), Tone.WARN if green else Tone.QUIET)
    if not green:
        return
    for part in ("stdout", "stderr"):
        if text := printable(experiment[part]["text"]).strip():
            yield Output(clip(text, OUTPUT_LINES), error=part == "stderr")
