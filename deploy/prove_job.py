#!/usr/bin/env python3
"""Steps of the containers' proof that speak HTTP: a client of Fettle with nothing but Python.

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

TASK = (  # as the recording knows it
    "Implement k-means from scratch (no scikit-learn), cluster 150 points in 3 groups, and save a "
    "plot with the centroids marked X."
)
MODEL = "recording:demo-kmeans"
FINAL = ("succeeded", "failed", "cancelled")
OPTIONAL_LAYERS = ("cgroup", "files", "landlock", "locks")
SERVICE_UNAVAILABLE = 503
PNG = b"\x89PNG\r\n\x1a\n"


class Client:
    """One deployment and its key."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def fetch(self, path: str, body: dict[str, Any] | None = None) -> bytes | None:
        """The answer's bytes; None at a 503, after the wait it asks for; exits at other errors."""
        request = Request(  # noqa: S310 - the scheme is the script's own
            self._url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": self._key, "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=30) as answer:  # noqa: S310
                return bytes(answer.read())
        except HTTPError as error:
            shown = f"{request.get_method()} {path}: {error.code} {error.read().decode()}"
            if error.code != SERVICE_UNAVAILABLE:
                sys.exit(shown)
            print(shown, file=sys.stderr)
            time.sleep(float(error.headers["Retry-After"]))
            return None

    def read(self, path: str) -> bytes:
        """A GET, again after each 503: reading twice does no harm."""
        for _ in range(5):
            found = self.fetch(path)
            if found is not None:
                return found
        sys.exit(f"{path} stayed unavailable")

    def job(self, job: str) -> dict[str, Any]:
        """The whole job."""
        found: dict[str, Any] = json.loads(self.read(f"/jobs/{job}"))
        return found

    def wait(self, job: str, *statuses: str, seconds: float = 120) -> dict[str, Any]:
        """The job, once it has one of `statuses`; it exits if it has another final one instead."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = self.job(job)
            if found["status"] in statuses:
                return found
            if found["status"] in FINAL:
                sys.exit(f"job {job} {found['status']}: {found['reason']}: {found['detail']}")
            time.sleep(0.3)
        sys.exit(f"job {job} was not {' or '.join(statuses)} within {seconds:.0f} s")


def system(client: Client) -> None:
    """Which workers there are, and that each layer of their sandbox is active."""
    found = json.loads(client.read("/system"))
    wrong = [each for each in found["redis"]["findings"] if each["verdict"] != "ok"]
    print(f"redis {found['redis']['version']}, findings: {wrong or 'all in order'}")
    if not found["workers"]:
        sys.exit("no worker is seen")
    for worker in found["workers"]:
        sandbox = worker["sandbox"]
        print(f"worker {worker['id']}: sandbox {sandbox['backend']}, works: {sandbox['works']}")
        for layer in sandbox["layers"]:
            print(f"  {'on ' if layer['active'] else 'off'}  {layer['name']}: {layer['detail']}")
        off = {layer["name"] for layer in sandbox["layers"] if not layer["active"]}
        if not sandbox["works"] or off - set(OPTIONAL_LAYERS):
            sys.exit(f"worker {worker['id']}: {sandbox['why'] or ', '.join(off) + ' off'}")


def submit(client: Client) -> None:
    """Through planner and executor up to the pause; the id goes to stdout, the rest to stderr."""
    accepted = client.fetch("/jobs", {"task": TASK, "model": MODEL, "review": True})
    if accepted is None:
        sys.exit("no job was accepted")
    job = json.loads(accepted)["id"]
    found = client.wait(job, "awaiting_review")
    for run in found["runs"]:
        print(f"run: exit code {run['exit_code']}, {run['seconds']:.2f} s", file=sys.stderr)
    print(job)


def approve(client: Client, job: str) -> None:
    """Past the pause to the end, and the plot back through the volume that both sides share."""
    # Redis was killed a moment ago. A 503 does not say whether the decision counted: look first.
    while client.job(job)["status"] == "awaiting_review":
        client.fetch(f"/jobs/{job}/review", {"action": "approve"})
    found = client.wait(job, "succeeded")
    names = [each["name"] for each in found["result"]["artifacts"]]
    plots = [name for name in names if name.endswith(".png")]
    if not plots:
        sys.exit(f"job {job} succeeded without a plot: {names}")
    data = client.read(f"/jobs/{job}/artifacts/{plots[0]}")
    if not data.startswith(PNG):
        sys.exit(f"{plots[0]} is no PNG")
    by, attempts = found["result"]["approved_by"], found["attempts"]
    print(f"job {job}: succeeded, approved by {by}, {attempts} attempts")
    print(f"{plots[0]}: a PNG of {len(data)} bytes")


def main() -> None:
    """One step."""
    url, step, *rest = sys.argv[1:]
    client = Client(url, os.environ["FETTLE_API_KEY"])
    {"system": system, "submit": submit, "approve": approve}[step](client, *rest)  # type: ignore[operator]


if __name__ == "__main__":
    main()
