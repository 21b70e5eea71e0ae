"""A field of a job is declared in `JobSpec` and described in `JobRequest`; other code derives from
these.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import get_args

import click

from api.schemas.job_request import JobRequest, Terms
from api.schemas.job_spec import Spec
from cli.commands.jobs.lifecycle import retry_command
from cli.commands.jobs.run import run_command
from jobs.model.spec import JobSpec
from jobs.view.job import render_spec

MADE_BY_THE_SERVICE = {
    "steps_after",  # of `steps`
    "workspace",
    "retry_of",
    "fork_of",
    "kind",
    "rebase",
    "review_rules",
    "role_models",
}


def test_a_request_has_every_field():
    requested_fields = JobRequest.model_fields.keys() - {"files"}
    assert {field.name for field in fields(JobSpec)} == requested_fields | MADE_BY_THE_SERVICE


def test_a_response_has_every_field():
    rendered_spec = render_spec(JobSpec("x", conversation_id="c", verify=("pytest",)))
    assert rendered_spec.keys() == Spec.model_fields.keys()
    assert Spec.model_validate(rendered_spec).verify == ["pytest"]


def test_the_command_line_has_an_option_for_every_field():
    options = {param.name: param.type for param in run_command.params}
    assert {"branch", "pull_request"} <= options.keys()  # options of `deliver`
    other_commands = {"benchmark"}  # `fettle bench SET --detach`
    assert JobRequest.model_fields.keys() <= options.keys() | {"deliver"} | other_commands
    for name, field in JobRequest.model_fields.items():
        kinds = [*get_args(field.annotation), field.annotation]
        enums = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)]
        if enums and name in options:
            choice = options[name]
            assert isinstance(choice, click.Choice)
            assert set(choice.choices) == set(enums[0])


def test_a_retry_has_an_option_for_every_term():
    options = {param.name for param in retry_command.params}
    assert options == {*Terms.model_fields, "job_id", "no_wait", "as_json"}
