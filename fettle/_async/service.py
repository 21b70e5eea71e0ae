"""The service over HTTP: one method for each call of the API."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from fettle import types
from fettle._async.administration import AsyncAdministration
from fettle._async.events import Heard, follow
from fettle._async.transport import TIMEOUT, idempotency, job_path, path_part, without_empty
from fettle.errors import BadArgument
from fettle.events import Hear, ReceivedEvent

Job = Mapping[str, Any]
Content = str | bytes | Path
"""The content of a file: text, bytes, or the path of a file on this machine."""
UNFIT = re.compile('["\x00-\x1f\ud800-\udfff]')
"""The characters that a form does not carry: the service would read another name."""
PATCH_BEGINS = b"diff --git "
BATCH_TIMEOUT = 120.0
"""The service makes or cancels up to 500 jobs."""


def batch_path(batch_id: str) -> str:
    """The path of a batch."""
    return f"/batches/{path_part(batch_id)}"


class AsyncService(AsyncAdministration):
    """The service at `url`, called with one key. Answers are mappings, compared with the schemas
    of the API."""

    async def submit(
        self,
        spec: Mapping[str, Any],
        files: Mapping[str, Content] | None = None,
        *,
        bundle: bytes | None = None,
        once: str | None = None,
    ) -> Job:
        """POST /jobs: {id, kind, status, version, links} of the accepted job. `files` of any kind,
        and a git `bundle`, are sent as further parts of the form. `once`: the Idempotency-Key; the
        default is a new key."""
        for path in files or {}:
            if not path or UNFIT.search(path):
                raise BadArgument("a file cannot have this name", ascii(path), "rename the file")
        if not files and bundle is None:
            return await self.receipt("/jobs", json=spec, headers=idempotency(once))
        parts: list[Any] = [
            ("job", (None, json.dumps(spec, ensure_ascii=False))),
            *(
                ("files", (path, content.read_bytes() if isinstance(content, Path) else content))
                for path, content in (files or {}).items()
            ),
        ]
        if bundle is not None:
            parts.append(("bundle", ("repository.bundle", bundle)))
        return await self.receipt("/jobs", files=parts, headers=idempotency(once))

    async def submit_batch(
        self, requests: Sequence[Mapping[str, Any]], *, once: str | None = None
    ) -> Mapping[str, Any]:
        """POST /jobs/batch: {id, accepted, retryable, jobs: [{index, job, replayed, problem}]};
        `once` as in `submit`."""
        return await self.json(
            types.BatchReceipt,
            "jobs",
            "POST",
            "/jobs/batch",
            json={"jobs": list(requests)},
            headers=idempotency(once),
            timeout=BATCH_TIMEOUT,
        )

    async def batch(self, batch_id: str) -> Mapping[str, Any]:
        """GET /batches/{id}: {id, total, counts, ended, cost_usd, known_usd}."""
        return await self.json(types.Batch, "counts", "GET", batch_path(batch_id))

    async def cancel_batch(self, batch_id: str) -> Mapping[str, Any]:
        """POST /batches/{id}/cancel: the batch after it; a second call cancels jobs that are
        left."""
        path = f"{batch_path(batch_id)}/cancel"
        return await self.json(types.Batch, "counts", "POST", path, timeout=BATCH_TIMEOUT)

    async def own_key(self) -> Mapping[str, Any]:
        """GET /keys/me: the key of this client, with its `scopes`."""
        return await self.json(types.Key, "scopes", "GET", "/keys/me")

    async def jobs(self, **query: Any) -> Mapping[str, Any]:
        """GET /jobs: {jobs, total, limit, offset}; newest first."""
        return await self.json(types.JobList, "jobs", "GET", "/jobs", params=without_empty(query))

    async def all_jobs(self, path: str, size: int, **query: Any) -> AsyncGenerator[Job, None]:
        """Every job of a listing (GET /jobs, GET /conversations), in pages of this size."""
        params = {**without_empty(query), "limit": size}
        while True:
            page = await self.json(types.JobList, "jobs", "GET", path, params=params)
            for job in page["jobs"]:
                yield job
            if not page.get("next"):
                return
            params["cursor"] = page["next"]

    async def conversations(self, **query: Any) -> Mapping[str, Any]:
        """GET /conversations: {jobs, total, limit, offset}; the first jobs, newest first."""
        params = without_empty(query)
        return await self.json(types.JobList, "jobs", "GET", "/conversations", params=params)

    async def conversation(self, conversation_id: str, **query: Any) -> Mapping[str, Any]:
        """GET /conversations/{id}: {id, jobs, total, limit, offset}."""
        path = f"/conversations/{path_part(conversation_id)}"
        return await self.json(types.Conversation, "jobs", "GET", path, params=query)

    async def job(self, job_id: str, *, wait: int = 0, until: float = math.inf) -> Job:
        """GET /jobs/{id}. `wait`: the seconds for which the service waits until the job has ended
        or waits for a person. `until`: the monotonic time at which the caller's time ends."""
        return await self.json(
            types.Job,
            "id",
            "GET",
            job_path(job_id),
            params={"wait": wait} if wait else None,
            timeout=TIMEOUT + wait,
            until=until,
        )

    async def decide(self, job_id: str, decision: Mapping[str, Any]) -> Job:
        """POST /jobs/{id}/review."""
        return await self.receipt(f"{job_path(job_id)}/review", json=decision)

    async def claim(self, job_id: str, assignee: str) -> Job:
        """POST /jobs/{id}/review/claim: `me`, a person, or an empty text that releases the
        review."""
        claimed = {"assignee": assignee}
        return await self.receipt(f"{job_path(job_id)}/review/claim", json=claimed)

    async def message(self, job_id: str, text: str, *, once: str | None = None) -> Job:
        """POST /jobs/{id}/messages; `once` as in `submit`."""
        path = f"{job_path(job_id)}/messages"
        return await self.receipt(path, json={"text": text}, headers=idempotency(once))

    async def cancel(self, job_id: str) -> Job:
        """POST /jobs/{id}/cancel; a second call has no effect."""
        return await self.receipt(f"{job_path(job_id)}/cancel")

    async def delete(self, job_id: str) -> None:
        """DELETE /jobs/{id}."""
        await self.void("DELETE", job_path(job_id), 204)

    async def retry(
        self, job_id: str, terms: Mapping[str, Any] | None = None, *, once: str | None = None
    ) -> Job:
        """POST /jobs/{id}/retry: the new job, with the changed terms; `once` as in `submit`."""
        return await self.receipt(
            f"{job_path(job_id)}/retry", json=terms or None, headers=idempotency(once)
        )

    async def fork(self, job_id: str, changes: Mapping[str, Any]) -> Job:
        """POST /jobs/{id}/fork: the new job."""
        path = f"{job_path(job_id)}/fork"
        return await self.receipt(path, json=changes or None, headers=idempotency())

    async def compare(self, job_ids: Sequence[str]) -> Mapping[str, Any]:
        """GET /compare: {jobs, differences: [{job_id, files, problem}]}."""
        params = {"jobs": ",".join(job_ids)}
        return await self.json(types.Comparison, "differences", "GET", "/compare", params=params)

    async def rebase(self, job_id: str) -> Job:
        """POST /jobs/{id}/rebase: the new job."""
        return await self.receipt(f"{job_path(job_id)}/rebase", headers=idempotency())

    async def files(
        self, job_id: str, *, at: str = "now", until: float = math.inf
    ) -> Sequence[Mapping[str, Any]]:
        """GET /jobs/{id}/files: the workspace, [{path, digest, size}]; `at`: now, start, checks;
        `until` as in `job`."""
        path = f"{job_path(job_id)}/files"
        return await self.json_list(
            types.FileList, "files", "GET", path, params={"at": at}, until=until
        )

    async def links(self, job_id: str) -> Mapping[str, str]:
        """GET /jobs/{id}/files: the targets of the workspace's symbolic links, by path."""
        answer = await self.json(types.FileList, "files", "GET", f"{job_path(job_id)}/files")
        links: Mapping[str, str] = answer.get("links", {})
        return links

    async def file(self, job_id: str, path: str, *, at: str = "now") -> bytes:
        """GET /jobs/{id}/files/{path}: its bytes."""
        name = f"{job_path(job_id)}/files/{path_part(path, '/')}"
        return (await self.send("GET", name, params={"at": at})).content

    async def patch(self, job_id: str) -> bytes:
        """GET /jobs/{id}/patch: of the open review, else of the result."""
        answer = await self.send("GET", f"{job_path(job_id)}/patch")
        if answer.content and not answer.content.startswith(PATCH_BEGINS):
            raise self.source("GET", answer.request.url.path).unexpected("is not a patch of git")
        return answer.content

    async def changes(self, job_id: str) -> Mapping[str, Any]:
        """GET /jobs/{id}/changes: {files: [{path, facts, ...}], complete, ...}."""
        return await self.json(types.ChangeList, "files", "GET", f"{job_path(job_id)}/changes")

    async def bundle(self, job_id: str, *, at: str = "now") -> bytes:
        """GET /jobs/{id}/bundle; `at`: now, or start for the bundle that the job came with."""
        return (await self.send("GET", f"{job_path(job_id)}/bundle", params={"at": at})).content

    async def recording(self, job_id: str) -> bytes:
        """GET /jobs/{id}/recording: the model's side, as YAML."""
        return (await self.send("GET", f"{job_path(job_id)}/recording")).content

    async def artifact(self, job_id: str, name: str, *, digest: str | None = None) -> bytes:
        """GET /jobs/{id}/artifacts/{name}: the bytes of this version, by default of the newest
        version."""
        params = {"digest": digest} if digest else None
        path = f"{job_path(job_id)}/artifacts/{path_part(name, '/')}"
        return (await self.send("GET", path, params=params)).content

    async def verify(self, request: Mapping[str, Any], *, once: str | None = None) -> Job:
        """POST /verifications: the accepted job, of kind `verification`."""
        return await self.receipt("/verifications", json=request, headers=idempotency(once))

    async def text(self, href: str) -> str:
        """A text that an answer links to."""
        return (await self.send("GET", href)).text

    def follow(
        self, job_id: str, after: int = 0, *, live: bool = False
    ) -> AsyncGenerator[Heard, None]:
        """GET /jobs/{id}/events: each event once, to the final one, over broken connections. With
        `live`, also the fields of a StreamedText while models and runs write."""
        return follow(self, f"{job_path(job_id)}/events", after, live=live)

    async def events(
        self, job_id: str, after: int = 0, hear: Hear | None = None
    ) -> AsyncGenerator[ReceivedEvent, None]:
        """As `follow`, but `hear` is called with the output of models and runs."""
        async with aclosing(self.follow(job_id, after, live=hear is not None)) as stream:
            async for heard in stream:
                if isinstance(heard, ReceivedEvent):
                    yield heard
                elif hear is not None:
                    hear(heard)

    async def events_list(
        self, job_id: str, after: int = 0, *, wait: int = 0, until: float = math.inf
    ) -> Sequence[Mapping[str, Any]]:
        """GET /jobs/{id}/events as a list: [{seq, at, kind, data}] after the number `after`.
        `wait`: the seconds for which the service may wait for an event; `until` as in `job`."""
        return await self.json_list(
            types.EventList,
            "events",
            "GET",
            f"{job_path(job_id)}/events",
            params={"format": "json", "after": after, "wait": wait},
            timeout=TIMEOUT + wait,
            until=until,
        )

    async def events_so_far(self, job: Job) -> AsyncGenerator[ReceivedEvent, None]:
        """The events of a job up to the last event that `job` has. The stream of a running job
        would wait for further events."""
        if job["last_event"]:
            async with aclosing(self.events(job["id"])) as events:
                async for event in events:
                    yield event
                    if event.seq >= job["last_event"] or event.final:
                        return
