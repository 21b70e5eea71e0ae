"""An error with status 422 names the field and the limit."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from api.http.field_errors import field_errors
from api.schemas.job_request import JobRequest
from api.schemas.key import KeyRequest
from api.schemas.review import ReviewRequest


def first(model, raw):
    with pytest.raises(ValidationError) as caught:
        model.model_validate_json(raw)
    return field_errors(caught.value.errors())[0]


@pytest.mark.parametrize(
    ("model", "raw", "field", "limit"),
    [
        (JobRequest, '{"task": ""}', "task", 1),
        (JobRequest, json.dumps({"task": "x" * 20_001}), "task", 20_000),
        (JobRequest, '{"task": "x", "colour": 1}', "colour", None),
        (JobRequest, '{"task": "x", "priority": "soon"}', "priority", "'high', 'normal' or 'low'"),
        (JobRequest, '{"task": "x", "files": {"a": 1}}', "files.a", None),
        (JobRequest, json.dumps({"task": "x", "steps": ["a"] * 21}), "steps", 20),
        (JobRequest, "[]", "body", None),
        (JobRequest, '{"task": "\\ud800"}', "body", None),
        (JobRequest, "[" * 10_000, "body", None),
        (ReviewRequest, '{"action": "edit"}', "code", None),
        (ReviewRequest, '{"action": "reject"}', "feedback", None),
        (KeyRequest, '{"name": "a", "scopes": ["read"], "tenant": "a:b"}', "tenant", None),
    ],
)
def test_the_field_with_bad_input_is_named(model, raw, field, limit):
    error = first(model, raw)
    assert error.field == field
    if limit is not None:
        assert error.limit == limit


@pytest.mark.parametrize("name", ["a b", "a/b", "ü", "x" * 101, "", "a\n"])
def test_conversation_ids_are_plain(name):
    with pytest.raises(ValidationError):
        JobRequest(task="x", conversation_id=name)


@pytest.mark.parametrize("name", ["groq", "groq:", "recording:../x", "groq:a b", ":x", "a:b\n"])
def test_model_names_are_plain(name):
    with pytest.raises(ValidationError):
        JobRequest(task="x", model=name)


def test_an_error_does_not_repeat_the_input():
    error = first(JobRequest, '{"task": "x", "review": "a secret"}')
    assert "secret" not in error.model_dump_json()
