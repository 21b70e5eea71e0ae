"""Logs: an event is one line, for loggers of Fettle and of libraries alike."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from settings import logs


@pytest.fixture
def configured():
    """Set up logging, and afterwards restore pytest's handlers."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield logs.configure
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_events_of_fettle_and_of_libraries_are_json_with_the_bound_values(configured, capsys):
    configured("json", "INFO")
    with structlog.contextvars.bound_contextvars(request_id="r1", job="j1"):
        structlog.get_logger("fettle").info("job_submitted", new=True)
        logging.getLogger("library").warning("it is %s", "late", extra={"color_message": "x"})
    logging.getLogger("library").debug("not logged")
    own_line, library_line = map(json.loads, capsys.readouterr().err.splitlines())
    assert own_line["timestamp"].endswith("Z")
    del own_line["timestamp"], library_line["timestamp"]
    bound = {"request_id": "r1", "job": "j1"}
    assert own_line == {
        "event": "job_submitted",
        "new": True,
        "logger": "fettle",
        "level": "info",
        **bound,
    }
    assert library_line == {"event": "it is late", "logger": "library", "level": "warning", **bound}


def test_the_format_for_people_is_readable_and_shows_no_variables(configured, capsys):
    configured("console", "INFO")
    secret = "hidden" * 2
    try:
        int(f"{len(secret)} letters")
    except ValueError:
        structlog.get_logger("fettle").exception("failed", job="j1")
    output = capsys.readouterr().err
    assert "failed" in output
    assert "job=j1" in output
    assert secret not in output
