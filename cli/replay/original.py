"""The original of a replay: checks whether a job can be played again, and fetches its inputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from urllib.parse import quote

from api.schemas.review import SentComment
from cli.client import Job
from cli.client.files import as_text
from cli.errors import CliError
from fettle import Service
from fettle.errors import ApiError
from fettle.events import ReceivedEvent
from jobs.model.spec import CASES_PATH

# A replay sends the fields of the original request again, new fields included, except these:
WITHOUT_EFFECT_ON_THE_WORK = {"priority", "labels", "record"}
ABOUT_TIMES_OF_REVIEWS = {
    "review_expires_seconds",
    "on_expiry",
    "review_remind_seconds",
    "review_escalate_seconds",
    "questions_expire_seconds",
    "approvals",
    "review_rules",
}
"""A replay decides each review at once, as in the original job."""
OF_JOBS_THAT_ARE_REFUSED = {"max_cost_usd", "max_tokens", "conversation_id", "rebase", "retry_of"}
"""A limit or another job decided the outcome of such a job (`_unfit_reason`), or it had no
effect."""
WITH_OTHER_VALUES = {"model", "role_models", "checks", "repo", "steps", "steps_after"}
"""`fetch_original` sets them: a recording as the only model, fetched files, a fixed commit, and the
steps together with the steps that they need."""
NOT_REPEATED = {"deliver", "kind", "fork_of"}
"""A replay delivers nothing, its kind is always a task, and it sends the files of a fork."""
OMITTED_FIELDS = (
    WITHOUT_EFFECT_ON_THE_WORK
    | ABOUT_TIMES_OF_REVIEWS
    | OF_JOBS_THAT_ARE_REFUSED
    | WITH_OTHER_VALUES
    | NOT_REPEATED
)
OMITTED_WITHOUT_REVIEW = {"pause"}
"""The API refuses these fields in a request without `review`."""
REPEATABLE_REASONS = frozenset({"unapproved", "rejected"})
"""Reasons of failures that a replay repeats: the work itself caused them."""
ACTIONS_WITH_NAME = frozenset({"revise", "edit"})
"""Decisions that put the person's name into prompts."""
NOT_FOUND = 404
TO_RECORD = 'fettle run --record FILE "..."'
EXECUTOR = "executor"
START = "start"


@dataclass(frozen=True, slots=True)
class Original:
    """A finished job, with the inputs of its replay."""

    job: Job
    recording: bytes
    """YAML."""
    request: Mapping[str, Any]
    """The body of the replay's POST /jobs."""
    files: Mapping[str, bytes]
    """The files that the job started with, by path."""
    decisions: tuple[tuple[str, Mapping[str, Any]], ...]
    """The decisions in order: the name of the key, and {action, feedback, code?, comments?}."""
    bundle: bytes | None = None
    """The repository, if it was sent with the job."""

    @property
    def names_in_prompts(self) -> frozenset[str]:
        """The names of people that prompts contain."""
        return frozenset(
            name for name, decision in self.decisions if decision["action"] in ACTIONS_WITH_NAME
        )


def fetch_original(service: Service, job_id: str) -> Original:
    """Fetch a job's inputs for a replay. Raises CliError if the job cannot be played again."""
    job = service.job(job_id)
    if reason := _unfit_reason(job):
        raise _unplayable(job_id, reason)
    recording = _recording(service, job_id)
    omitted = OMITTED_FIELDS | (set() if job["spec"]["review"] else OMITTED_WITHOUT_REVIEW)
    request = {name: value for name, value in job["spec"].items() if name not in omitted}
    request["model"] = f"recording:{job_id}"
    request["steps"] = _steps_request(job["spec"])
    start_paths = (file["path"] for file in service.files(job_id, at=START))
    files = {path: service.file(job_id, path, at=START) for path in start_paths}
    if checks := job["spec"].get("checks"):
        request["checks"] = _checks_request(service, job_id, checks)
    repo = job["spec"].get("repo") or {}
    bundle = service.bundle(job_id, at=START) if repo.get("bundle") else None
    if repository := _repository_request(job, repo):
        request["repo"] = repository
    return Original(job, recording, request, files, tuple(_decisions(service, job)), bundle)


