#!/usr/bin/env python3
"""Takes the README's pictures of the pages: a throw-away service, real jobs, a real browser.

    deploy/screenshots.py [FOLDER]

Writes FOLDER/review.png, patch.png, job.png and jobs.png (docs/images by default), each under
200 KB. The demo's recordings play the models; the rest is real. It needs Debian's `chromium`.
`make screenshots` also writes thread.png: tests/e2e/test_follow_ups.py takes it, with a git server.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, expect

from cli.demo.jobs import JOBS, begin_project
from cli.local.throwaway import throwaway
from cli.output import Screen
from cli.repository.bundle import bundle
from fettle import Service
from lab.browser import launched

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
WINDOW = {"width": 1200, "height": 780}
SCALE = 1.5
MOST_BYTES = 200 * 1024
COLOURS = 160
WAIT_SECONDS = 60.0


def run_jobs(service: Service) -> dict[str, str]:
    """Run the demo's jobs until each ends or waits for a person. Returns ids by recording."""
    job_ids: dict[str, str] = {}
    conversation = None
    with TemporaryDirectory() as folder:
        repository = bundle(begin_project(Path(folder) / "project"))
    for job in JOBS:
        spec = {**job.spec(conversation, recorded=True), "review": job.review or job.on_project}
        job_id = service.submit(spec, bundle=repository if job.on_project else None)["id"]
        conversation = _stopped(service, job_id)["conversation_id"]
        job_ids[job.recording] = job_id
    return job_ids


def _stopped(service: Service, job_id: str) -> dict[str, Any]:
    """The job once it has ended or waits for a person."""
    deadline = time.monotonic() + WAIT_SECONDS
    while (job := service.job(job_id))["status"] in ("queued", "running"):
        if time.monotonic() > deadline:
            raise SystemExit(f"the job {job_id} did not stop within {WAIT_SECONDS:g} s")
        time.sleep(0.1)
    return job


def shoot(browser: Browser, service: Service, path: str, scheme: str, into: Path) -> None:
    """Take a picture of one page, in a new browser session."""
    context = browser.new_context(viewport=WINDOW, color_scheme=scheme, device_scale_factor=SCALE)
    page = context.new_page()
    page.goto(service.url + service.sign_in_link())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/app")
    page.goto(service.url + path)
    expect(page.locator(".htmx-request")).to_have_count(0)
    while not page.evaluate("[...document.images].every((image) => image.complete)"):
        page.wait_for_timeout(50)
    page.wait_for_timeout(500)
    _save(page.screenshot(), into)
    context.close()


def _save(picture: bytes, into: Path) -> None:
    """Reduce a picture to few colours, which saves two thirds of its bytes."""
    drawn = Image.open(io.BytesIO(picture)).convert("RGB")
    drawn.quantize(COLOURS, dither=Image.Dither.NONE).save(into, optimize=True)
    size = into.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{into} has {size} bytes, more than {MOST_BYTES}")
    print(f"{into}: {size / 1024:.0f} KiB")


def main(folder: Path) -> None:
    """Run the jobs, take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with throwaway(Screen()) as service, launched() as browser:
        job_ids = run_jobs(service)
        review = f"/app/jobs/{job_ids['demo-kmeans']}"
        shoot(browser, service, review, "light", folder / "review.png")
        patch = f"/app/jobs/{job_ids['demo-repository']}/changes?view=split"
        shoot(browser, service, patch, "light", folder / "patch.png")
        job = f"/app/jobs/{job_ids['demo-bug-fix']}"
        shoot(browser, service, job, "dark", folder / "job.png")
        shoot(browser, service, "/app", "light", folder / "jobs.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
