"""The caller's own steps over HTTP: their texts, and the earlier steps that each needs."""

from __future__ import annotations

import pytest
from support.pages.api_front import settings_for, started

from api.schemas.job import Job
from api.schemas.steps import parse_step

STEPS = ["Write a.py.", {"text": "Write b.py.", "after": []}, {"text": "Test.", "after": [1, 2]}]
TEXTS, ORDER = ["Write a.py.", "Write b.py.", "Test."], [None, [], [1, 2]]


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_a_job_its_retry_and_its_fork_have_the_order_of_the_steps(front):
    first = await front.submit(steps=STEPS, parallel=True)
    await front.client.post(f"/jobs/{first}/cancel")
    derived = [
        (await front.client.post(f"/jobs/{first}/{path}")).json()["id"]
        for path in ("retry", "fork")
    ]
    for job_id in (first, *derived):
        spec = Job.model_validate(await front.job(job_id)).spec
        assert (spec.steps, spec.steps_after, spec.parallel) == (TEXTS, ORDER, True)
    fork = await front.client.post(f"/jobs/{first}/fork", json={"prompt": "Sort it."})
    spec = (await front.job(fork.json()["id"]))["spec"]
    assert (spec["steps"], spec["steps_after"]) == ([], [])
    plain = (await front.job(await front.submit(steps=TEXTS)))["spec"]
    assert (plain["steps"], plain["steps_after"]) == (TEXTS, [])


@pytest.mark.parametrize("earlier", [2, 3, 9, 0])
async def test_a_step_cannot_be_after_itself_a_later_or_an_unknown_step(front, earlier):
    steps = ["one", {"text": "two", "after": [1, earlier]}, "three"]
    answer = await front.client.post("/jobs", json={"task": "x", "steps": steps})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, "steps.1.after")
    assert error["message"].startswith(f"step 2 cannot be after step {earlier}: ")


async def test_the_list_of_earlier_steps_is_bounded(front):
    steps = ["one", {"text": "two", "after": [1] * 21}]
    answer = await front.client.post("/jobs", json={"task": "x", "steps": steps})
    assert (answer.status_code, answer.json()["errors"][0]["limit"]) == (422, 20)


async def test_a_step_is_a_text_or_an_object(front):
    answer = await front.client.post("/jobs", json={"task": "x", "steps": [7]})
    assert answer.json()["errors"][0]["message"] == "a step is its text, or {text, after}"


@pytest.mark.parametrize(
    ("typed", "step"),
    [
        ("Write a.py.", "Write a.py."),
        ("after 1, 2: Test.", {"text": "Test.", "after": [1, 2]}),
        ("after none:\nTest: all", {"text": "Test: all", "after": []}),
        ("after noon: test", "after noon: test"),
        ("after 1:", "after 1:"),
        (long := f"after {'9' * 5_000}: Test.", long),
    ],
)
def test_a_typed_step_may_begin_with_the_steps_that_it_needs(typed, step):
    assert parse_step(typed) == step
