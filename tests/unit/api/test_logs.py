"""Logs: one event a line, ours and the library's alike."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from settings import logs


@pytest.fixture
def configured():
    """Set up logging; put back what pytest had."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield logs.configure
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_ours_and_the_librarys_are_json_with_what_is_bound(configured, capsys):
    configured("json", "INFO")
    with structlog.contextvars.bound_contextvars(request_id="r1", job="j1"):
        structlog.get_logger("ours").info("job_submitted", new=True)
        logging.getLogger("library").warning("it is %s", "late", extra={"color_message": "x"})
    logging.getLogger("library").debug("not logged")
    ours, other_answer = map(json.loads, capsys.readouterr().err.splitlines())
    assert ours["timestamp"].endswith("Z")
    del ours["timestamp"], other_answer["timestamp"]
    bound = {"request_id": "r1", "job": "j1"}
    assert ours == {
        "event": "job_submitted",
        "new": True,
        "logger": "ours",
        "level": "info",
        **bound,
    }
    assert other_answer == {"event": "it is late", "logger": "library", "level": "warning", **bound}


def test_for_people_it_is_readable_and_reports_no_variables(configured, capsys):
    configured("console", "INFO")
    secret = "hidden" * 2
    try:
        int(f"{len(secret)} letters")
    except ValueError:
        structlog.get_logger("ours").exception("failed", job="j1")
    output = capsys.readouterr().err
    assert "failed" in output
    assert "job=j1" in output
    assert secret not in output
