"""Arguments in another form than the schema asks for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from support.quirks.edits import with_arguments
from support.quirks.quirk import ReceivedRequest
from support.quirks.row import Ran, Row, on_all
from support.quirks.server import CODE, calls, competent

from lab.provider import Reply, ToolCall, Turn

_RUN = ToolCall("python", {"code": CODE})


def _with_arrays_as_text(args: dict[str, Any]) -> dict[str, Any]:
    return {
        name: json.dumps(value) if isinstance(value, list) else value
        for name, value in args.items()
    }


_FORMS: dict[str, Callable[[Any], Any]] = {
    "encoded twice": json.dumps,
    "encoded three times": lambda args: json.dumps(json.dumps(args)),
    "in a list": lambda args: [args],
    "under the name arguments": lambda args: {"arguments": args},
    "as text under the name parameters": lambda args: {"parameters": json.dumps(args)},
    "with null for an argument that is left out": lambda args: {**args, "plan_steps": None},
    "with arrays as text": _with_arrays_as_text,
}
_NO_OBJECTS: dict[str, Any] = {"a list": [1, 2], "a number": 5, "a text": "ls -l", "true": True}


def _first_call_of_the_job(received: ReceivedRequest) -> bool:
    return received.role == "executor" and received.request.replies_so_far == 0


def _persistent(received: ReceivedRequest) -> Turn:
    """A competent model that makes its call again if the request asks for that."""
    if "Call it again" in received.request.last_text:
        return Reply(tool_calls=(_RUN,))
    return competent(received)


def _without_mistakes(ran: Ran) -> bool:
    return all(event["ok"] for event in ran.events("tool_used"))


def _one_mistake(ran: Ran) -> bool:
    return [event["ok"] for event in ran.events("tool_used")] == [False]


ROWS: list[Row] = [
    *(
        row
        for title, edit in _FORMS.items()
        for row in on_all(
            f"arguments {title}", with_arguments(edit), check=_without_mistakes, most_requests=4
        )
    ),
    *on_all(
        "a number as text, an array as text, and null",
        model=calls(
            ToolCall("list_dir", {"path": None, "depth": "2"}),
            ToolCall("python", {"code": CODE, "plan_steps": "[1]"}),
        ),
        check=_without_mistakes,
    ),
    *(
        row
        for title, value in _NO_OBJECTS.items()
        for row in on_all(
            f"arguments that are {title}, once",
            with_arguments(lambda _, it=value: it, _first_call_of_the_job),
            model=_persistent,
            check=_one_mistake,
        )
    ),
]
