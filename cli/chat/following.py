"""Shows a job while it runs, in a thread, above the line that the person types."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import RenderableType

from api.http.foreign_text import visible_path
from api.quantities import size
from cli.client import Job
from cli.client.files import text_of
from cli.errors import CliError, from_client, of_system
from cli.follow.live_view import LiveView
from cli.follow.review_prompt import draw, show
from cli.output import Screen
from cli.render.evidence import Detail
from cli.render.job import answer_parts, cost_line, patch_of, status_line, unread_parts
from cli.render.parts import Line, Part, Tone
from cli.render.texts import patch_text, printable
from fettle import Service
from fettle.errors import ApiError, FettleError
from fettle.events import ReceivedEvent

FAILURES = (click.UsageError, CliError, FettleError, OSError)
MOST_PICTURE_BYTES = 10_000_000
_END_OF_REVIEW = frozenset({"decided", "review_expired", "started"})


class JobFollower(threading.Thread):
    """Follows one job to its end. `service` is used by this thread alone, and stays open, because
    the process may end while the thread waits for an event."""

    def __init__(self, service: Service, job_id: str, screen: Screen, folder: Path) -> None:
        super().__init__(name=f"follow {job_id}", daemon=True)
        self.job_id = job_id
        self.review: Job | None = None
        """The job with the open review that the person has seen."""
        self.has_failed = False
        self._last_event = 0
        self._service = service
        self._screen = screen
        self._folder = folder
        self._view = LiveView(screen, Detail(), text_of(service, job_id))

    @property
    def footer(self) -> RenderableType:
        """The totals, and the output that models and runs are writing."""
        return self._view.footer

    def resumed(self) -> JobFollower:
        """A follower from the event at which this follower has failed."""
        follower = JobFollower(self._service, self.job_id, self._screen, self._folder)
        follower.review, follower._last_event = self.review, self._last_event
        return follower

    def run(self) -> None:
        """See threading.Thread."""
        try:
            for event in self._service.events(self.job_id, self._last_event, self._view.hear):
                self._show(event)
                self._last_event = event.seq
            self._screen.parts(ending_parts(self._service.job(self.job_id)))
        except FAILURES as error:
            self.has_failed = True
            show_failure(self._screen, "not followed", error)
            self._screen.line("", "the job may go on: your next line follows it again")

    def _show(self, event: ReceivedEvent) -> None:
        if event.kind in _END_OF_REVIEW:
            self.review = None
        self._view.show(event)
        if event.kind == "run_finished":
            self._draw_pictures(event)
        if event.kind == "review_opened":
            job = self._service.job(self.job_id)
            if job["review"] and job["review"]["id"] == event.data["review_id"]:
                # The runs have drawn their pictures.
                show(self._service, job, self._screen, self._folder, draws_pictures=False)
                self.review = job

    def _draw_pictures(self, event: ReceivedEvent) -> None:
        for artifact in event.data["artifacts"]:
            is_picture = artifact["media_type"].startswith("image/")
            if is_picture and artifact["size"] <= MOST_PICTURE_BYTES:
                name, digest = artifact["name"], artifact["digest"]
                try:
                    content = self._service.artifact(self.job_id, name, digest=digest)
                except ApiError:  # it was removed since
                    continue
                draw(self._screen, content)


def show_failure(screen: Screen, label: str, error: Exception) -> None:
    """Show one of the `FAILURES`, with the next step."""
    match error:
        case click.UsageError():
            error = CliError(error.message)
        case FettleError():
            error = from_client(error)
        case OSError():
            error = of_system(error)
    screen.line(label, printable(str(error)), Tone.BAD)
    if next_step := getattr(error, "next_step", ""):
        screen.line("", printable(next_step))


def ending_parts(job: Job) -> Iterator[Part]:
    """The answer, the files, the change, the verdict and the cost of a job that has ended."""
    if result := job["result"]:
        yield from answer_parts(result["answer"])
        files = (f"{visible_path(a['name'])} ({size(a['size'])})" for a in result["artifacts"])
        if text := ", ".join(files):
            yield Line("files", text)
    if patch := patch_of(job):
        yield Line("patch", f"{patch_text(patch)}; /diff shows it, /apply applies it")
    yield from unread_parts(job, "the next line that you type follows up")
    yield status_line(job)
    yield cost_line(job)
