"""The service over HTTP: one method for each call of the API."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from api.schemas.files import ChangeList, FileList
from api.schemas.job import Job as JobModel
from api.schemas.job import JobList
from api.schemas.outcome import Comparison
from cli.client.administration import Administration
from cli.client.answers import AnswerSource
from cli.client.calls import job_path, without_empty
from cli.client.events import Hear, ReceivedEvent, follow

Job = Mapping[str, Any]

PATCH_BEGINS = b"diff --git "


class Service(Administration):
    """The service at `url`, called with one key. `tries`: how often a call is made if the service
    is busy."""

    def submit(
        self,
        spec: Mapping[str, Any],
        files: Mapping[str, bytes] | None = None,
        *,
        bundle: bytes | None = None,
        once: str | None = None,
    ) -> Job:
        """POST /jobs: {id, kind, status, version, links} of the accepted job. `files` of any kind,
        and a git `bundle`, are sent as further parts of the form. `once`: the Idempotency-Key; the
        default is a new key."""
        headers = {"Idempotency-Key": once or secrets.token_hex(16)}
        if not files and bundle is None:
            return self._receipt("POST", "/jobs", json=spec, headers=headers)
        parts: list[Any] = [
            ("job", (None, json.dumps(spec))),
            *(("files", (path, content)) for path, content in (files or {}).items()),
        ]
        if bundle is not None:
            parts.append(("bundle", ("repository.bundle", bundle)))
        return self._receipt("POST", "/jobs", files=parts, headers=headers)

    def jobs(self, **query: Any) -> Mapping[str, Any]:
        """GET /jobs: {jobs, total, limit, offset}; newest first."""
        return self._json(JobList, "jobs", "GET", "/jobs", params=without_empty(query))

    def job(self, job_id: str) -> Job:
        """GET /jobs/{id}."""
        return self._json(JobModel, "id", "GET", job_path(job_id))

    def decide(self, job_id: str, decision: Mapping[str, Any]) -> Job:
        """POST /jobs/{id}/review."""
        return self._receipt("POST", f"{job_path(job_id)}/review", json=decision)

    def claim(self, job_id: str, assignee: str) -> Job:
        """POST /jobs/{id}/review/claim: `me`, a person, or an empty text that releases the
        review."""
        claimed = {"assignee": assignee}
        return self._receipt("POST", f"{job_path(job_id)}/review/claim", json=claimed)

    def cancel(self, job_id: str) -> Job:
        """POST /jobs/{id}/cancel; a second call has no effect."""
        return self._receipt("POST", f"{job_path(job_id)}/cancel")

    def delete(self, job_id: str) -> None:
        """DELETE /jobs/{id}."""
        self._void("DELETE", job_path(job_id), 204)

    def retry(
        self, job_id: str, terms: Mapping[str, Any] | None = None, *, once: str | None = None
    ) -> Job:
        """POST /jobs/{id}/retry: the new job, with the changed terms; `once` as in `submit`."""
        headers = {"Idempotency-Key": once or secrets.token_hex(16)}
        return self._receipt(
            "POST", f"{job_path(job_id)}/retry", json=terms or None, headers=headers
        )

    def fork(self, job_id: str, changes: Mapping[str, Any]) -> Job:
        """POST /jobs/{id}/fork: the new job."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self._receipt(
            "POST", f"{job_path(job_id)}/fork", json=changes or None, headers=headers
        )

    def compare(self, job_ids: Sequence[str]) -> Mapping[str, Any]:
        """GET /compare: {jobs, differences: [{job_id, files, problem}]}."""
        params = {"jobs": ",".join(job_ids)}
        return self._json(Comparison, "differences", "GET", "/compare", params=params)

    def rebase(self, job_id: str) -> Job:
        """POST /jobs/{id}/rebase: the new job."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self._receipt("POST", f"{job_path(job_id)}/rebase", headers=headers)

    def files(self, job_id: str, *, at: str = "now") -> Sequence[Mapping[str, Any]]:
        """GET /jobs/{id}/files: the workspace, [{path, digest, size}]; `at`: now, start, checks."""
        answer = self._json(
            FileList, "files", "GET", f"{job_path(job_id)}/files", params={"at": at}
        )
        files: Sequence[Mapping[str, Any]] = answer["files"]
        return files

    def links(self, job_id: str) -> Mapping[str, str]:
        """GET /jobs/{id}/files: the targets of the workspace's symbolic links, by path."""
        answer = self._json(FileList, "files", "GET", f"{job_path(job_id)}/files")
        links: Mapping[str, str] = answer.get("links", {})
        return links

    def file(self, job_id: str, path: str, *, at: str = "now") -> bytes:
        """GET /jobs/{id}/files/{path}: its bytes."""
        name = f"{job_path(job_id)}/files/{quote(path)}"
        return self._send("GET", name, params={"at": at}).content

    def patch(self, job_id: str) -> bytes:
        """GET /jobs/{id}/patch: of the open review, else of the result."""
        answer = self._send("GET", f"{job_path(job_id)}/patch")
        if answer.content and not answer.content.startswith(PATCH_BEGINS):
            raise self._source(answer).unexpected("is not a patch of git")
        return answer.content

    def changes(self, job_id: str) -> Mapping[str, Any]:
        """GET /jobs/{id}/changes: {files: [{path, facts, ...}], complete, ...}."""
        return self._json(ChangeList, "files", "GET", f"{job_path(job_id)}/changes")

    def bundle(self, job_id: str, *, at: str = "now") -> bytes:
        """GET /jobs/{id}/bundle; `at`: now, or start for the bundle that the job came with."""
        return self._send("GET", f"{job_path(job_id)}/bundle", params={"at": at}).content

    def recording(self, job_id: str) -> bytes:
        """GET /jobs/{id}/recording: the model's side, as YAML."""
        return self._send("GET", f"{job_path(job_id)}/recording").content

    def artifact(self, job_id: str, name: str, *, digest: str | None = None) -> bytes:
        """GET /jobs/{id}/artifacts/{name}: the bytes of this version, by default of the newest
        version."""
        params = {"digest": digest} if digest else None
        return self._send(
            "GET", f"{job_path(job_id)}/artifacts/{quote(name)}", params=params
        ).content

    def verify(self, request: Mapping[str, Any], *, once: str | None = None) -> Job:
        """POST /verifications: the accepted job, of kind `verification`."""
        headers = {"Idempotency-Key": once or secrets.token_hex(16)}
        return self._receipt("POST", "/verifications", json=request, headers=headers)

    def text(self, href: str) -> str:
        """A text that an answer links to."""
        return self._send("GET", href).text

    def events(
        self, job_id: str, after: int = 0, hear: Hear | None = None
    ) -> Iterator[ReceivedEvent]:
        """GET /jobs/{id}/events: each event once, to the final one, over broken connections.

        `hear` is called with the output of models while it streams.
        """
        source = AnswerSource(self.url, "GET", f"{job_path(job_id)}/events")
        return follow(self._http, source, after, self._sleep, self._make_error, hear)

    def events_so_far(self, job: Job) -> Iterator[ReceivedEvent]:
        """The events of a job up to the last event that `job` has. The stream of a running job
        would wait for further events."""
        if job["last_event"]:
            for event in self.events(job["id"]):
                yield event
                if event.seq >= job["last_event"] or event.final:
                    return
