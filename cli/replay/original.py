"""The job that is played again: whether it can be, and what it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.schemas.review import SentComment
from cli.client.events import Event
from cli.client.files import as_text
from cli.client.service import Job, Service
from cli.errors import CliError, Refused

CASES_PATH = ".fettle/cases.json"
"""Where the files of the checks have their cases."""

OF_NO_MATTER = (
    *("priority", "labels", "record"),  # they change no prompt, run or verdict
    *("review_expires_seconds", "on_expiry", "review_remind_seconds", "review_escalate_seconds"),
    *("questions_expire_seconds", "approvals"),  # decided at once, as it was decided then
    *("max_cost_usd", "max_tokens"),  # a job that they ended is not played
    *("conversation_id", "rebase"),  # nor one that follows up another
    "deliver",  # what is played is for this machine alone
)
"""What is not asked again of a spec. All else is: a new field is taken along."""
OF_ITS_OWN = ("model", "checks", "kind", "retry_of", "repo")
"""What is asked otherwise: the recording, and files that are fetched; or what does not vary."""
OF_A_REVIEW = ("pause",)
"""What is a mistake to ask for without a review, where it is its default."""
ENDS_OF_ITS_OWN = frozenset({"unapproved", "rejected"})
"""Why a job may have failed and still fail alike again: nothing from outside made it so."""
NAMED_IN_PROMPTS = frozenset({"revise", "edit"})
NOT_FOUND = 404
TO_RECORD = 'fettle run --record FILE "..."'
EXECUTOR = "executor"
START = "start"


@dataclass(frozen=True, slots=True)
class Original:
    """A finished job, its recording (YAML), what it was submitted with, and what people decided.

    A decision is {action, feedback, code?, comments?} by the name of a key. `bundle`: a repository
    that was sent with the job.
    """

    job: Job
    recording: bytes
    spec: Mapping[str, Any]
    files: Mapping[str, bytes]
    decisions: tuple[tuple[str, Mapping[str, Any]], ...]
    bundle: bytes | None = None

    @property
    def names(self) -> frozenset[str]:
        """The people whose names are in prompts."""
        events = (by for by, said in self.decisions if said["action"] in NAMED_IN_PROMPTS)
        return frozenset(events)


def fetch(service: Service, job_id: str) -> Original:
    """Raises CliError for a job that cannot be played again."""
    job = service.job(job_id)
    if why := _unfit(job):
        raise _unplayable(job_id, why)
    recording = _recording(service, job_id)
    left_out = {*OF_NO_MATTER, *OF_ITS_OWN, *(() if job["spec"]["review"] else OF_A_REVIEW)}
    spec = {name: value for name, value in job["spec"].items() if name not in left_out}
    started = (file["path"] for file in service.files(job_id, at=START))
    files = {path: service.file(job_id, path, at=START) for path in started}
    asked = {**spec, "model": f"recording:{job_id}"}
    if checks := job["spec"].get("checks"):
        asked["checks"] = _checks(service, job_id, checks)
    repo = job["spec"].get("repo") or {}
    bundle = service.bundle(job_id, at=START) if repo.get("bundle") else None
    if named := _repo(job, repo):
        asked["repo"] = named
    return Original(job, recording, asked, files, tuple(_decisions(service, job)), bundle)


def _repo(job: Job, repo: Mapping[str, Any]) -> Mapping[str, str]:
    """The repository, at the commit that the job started from where its result names that."""
    patch = (job["result"] or {}).get("patch") or {}
    named = {"url": repo.get("url"), "ref": patch.get("base") or repo.get("ref")}
    return {name: text for name, text in named.items() if text} if repo else {}


def _recording(service: Service, job_id: str) -> bytes:
    try:
        return service.recording(job_id)
    except Refused as error:
        if error.problem.status != NOT_FOUND:
            raise
        raise _unplayable(job_id, error.problem.detail, f"submit it so: {TO_RECORD}") from None


def _unplayable(job_id: str, why: str, next_step: str = "") -> CliError:
    return CliError(f"{job_id} cannot be played again", why, next_step)


def _unfit(job: Job) -> str | None:
    if job["status"] not in ("succeeded", "failed"):
        return f"it is {job['status']}, and did not come to an end of its own"
    if job["status"] == "failed" and job["reason"] not in ENDS_OF_ITS_OWN:
        return f"it failed from outside ({job['reason']}): that does not repeat"
    if job["spec"].get("kind") == "verification":
        return "it is a verification: no model was asked"
    if job["spec"]["retry_of"]:
        return f"it went on where {job['spec']['retry_of']} had stopped"
    if job["conversation_id"] != job["id"]:
        return "it follows up other jobs, whose files and outcomes are in its prompts"
    return None


def _checks(service: Service, job_id: str, checks: Mapping[str, Any]) -> Mapping[str, Any]:
    files = {path: _text(service, job_id, path) for path in checks["files"]}
    asked = {"files": files, "command": checks["command"]}
    if checks.get("cases"):
        asked["cases"] = json.loads(_text(service, job_id, CASES_PATH))
    return asked


def _text(service: Service, job_id: str, path: str) -> str:
    """A file of the checks."""
    text = as_text(service.file(job_id, path, at="checks"))
    if text is None:
        raise _unplayable(job_id, f"its file {path} is no text")
    return text


def _decisions(service: Service, job: Job) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What people decided, in order; of a job that was restarted, since then.

    A person's own code is not in the decision, but in the run after it.
    """
    events = list(service.events(job["id"]))
    begun = [place for place, event in enumerate(events, 1) if event.kind == "begun_anew"]
    events = events[begun[-1] if begun else 0 :]
    for place, event in enumerate(events):
        if event.kind == "decided":
            yield event.data["by"], _decision(service, job["id"], event.data, events[place + 1 :])


def _decision(
    service: Service, job_id: str, data: Mapping[str, Any], after: Sequence[Event]
) -> Mapping[str, Any]:
    said: dict[str, Any] = {"action": data["action"], "feedback": data["feedback"] or ""}
    if answers := data.get("answers"):
        said["answers"] = answers
    if comments := data.get("comments"):
        said["comments"] = [
            {name: one[name] for name in SentComment.model_fields} for one in comments
        ]
    if data["action"] == "edit":
        runs = (event.data for event in after if event.kind == "run_finished")
        run = next((run for run in runs if run["by"] != EXECUTOR), None)
        if run is None:
            raise _unplayable(job_id, f"{data['by']}'s code never ran")
        said["code"] = service.text(f"/jobs/{job_id}/runs/{run['number']}/code")
    return said