def _repository_request(job: Job, repo: Mapping[str, Any]) -> Mapping[str, str]:
    """The repository, at the commit that the job started from if the result names that commit."""
    patch = (job["result"] or {}).get("patch") or {}
    repository = {"url": repo.get("url"), "ref": patch.get("base") or repo.get("ref")}
    return {name: text for name, text in repository.items() if text} if repo else {}


def _steps_request(spec: Mapping[str, Any]) -> list[Any]:
    """The steps of the caller's plan. An older service names no needed steps."""
    steps = spec["steps"]
    needs = spec.get("steps_after") or [None] * len(steps)
    rows = zip(steps, needs, strict=True)
    return [text if after is None else {"text": text, "after": after} for text, after in rows]


def _recording(service: Service, job_id: str) -> bytes:
    try:
        return service.recording(job_id)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        raise _unplayable(job_id, error.detail, f"record the next job: {TO_RECORD}") from None


def _unplayable(job_id: str, reason: str, next_step: str = "") -> CliError:
    return CliError(f"{job_id} cannot be played again", reason, next_step)


def _unfit_reason(job: Job) -> str | None:
    if job["status"] not in ("succeeded", "failed"):
        return f"its status is {job['status']}: only succeeded and failed jobs can be played"
    if job["status"] == "failed" and job["reason"] not in REPEATABLE_REASONS:
        return f"it failed for an outside reason ({job['reason']}), which a replay does not repeat"
    if job["spec"].get("kind") == "verification":
        return "it is a verification, which calls no model"
    if job["spec"]["retry_of"]:
        return f"it is a retry, which continued the job {job['spec']['retry_of']}"
    if job.get("messages"):
        return "persons sent it messages while it ran, which a replay does not repeat"
    if job["conversation_id"] != job["id"]:
        return "it follows up other jobs, and their files and outcomes are in its prompts"
    return None


def _checks_request(service: Service, job_id: str, checks: Mapping[str, Any]) -> Mapping[str, Any]:
    files = {path: _check_file(service, job_id, path) for path in checks["files"]}
    request = {"files": files, "command": checks["command"]}
    if checks.get("cases"):
        request["cases"] = json.loads(_check_file(service, job_id, CASES_PATH))
    return request


def _check_file(service: Service, job_id: str, path: str) -> str:
    """A file of the checks."""
    text = as_text(service.file(job_id, path, at="checks"))
    if text is None:
        raise _unplayable(job_id, f"its file {path} is not text")
    return text


def _decisions(service: Service, job: Job) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The decisions of people, in order; of a restarted job, only those after the restart.

    Yields the name of the key, and the body of POST /jobs/ID/review. The code of an edit is in
    the run after it, and its files are artifacts.
    """
    events = list(service.events(job["id"]))
    restarts = [position for position, event in enumerate(events, 1) if event.kind == "begun_anew"]
    events = events[restarts[-1] if restarts else 0 :]
    for position, event in enumerate(events):
        if event.kind == "decided":
            yield (
                event.data["by"],
                _decision_request(service, job["id"], event.data, events[position + 1 :]),
            )


def _decision_request(
    service: Service, job_id: str, data: Mapping[str, Any], after: Sequence[ReceivedEvent]
) -> Mapping[str, Any]:
    decision: dict[str, Any] = {"action": data["action"], "feedback": data["feedback"] or ""}
    if data.get("override"):
        decision["override"] = True
        decision["feedback"] = decision["feedback"] or "overridden as in the original job"
    if answers := data.get("answers"):
        decision["answers"] = answers
    if comments := data.get("comments"):
        decision["comments"] = [
            {name: comment[name] for name in SentComment.model_fields} for comment in comments
        ]
    if data["action"] == "edit":
        until_review = takewhile(lambda event: event.kind != "review_opened", after)
        runs = (event.data for event in until_review if event.kind == "run_finished")
        run = next((run for run in runs if run["by"] != EXECUTOR), None)
        files = data.get("files") or {}
        if run is None and not files:
            raise _unplayable(job_id, f"the code of {data['by']} never ran")
        if files:
            decision["files"] = {
                path: digest
                and service.text(f"/jobs/{job_id}/artifacts/{quote(path)}?digest={digest}")
                for path, digest in files.items()
            }
        if run is not None:
            decision["code"] = service.text(f"/jobs/{job_id}/runs/{run['number']}/code")
    return decision
