"""Kinds of events: each is declared once, and events of older releases are still valid."""

from __future__ import annotations

from typing import get_args

from agents.failures.failure import FailureClass
from api.app import create_app
from jobs.model.event_data import KINDS, LIFE, WORK
from jobs.model.events import FINAL_KINDS
from jobs.model.record import Status
from jobs.model.run_data import FailureKind, RunEnd
from sandbox.protocol import End
from settings.api import ApiSettings


def test_every_kind_belongs_to_the_work_or_to_the_jobs_lifecycle():
    assert LIFE.keys() | WORK.keys() == KINDS.keys()
    assert not LIFE.keys() & WORK.keys()
    assert {str(status) for status in Status if status.final} == FINAL_KINDS <= LIFE.keys()


def test_declarations_that_cannot_be_imported_are_equal():
    assert set(get_args(RunEnd.__value__)) == set(End)
    assert set(get_args(FailureKind.__value__)) == set(FailureClass)


def test_the_docstring_of_a_field_describes_it_in_the_api() -> None:
    schemas = create_app(ApiSettings()).openapi()["components"]["schemas"]
    properties = {name: schemas[name]["properties"] for name in ("RunData", "VerifiedData")}
    assert properties["RunData"]["number"]["description"] == "Counts the job's runs, from 1."
    assert properties["RunData"]["step"]["description"].startswith(
        "The number of the branch's step"
    )
    assert properties["VerifiedData"]["experiments"].get("description") is None
