"""Plays one job of the demo: submits, follows and reviews it, and shows its outcome."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from cli.client import Job
from cli.client.files import save, text_of
from cli.demo.jobs import DemoJob, begin_project
from cli.follow.live_view import LiveView
from cli.follow.review_prompt import confirmed, draw
from cli.local.own_folder import refuse_tracked
from cli.output import Screen
from cli.render.evidence import Detail, evidence_parts
from cli.render.job import answer_parts, cost_line, status_line
from cli.render.parts import Tone
from cli.render.texts import patch_text, printable
from cli.repository.apply import apply
from cli.repository.bundle import bundle
from fettle import Service

DETAIL = Detail(code_lines=60, output_lines=24)
PLOT = ".png"
FOLDER = Path(".fettle") / "demo"
PROJECT = "parking"


class Play:
    """Plays jobs on a screen; their files stay in `folder`."""

    def __init__(self, service: Service, screen: Screen, folder: Path, *, recorded: bool) -> None:
        self._service = service
        self._screen = screen
        self._folder = folder
        self._recorded = recorded

    def job(self, job: DemoJob, conversation: str | None) -> Job:
        """Play a job to its end; returns the ended job."""
        self._screen.line("task", job.task)
        spec = job.spec(conversation, recorded=self._recorded)
        project = begin_project(self._folder / PROJECT) if job.on_project else None
        job_id = self._service.submit(spec, bundle=bundle(project) if project else None)["id"]
        with LiveView(self._screen, DETAIL, text_of(self._service, job_id)) as view:
            for event in self._service.events(job_id):
                view.show(event)
                if event.kind == "review_opened":
                    view.pause()
                    self._review(job_id)
                    view.resume()
        done = self._service.job(job_id)
        if not job.review and done["result"]:  # a review has shown the answer
            self._screen.parts(answer_parts(done["result"]["answer"]))
        if project is None:
            self._files(job_id)
        elif done["status"] == "succeeded":
            self._apply(done, project)
        self._screen.part(status_line(done))
        self._screen.part(cost_line(done))
        return done

    def _review(self, job_id: str) -> None:
        """Show the answer, the plots and the evidence, and approve the work unless a person
        objects."""
        review = self._service.job(job_id)["review"]
        self._screen.parts(answer_parts(review["payload"]["answer"]))
        for path in self._saved(job_id):
            if path.suffix == PLOT:
                draw(self._screen, path.read_bytes())
                self._screen.line("plot", printable(str(path)))
        self._screen.parts(evidence_parts(review["verdict"]))
        if not self._screen.asking:
            reason = "no terminal to ask at: the demo approves by itself"
            self._screen.line("review", reason, Tone.ASK)
        elif not confirmed("  Approve this?"):
            no = {"action": "reject", "feedback": "the person at the demo said no"}
            self._service.decide(job_id, no)
            return
        approval: dict[str, Any] = {"action": "approve"}
        if review["verdict"]["needs_override"]:
            approval |= {"override": True, "feedback": "approved at the demo"}
        self._service.decide(job_id, approval)

    def _apply(self, job: Job, project: Path) -> None:
        """Put the job's patch onto the work tree that it started from, as `fettle apply` does."""
        patch, about = self._service.patch(job["id"]), job["result"]["patch"]
        self._screen.line("patch", patch_text(about))
        self._screen.patch(patch)
        apply(project, patch, about["base"])
        self._screen.line("applied", f"to {printable(str(project))}", Tone.GOOD)

    def _files(self, job_id: str) -> None:
        for path in self._saved(job_id):
            label = "plot" if path.suffix == PLOT else "file"
            self._screen.line(label, printable(str(path)))

    def _saved(self, job_id: str) -> list[Path]:
        return save(self._service, job_id, self._folder / job_id[:8])


def files_folder() -> Path:
    """The folder of the demo's files: below the working directory, or a temporary folder if the
    working directory is read-only. Raises CliError."""
    refuse_tracked(FOLDER.parent, "run the demo in another directory")
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(mkdtemp(prefix="fettle-demo-files-"))
    return FOLDER.resolve()
