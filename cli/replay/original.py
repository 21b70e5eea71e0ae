"""The job that is played again: whether it can be, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cli.errors import CliError
from cli.service import Job, Service
from cli.written import as_text

ASKED = (
    *("task", "review", "steps", "max_revisions", "on_exhausted", "timeout_seconds", "repair"),
    *("write_tests", "questions", "parallel"),
)
ENDS_OF_ITS_OWN = frozenset({"unapproved", "rejected"})
"""Why a job may have failed and still fail alike again: nothing from outside made it so."""
NAMED_IN_PROMPTS = frozenset({"revise", "edit"})
EXECUTOR = "executor"


@dataclass(frozen=True, slots=True)
class Original:
    """A finished job, its recording (YAML), what it was submitted with, and what people decided.

    A decision is {action, feedback, code?} by the name of a key.
    """

    job: Job
    recording: bytes
    spec: Mapping[str, Any]
    decisions: tuple[tuple[str, Mapping[str, Any]], ...]

    @property
    def names(self) -> frozenset[str]:
        """The people whose names the model was told."""
        told = (by for by, said in self.decisions if said["action"] in NAMED_IN_PROMPTS)
        return frozenset(told)


def fetch(service: Service, job_id: str) -> Original:
    """Raises CliError for a job that cannot be played again; Refused where it was not recorded."""
    job = service.job(job_id)
    if why := _unfit(job):
        raise CliError(f"{job_id} cannot be played again", why)
    recording = service.recording(job_id)
    spec = {name: job["spec"][name] for name in ASKED if name in job["spec"]}
    files = {file["path"]: _file(service, job_id, file["path"]) for file in _started(service, job)}
    asked = {**spec, "files": files, "model": f"recording:{job_id}"}
    return Original(job, recording, asked, tuple(_decisions(service, job)))


def _unfit(job: Job) -> str | None:
    if job["status"] not in ("succeeded", "failed"):
        return f"it is {job['status']}, and did not come to an end of its own"
    if job["status"] == "failed" and job["reason"] not in ENDS_OF_ITS_OWN:
        return f"it failed from outside ({job['reason']}): that does not repeat"
    if job["spec"].get("kind") == "verification":
        return "it is a verification: no model was asked"
    if job["spec"].get("checks"):
        return "it carries acceptance checks, whose files nobody but a worker is told"
    if job["spec"]["retry_of"]:
        return f"it went on where {job['spec']['retry_of']} had stopped"
    if job["conversation_id"] != job["id"]:
        return "it follows up other jobs, whose files and outcomes its prompts tell"
    return None


def _started(service: Service, job: Job) -> list[Mapping[str, Any]]:
    return list(service.files(job["id"], at="start"))


def _file(service: Service, job_id: str, path: str) -> str:
    text = as_text(service.file(job_id, path, at="start"))
    if text is None:
        raise CliError(f"{job_id} cannot be played again", f"its file {path} is no text")
    return text


def _decisions(service: Service, job: Job) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A person's own code is not in the decision, but it has run: it is in the run."""
    edited = (run for run in job["runs"] if run["by"] != EXECUTOR)
    for decision in job["decisions"]:
        said: dict[str, Any] = {
            "action": decision["action"],
            "feedback": decision["feedback"] or "",
        }
        if answers := decision.get("answers"):
            said["answers"] = answers
        if decision["action"] == "edit":
            said["code"] = service.text(next(edited)["code"]["href"])
        yield decision["by"], said
