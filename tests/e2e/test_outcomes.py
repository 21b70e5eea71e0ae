"""Every view of a job without approval shows this, whether the job failed or was accepted."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.graph.recorded import answers, calls, plans, runs, turn
from support.processes.deployment import running_deployment
from support.processes.fettle_command import environment, fettle
from support.processes.fronts import front
from support.servers.web_server import listening

from settings.base import DEVELOPMENT_KEY

TURNS = [
    plans("say it"),
    runs("say it", "print('one')", 0),
    answers("one", "it says one", 1),
    turn("critic", "", calls("Verdict", verdict="revise", feedback="say two")),
]
ENDS = {"fail": ("failed", "unapproved"), "accept": ("succeeded", None)}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LONGEST_SECONDS = 60


@dataclass
class Finished:
    """The ended jobs by their `on_exhausted`, and the views of them."""

    client: httpx.Client
    metrics: str
    home: Path
    ids: dict[str, str]
    hooks: list[dict[str, Any]] = field(default_factory=list)

    def get(self, path: str) -> Any:
        return self.client.get(path, headers={"Accept": "application/json"}).json()

    def command(self, *args: str) -> tuple[int, str]:
        env = environment(self.home, FETTLE_URL=str(self.client.base_url))
        done = fettle(*args, cwd=self.home, env=env)
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    folder = tmp_path_factory.mktemp("outcomes")
    hooks: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hooks.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    with running_deployment(folder) as deployment, listening(Hook) as port:
        announced = {
            "webhook_url": f"http://127.0.0.1:{port}/",
            "webhook_secret": SECRET,
            "webhook_private": "true",
        }
        deployment.worker(worker_metrics_port="0", **announced)
        model = deployment.record("unapproved", TURNS)
        with (
            front(deployment, **announced) as api,
            httpx.Client(base_url=api.url, headers={"X-API-Key": DEVELOPMENT_KEY}) as client,
        ):
            job_request = {"task": "say it", "model": model, "max_revisions": 1}
            ids = {
                end: client.post("/jobs", json={**job_request, "on_exhausted": end}).json()["id"]
                for end in ENDS
            }
            for job_id in ids.values():
                until(lambda job_id=job_id: client.get(f"/jobs/{job_id}").json()["finished_at"])
            served = re.search(r'"port": (\d+), "event": "metrics served"', deployment.logs())
            assert served is not None
            metrics = httpx.get(f"http://127.0.0.1:{served[1]}/metrics").text
            yield Finished(client, metrics, folder, ids, hooks)


def until(holds: Any) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("end", ENDS)
def test_the_job_and_the_list(finished: Finished, end: str) -> None:
    job = finished.get(f"/jobs/{finished.ids[end]}")
    (row,) = [job for job in finished.get("/jobs")["jobs"] if job["id"] == finished.ids[end]]
    for summary in (job, row):
        assert (summary["status"], summary["reason"], summary["unapproved"]) == (*ENDS[end], True)
    assert (job["result"]["answer"], job["result"]["approved_by"]) == ("it says one", None)


def test_the_last_event_and_the_webhook(finished: Finished) -> None:
    until(lambda: len(finished.hooks) == len(ENDS))
    by_job = {hook["data"]["job_id"]: hook["data"] for hook in finished.hooks}
    for end, (status, reason) in ENDS.items():
        job_id = finished.ids[end]
        event = finished.get(f"/jobs/{job_id}/events")["events"][-1]
        assert event["kind"] == status
        assert by_job[job_id].items() >= event["data"].items()
        assert (by_job[job_id]["unapproved"], by_job[job_id].get("reason")) == (True, reason)
    assert event["data"] == {"approved_by": None, "unapproved": True, "override": False}


def test_statistics_and_metrics(finished: Finished) -> None:
    stats = finished.get("/stats")
    assert (stats["reasons"], stats["approved_by"]) == ({"unapproved": 1}, {"nobody": 1})
    assert stats["success"] == {"straight": 0, "repaired": 0, "overridden": 0, "unapproved": 1}
    figures = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(finished.metrics)
        for sample in family.samples
    }
    assert figures["fettle_job_failures_total", "unapproved"] == 1
    ends = [figures["fettle_job_unapproved_total", end] for end in ("failed", "accepted")]
    assert ends == [1, 1]


@pytest.mark.parametrize("end", ENDS)
def test_the_command_line(finished: Finished, end: str) -> None:
    job_id = finished.ids[end]
    words = "unapproved" if end == "fail" else "accepted without approval"
    code, watched = finished.command("watch", job_id)
    assert (code, words in watched) == (4, True)
    for command in (("show", job_id), ("export", job_id)):
        code, text = finished.command(*command)
        assert (code, words in text) == (0, True), text
    rows = [line.split("\t") for line in finished.command("list")[1].splitlines()]
    assert [row[1] for row in rows if row[0] == job_id] == [f"{ENDS[end][0]}, unapproved"]


@pytest.mark.parametrize("end", ENDS)
def test_the_pages(finished: Finished, end: str) -> None:
    path = finished.client.post("/sign-in-links").json()["path"]
    assert finished.client.post(path).status_code == 303
    row = finished.client.get("/app").text.partition(f'id="job-{finished.ids[end]}"')[2]
    assert "unapproved" in row.partition("</li>")[0]
    page = finished.client.get(f"/app/jobs/{finished.ids[end]}").text
    assert page.count("unapproved") >= 2  # the cell of its status, and the cell of its result
    stats = finished.client.get("/app/stats").text
    assert re.search(r'<th scope="row">unapproved</th><td[^>]*>1<', stats)
