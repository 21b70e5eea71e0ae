#!/usr/bin/env python3
"""The steps of the containers' proof that use the HTTP API. It needs no package besides Python.

prove_job.py URL system             prints the workers and their sandbox layers; fails if one is off
prove_job.py URL submit             submits the k-means job, waits for its review, prints its id
prove_job.py URL approve ID         approves it, waits for its end, fetches the plot

The key comes from FETTLE_API_KEY.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TASK = (  # the task of the recording
    "Implement k-means from scratch (no scikit-learn), cluster 150 points in 3 groups, and save a "
    "plot with the centroids marked X."
)
MODEL = "recording:demo-kmeans"
FINAL = ("succeeded", "failed", "cancelled")
OPTIONAL_LAYERS = ("cgroup", "files", "landlock", "locks")
SERVICE_UNAVAILABLE = 503
PNG = b"\x89PNG\r\n\x1a\n"


class Client:
    """A client of one deployment, with its key."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def fetch(self, path: str, body: dict[str, Any] | None = None) -> bytes | None:
        """Send a GET, or a POST with a body. Returns the bytes of the answer; None after a 503 and
        the wait of its Retry-After. Exits at other errors."""
        request = Request(  # noqa: S310 - the caller of this script chooses the address
            self._url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": self._key, "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=30) as answer:  # noqa: S310
                return bytes(answer.read())
        except HTTPError as error:
            message = f"{request.get_method()} {path}: {error.code} {error.read().decode()}"
            if error.code != SERVICE_UNAVAILABLE:
                sys.exit(message)
            print(message, file=sys.stderr)
            time.sleep(float(error.headers["Retry-After"]))
            return None

    def read(self, path: str) -> bytes:
        """Send a GET, up to five times if the answer is a 503."""
        for _ in range(5):
            content = self.fetch(path)
            if content is not None:
                return content
        sys.exit(f"{path} stayed unavailable")

    def job(self, job_id: str) -> dict[str, Any]:
        """The complete job."""
        job: dict[str, Any] = json.loads(self.read(f"/jobs/{job_id}"))
        return job

    def wait(self, job_id: str, status: str, seconds: float = 120) -> dict[str, Any]:
        """Wait until the job has this status. Exits if it ends with another status."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            job = self.job(job_id)
            if job["status"] == status:
                return job
            if job["status"] in FINAL:
                sys.exit(f"job {job_id} {job['status']}: {job['reason']}: {job['detail']}")
            time.sleep(0.3)
        sys.exit(f"job {job_id} was not {status} within {seconds:.0f} s")


def system(client: Client) -> None:
    """List the workers. Exits if a layer of a sandbox is not active, except optional layers."""
    state = json.loads(client.read("/system"))
    faults = [finding for finding in state["redis"]["findings"] if finding["verdict"] != "ok"]
    print(f"redis {state['redis']['version']}, findings: {faults or 'all in order'}")
    if not state["workers"]:
        sys.exit("no worker was seen")
    for worker in state["workers"]:
        sandbox = worker["sandbox"]
        print(f"worker {worker['id']}: sandbox {sandbox['backend']}, works: {sandbox['works']}")
        for layer in sandbox["layers"]:
            print(f"  {'on ' if layer['active'] else 'off'}  {layer['name']}: {layer['detail']}")
        off = {layer["name"] for layer in sandbox["layers"] if not layer["active"]}
        if not sandbox["works"] or off - set(OPTIONAL_LAYERS):
            sys.exit(f"worker {worker['id']}: {sandbox['why'] or ', '.join(off) + ' off'}")


def submit(client: Client) -> None:
    """Submit the job, and wait for its review. Prints the id to stdout, and the runs to stderr."""
    accepted = client.fetch("/jobs", {"task": TASK, "model": MODEL, "review": True})
    if accepted is None:
        sys.exit("no job was accepted")
    job_id = json.loads(accepted)["id"]
    job = client.wait(job_id, "awaiting_review")
    for run in job["runs"]:
        print(f"run: exit code {run['exit_code']}, {run['seconds']:.2f} s", file=sys.stderr)
    print(job_id)


def approve(client: Client, job_id: str) -> None:
    """Approve the job, wait for its end, and fetch its plot from the artifact store."""
    # Redis was killed a moment ago. A 503 does not say whether the decision counted: look first.
    while client.job(job_id)["status"] == "awaiting_review":
        client.fetch(f"/jobs/{job_id}/review", {"action": "approve"})
    job = client.wait(job_id, "succeeded")
    names = [artifact["name"] for artifact in job["result"]["artifacts"]]
    plots = [name for name in names if name.endswith(".png")]
    if not plots:
        sys.exit(f"job {job_id} succeeded without a plot: {names}")
    content = client.read(f"/jobs/{job_id}/artifacts/{plots[0]}")
    if not content.startswith(PNG):
        sys.exit(f"{plots[0]} is no PNG")
    by, attempts = job["result"]["approved_by"], job["attempts"]
    print(f"job {job_id}: succeeded, approved by {by}, {attempts} attempts")
    print(f"{plots[0]}: a PNG of {len(content)} bytes")


def main() -> None:
    """Run the step that the arguments name."""
    url, step, *arguments = sys.argv[1:]
    client = Client(url, os.environ["FETTLE_API_KEY"])
    {"system": system, "submit": submit, "approve": approve}[step](client, *arguments)  # type: ignore[operator]


if __name__ == "__main__":
    main()
