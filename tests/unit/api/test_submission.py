"""How the operator's settings limit a request, and the spec of an accepted request."""

from __future__ import annotations

import hashlib

import pytest
from pydantic import ValidationError

from api.http.body import FormParts
from api.problems import RefusedRequest
from api.schemas.job_request import JobRequest
from api.submission.job_spec import new_spec, request_digest
from api.submission.validation import SETTING_OF_LIMIT, check_job
from sandbox.protocol import Limits
from settings.api import ApiSettings
from settings.sandbox import SandboxSettings
from worker.adapters.backend import limits

SETTINGS = ApiSettings(
    max_files=3, max_files_bytes=10, max_body_bytes=1000, models=("groq:*", "a:b")
)


def refused(size=100, **fields):
    with pytest.raises(RefusedRequest) as caught:
        check_job(JobRequest(task="x", **fields), size, SETTINGS)
    return caught.value


def errors(**fields):
    return [(error.field, error.limit) for error in refused(**fields).more["errors"]]


def test_a_plain_job_passes():
    check_job(JobRequest(task="x", files={"a/b.py": "1", "a/c.py": "2"}), 100, SETTINGS)


def test_uploaded_files_count_together_with_files_in_the_body():
    request = JobRequest(task="x", files={"a": "1234"})

    def refused_with(**uploads):
        with pytest.raises(RefusedRequest) as caught:
            check_job(request, 100, SETTINGS, FormParts({}, uploads))
        return caught.value.detail

    check_job(request, 100, SETTINGS, FormParts({}, {"b": b"\xff" * 6}))
    assert refused_with(b=b"\xff" * 7) == (
        "files: all files may have at most 10 bytes (FETTLE_MAX_FILES_BYTES), not 11"
    )
    assert refused_with(b=b"", c=b"", d=b"") == (
        "files: a job may have at most 3 files (FETTLE_MAX_FILES), not 4"
    )
    assert "is the same file as 'a'" in refused_with(**{"./a": b""})


def test_the_number_and_bytes_of_files_are_limited():
    assert errors(files=dict.fromkeys("abcd", "")) == [("files", 3)]
    assert errors(files={"a": "12345678901"}) == [("files", 10)]
    assert errors(files={"a": "äöüäöü"}) == [("files", 10)]


@pytest.mark.parametrize("path", ["../a", "/a", "a//b", "", "a\\b", "a\x00b", "a/../b", "x" * 241])
def test_unsafe_paths_are_named(path):
    assert errors(files={path: ""}) == [(f"files.{path}"[:106], None)]


def test_every_allowed_setting_fits_a_sandbox():
    ApiSettings(max_files=Limits().workspace_files)
    with pytest.raises(ValidationError, match="max_files"):
        ApiSettings(max_files=Limits().workspace_files + 1)
    most = limits(SandboxSettings())
    assert ApiSettings().max_files_bytes < most.file_bytes <= most.workspace_bytes


def test_the_allow_list_decides_on_models():
    check_job(JobRequest(task="x", model="groq:any"), 100, SETTINGS)
    check_job(JobRequest(task="x", model="a:b"), 100, SETTINGS)
    assert errors(model="a:bc") == [("model", ["groq:*", "a:b"])]
    assert errors(model="groqs:x") == [("model", ["groq:*", "a:b"])]
    (error,) = refused(model="groqs:x").more["errors"]
    assert error.message == "groqs:x is not on the allow-list (FETTLE_MODELS): groq:*, a:b, auto"


def test_the_running_time_is_limited():
    assert errors(timeout_seconds=86_401) == [("timeout_seconds", 86_400)]
    request = JobRequest(task="x")
    assert new_spec(request, SETTINGS).timeout_seconds == 900
    short = SETTINGS.model_copy(update={"max_timeout_seconds": 60})
    assert new_spec(request, short).timeout_seconds == 60


