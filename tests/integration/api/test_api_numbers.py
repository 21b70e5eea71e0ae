"""Statistics over HTTP: the counts of ended jobs, as JSON and as CSV."""

from __future__ import annotations

import csv
import io

import pytest
from support.pages.api_front import a_run, charge, done, settings_for, started

from jobs.counting import DAYS_KEPT
from jobs.model.record import Reason
from jobs.view.stats import TABLES

pytestmark = pytest.mark.usefixtures("one_day")


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def work(front, *runs, cost: str | None = "0.000001") -> None:
    """A job that ends, with these runs."""
    job_id = await front.submit()
    lease = await front.claim(job_id)
    call = {"role": "critic", "seconds": 0.5, "model": "groq:m"}
    facts = [("run_finished", run) for run in runs]
    await front.add_events(
        lease,
        ("routed", {"difficulty": "simple"}),
        *facts,
        ("model_called", call),
        charges=[charge("a", "critic", cost)],
    )
    done(await front.services.operations.fail(lease, Reason.UNAPPROVED, "no"))


async def test_ended_jobs_are_added_up(front):
    await front.finish(await front.submit())
    await work(front, a_run(succeeded=False, failure={"class": "type"}), a_run(2, revision=2))
    await work(front, cost=None)
    await front.submit()
    stats = (await front.client.get("/stats?days=7")).json()
    assert len(stats["days"]) == 7
    today = stats["days"][-1]
    assert (today["succeeded"], today["failed"], today["straight"]) == (1, 2, 1)
    assert (today["cost_usd"], today["unpriced_calls"]) == ("0.000001", 1)
    assert (stats["now"]["queued"], stats["reasons"]) == (1, {"unapproved": 2})
    assert stats["failures"] == [{"class": "type", "runs": 1}]
    assert stats["revisions"] == [{"revisions": 2, "jobs": 1}]
    assert stats["models"][0]["calls"] == 2
    assert stats["cost"][0]["day"] == today["day"]
    stages = {stage["stage"]: stage for stage in stats["stages"]}
    assert (stages["critic"]["seconds"], stages["critic"]["jobs"]) == (1.0, 2)


@pytest.mark.parametrize("table", TABLES)
async def test_each_table_is_a_csv(front, table):
    await work(front, a_run(succeeded=False))
    answer = await front.client.get("/stats", params={"format": "csv", "table": table})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="fettle-{table}.csv"' in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows
    assert all(None not in row and None not in row.values() for row in rows)


async def test_the_limits_of_the_query_are_named(front):
    for query, field in (
        (f"days={DAYS_KEPT + 1}", "days"),
        ("days=0", "days"),
        ("table=x", "table"),
    ):
        answer = await front.client.get(f"/stats?{query}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
