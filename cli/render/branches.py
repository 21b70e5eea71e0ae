"""Steps that go side by side, as they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from api.quantities import plural
from cli.render.parts import Line, Part, Tone
from cli.render.words import printable

Data = Mapping[str, Any]


def merged_parts(data: Data, _detail: object) -> Iterator[Part]:
    """What branches have left, laid together: how much, and what did not go together."""
    steps = ", ".join(str(step) for step in data["steps"])
    yield Line("merged", f"{plural(len(data['files']), 'file')} of steps {steps}")
    for conflict in data["conflicts"]:
        copies = ", ".join(conflict["copies"])
        where = f"; {copies} beside it" if copies else ""
        yield Line(
            "conflict", printable(f"{conflict['path']}: {conflict['what']}{where}"), Tone.WARN
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
