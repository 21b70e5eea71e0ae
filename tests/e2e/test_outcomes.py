"""A job that nobody approved says so wherever its end is shown: as failed, and as accepted."""

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
class Shown:
    """The ended jobs by their `on_exhausted`, and what shows them."""

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
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("outcomes")
    hooks: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hooks.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

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
            asked = {"task": "say it", "model": model, "max_revisions": 1}
            ids = {
                end: client.post("/jobs", json={**asked, "on_exhausted": end}).json()["id"]
                for end in ENDS
            }
            for job_id in ids.values():
                until(lambda job_id=job_id: client.get(f"/jobs/{job_id}").json()["finished_at"])
            served = re.search(r'"port": (\d+), "event": "metrics served"', deployment.logs())
            assert served is not None
            metrics = httpx.get(f"http://127.0.0.1:{served[1]}/metrics").text
            yield Shown(client, metrics, folder, ids, hooks)


def until(holds: Any) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("end", ENDS)
def test_the_job_and_the_list(shown: Shown, end: str) -> None:
    job = shown.get(f"/jobs/{shown.ids[end]}")
    (row,) = [job for job in shown.get("/jobs")["jobs"] if job["id"] == shown.ids[end]]
    for found in (job, row):
        assert (found["status"], found["reason"], found["unapproved"]) == (*ENDS[end], True)
    assert (job["result"]["answer"], job["result"]["approved_by"]) == ("it says one", None)


def test_the_last_event_and_the_webhook(shown: Shown) -> None:
    until(lambda: len(shown.hooks) == len(ENDS))
    by_job = {hook["data"]["job_id"]: hook["data"] for hook in shown.hooks}
    for end, (status, reason) in ENDS.items():
        job_id = shown.ids[end]
        event = shown.get(f"/jobs/{job_id}/events")["events"][-1]
        assert event["kind"] == status
        assert by_job[job_id].items() >= event["data"].items()
        assert (by_job[job_id]["unapproved"], by_job[job_id].get("reason")) == (True, reason)
    assert event["data"] == {"approved_by": None, "unapproved": True}


def test_statistics_and_metrics(shown: Shown) -> None:
    stats = shown.get("/stats")
    assert (stats["reasons"], stats["approved_by"]) == ({"unapproved": 1}, {"nobody": 1})
    assert stats["success"] == {"straight": 0, "repaired": 0, "unapproved": 1}
    figures = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(shown.metrics)
        for sample in family.samples
    }
    assert figures["fettle_job_failures_total", "unapproved"] == 1
    ends = [figures["fettle_job_unapproved_total", end] for end in ("failed", "accepted")]
    assert ends == [1, 1]


@pytest.mark.parametrize("end", ENDS)
def test_the_command_line(shown: Shown, end: str) -> None:
    job_id = shown.ids[end]
    words = "unapproved" if end == "fail" else "accepted without approval"
    code, watched = shown.command("watch", job_id)
    assert (code, words in watched) == (4, True)
    for command in (("show", job_id), ("export", job_id)):
        code, text = shown.command(*command)
        assert (code, words in text) == (0, True), text
    rows = [line.split("\t") for line in shown.command("list")[1].splitlines()]
    assert [row[1] for row in rows if row[0] == job_id] == [f"{ENDS[end][0]}, unapproved"]


@pytest.mark.parametrize("end", ENDS)
def test_the_pages(shown: Shown, end: str) -> None:
    path = shown.client.post("/sign-in-links").json()["path"]
    assert shown.client.post(path).status_code == 303
    row = shown.client.get("/app").text.partition(f'id="job-{shown.ids[end]}"')[2]
    assert "unapproved" in row.partition("</li>")[0]
    page = shown.client.get(f"/app/jobs/{shown.ids[end]}").text
    assert page.count("unapproved") >= 2  # its status, and its result
    stats = shown.client.get("/app/stats").text
    assert re.search(r'<th scope="row">unapproved</th><td[^>]*>1<', stats)