@pytest.mark.parametrize(("field", "setting"), SETTING_OF_LIMIT.items())
def test_the_operator_limits_the_resources_of_a_job(field, setting):
    most = getattr(SETTINGS, setting)
    check_job(JobRequest(task="x", **{field: most}), 100, SETTINGS)
    assert new_spec(JobRequest(task="x", **{field: most}), SETTINGS)
    problem = refused(**{field: most + 1})
    assert problem.detail == (
        f"{field}: this deployment allows at most {most} (FETTLE_{setting.upper()})"
    )


@pytest.mark.invariant("J2")
def test_equal_bodies_are_compared_by_their_values_and_not_by_the_fields_of_a_release():
    plain = JobRequest(task="x")
    assert request_digest(plain) == request_digest(JobRequest(task="x", max_revisions=3))
    assert request_digest(plain) != request_digest(JobRequest(task="x", max_revisions=4))
    assert request_digest(plain) != request_digest(plain, {"a": "0" * 64})
    same_body = '{"task":"x"}'  # the same body from an older release, without a present field
    assert request_digest(plain) == hashlib.sha256(same_body.encode()).hexdigest()


def test_a_job_may_not_request_more_than_the_operator_allows():
    settings = ApiSettings(max_job_cost_usd="0.5", max_job_tokens=1000)
    request = JobRequest(task="x", max_cost_usd="0.51", max_tokens=1001)
    with pytest.raises(RefusedRequest) as caught:
        check_job(request, 100, settings)
    errors = [(error.field, error.limit) for error in caught.value.more["errors"]]
    assert errors == [("max_cost_usd", "0.5"), ("max_tokens", 1000)]
    check_job(JobRequest(task="x", max_cost_usd="0.50", max_tokens=1000), 100, settings)


@pytest.mark.parametrize("amount", [0, "0", "0.00", 0.0])
def test_a_job_that_may_spend_nothing_is_refused(amount):
    (error,) = refused(max_cost_usd=amount).more["errors"]
    assert (error.field, "more than 0 US dollars" in error.message) == ("max_cost_usd", True)


@pytest.mark.parametrize(
    ("amount", "text"), [(0.25, "0.25"), (2, "2"), (1e-9, "0.000000001"), ("2.50", "2.50")]
)
def test_an_amount_is_text_or_a_number(amount, text):
    assert JobRequest(task="x", max_cost_usd=amount).max_cost_usd == text


@pytest.mark.parametrize(
    "amount",
    [True, -1, 1e-10, 1e6, float("nan"), "-1", "1e3", "1,5", "", "0.0000000001", "1000000", "01"],
)
def test_an_amount_of_money_is_a_plain_decimal(amount):
    with pytest.raises(ValidationError):
        JobRequest(task="x", max_cost_usd=amount)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pytest -q", ["pytest", "-q"]),
        (["node", "test it.js"], ["node", "test it.js"]),
        ("x " * 64, ["x"] * 64),
    ],
)
def test_the_verification_command_is_a_list_or_a_line(command, words):
    assert JobRequest(task="x", verify=command).verify == words


@pytest.mark.parametrize(
    ("command", "message"),
    [
        *((f"a {word} b", "no shell runs it") for word in ("|", "||", "&&", ";", "&", ">", "<")),
        (["a", ">>", "b"], "no shell runs it"),
        ("", "no words"),
        (["", "a"], "is empty"),
        ("a 'b", "cannot be split"),
        (["a", "b\0c"], "NUL"),
        ("x " * 65, "64 words"),
        (["x" * 4_000, "y" * 97], "4096 characters"),
        (7, "valid list"),
    ],
)
def test_an_invalid_verification_command_is_refused_with_a_reason(command, message):
    with pytest.raises(ValidationError) as caught:
        JobRequest(task="x", verify=command)
    (error,) = caught.value.errors()
    assert error["loc"][0] == "verify"
    assert message in error["msg"]
