"""The types of the Python client: they are the API's, and they accept answers of newer services."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.jobs.event_examples import RUN

from fettle import types

TOP = Path(__file__).resolve().parents[2]


def event(kind: str, data: dict[str, Any], **fields: Any) -> types.Event:
    head = {"seq": 1, "at": "2026-11-27T10:00:00Z", "kind": kind, "data": data}
    return types.EVENTS.validate_python({**head, **fields})


def test_they_are_the_types_of_the_schemas(tmp_path: Path) -> None:
    again = tmp_path / "types.py"
    subprocess.run([sys.executable, TOP / "deploy/client_types.py", again], check=True)
    present = (TOP / "fettle/types.py").read_text()
    assert again.read_text() == present, "write it again: make types"


def test_a_pattern_selects_events_by_their_types() -> None:
    match event("run_finished", RUN):
        case types.RunFinishedEvent(data=run):
            assert (run.number, run.failure and run.failure.class_) == (1, "zero_division")
        case other:
            pytest.fail(f"not a run: {other}")


def test_events_fields_and_words_of_a_newer_service_are_accepted() -> None:
    unknown = event("danced", {"steps": 3})
    assert isinstance(unknown, types.UnknownEvent)
    assert (unknown.kind, unknown.data) == ("danced", {"steps": 3})
    newer = event("run_finished", {**RUN, "end": "evaporated", "colour": "blue"}, mood="good")
    assert isinstance(newer, types.RunFinishedEvent)
    assert newer.data.end == "evaporated"
    assert newer.data.model_extra == {"colour": "blue"}
    assert newer.model_dump()["data"]["failure"]["class"] == "zero_division"


@pytest.mark.parametrize(
    ("kind", "data", "field"),
    [
        ("run_finished", {**RUN, "exit_code": "no"}, "exit_code"),
        ("run_finished", {**RUN, "end": 7}, "end"),
        ("planned", {"source": "caller", "note": ""}, "steps"),
    ],
)
def test_values_of_wrong_types_are_refused(kind: str, data: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        event(kind, data)
