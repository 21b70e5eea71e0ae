"""The steps of a caller's own plan, with their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from api.schemas.fields import RequestModel

MAX_STEPS = 20
StepText = Annotated[str, Field(min_length=1, max_length=2_000)]


class OrderedStep(RequestModel):
    """A step of your own plan, with the steps that it needs."""

    text: StepText
    after: list[int] | None = Field(
        None,
        max_length=MAX_STEPS,
        description="the numbers (from 1) of the earlier steps that it needs; empty: none. Else it "
        "needs all earlier steps",
    )


def _kind(step: object) -> str | None:
    if isinstance(step, str):
        return "text"
    return "ordered" if isinstance(step, dict | OrderedStep) else None


Step = Annotated[
    Annotated[StepText, Tag("text")] | Annotated[OrderedStep, Tag("ordered")],
    Discriminator(
        _kind,
        custom_error_type="step",
        custom_error_message="a step is its text, or {text, after}",
    ),
]


def order_of(steps: Sequence[str | OrderedStep]) -> tuple[tuple[int, ...] | None, ...]:
    """For each step the numbers of the steps that it needs; None: it needs all earlier steps.
    Empty if no step has an `after`."""
    order = [step.after if isinstance(step, OrderedStep) else None for step in steps]
    if all(after is None for after in order):
        return ()
    return tuple(None if after is None else tuple(after) for after in order)


def texts_of(steps: Sequence[str | OrderedStep]) -> tuple[str, ...]:
    """The texts of the steps."""
    return tuple(step.text if isinstance(step, OrderedStep) else step for step in steps)


def _check_order(steps: list[Step]) -> list[Step]:
    for number, after in enumerate(order_of(steps), start=1):
        for earlier in after or ():
            if not 0 < earlier < number:
                raise PydanticCustomError(
                    "order",
                    "step {number} cannot be after step {earlier}: `after` has the numbers of "
                    "earlier steps, from 1, so list a step behind the steps that it needs",
                    {"number": number, "earlier": earlier, "field": f"steps.{number - 1}.after"},
                )
    return steps


Steps = Annotated[list[Step], Field(max_length=MAX_STEPS), AfterValidator(_check_order)]

_TYPED = re.compile(r"after (none|\d{1,9}(?:, *\d{1,9})*):\s*(\S.*)", re.DOTALL)


def parse_step(text: str) -> str | dict[str, Any]:
    """A typed step: a text, or `after 1,2: TEXT`, or `after none: TEXT`."""
    match = _TYPED.fullmatch(text)
    if match is None:
        return text
    numbers, text = match.groups()
    after = [] if numbers == "none" else [int(number) for number in numbers.split(",")]
    return {"text": text, "after": after}
