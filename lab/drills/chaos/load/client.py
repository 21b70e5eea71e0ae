"""ChaosClient: the service over HTTP; each request is sent once, and each answer is logged."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Self

import httpx
from httpx_sse import EventSource

from fettle.answers import AnswerSource
from fettle.events import ReceivedEvent, read_event
from lab.drills.chaos.oplog import (
    Cancelled,
    Connected,
    Decided,
    Moment,
    OperationLog,
    Received,
    Retried,
    Seen,
    Submitted,
)

TIMEOUT = httpx.Timeout(10.0, connect=3.0)
SILENCE_SECONDS = 30.0
AGAIN_SECONDS = 0.3


class ChaosClient:
    """One client for all jobs of a run. A request without an answer has the status None."""

    def __init__(self, url: str, key: str, log: OperationLog) -> None:
        self._log = log
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"X-API-Key": key, "User-Agent": "fettle-chaos"},
            timeout=TIMEOUT,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=50),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def submit(
        self, key: str, spec: Mapping[str, Any], bundle: bytes | None = None
    ) -> Submitted:
        """POST /jobs, with a git `bundle` if the job has one."""
        asked_at = Moment.now()
        status, answer = await self._send("/jobs", spec, {"Idempotency-Key": key}, bundle)
        body = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:12]
        entry = Submitted(
            asked=asked_at, status=status, key=key, body=body, job_id=_text(answer.get("id"))
        )
        self._log.add(entry)
        return entry

    async def decide(self, job_id: str, review_id: str, action: str) -> Decided:
        """POST /jobs/{id}/review."""
        body: dict[str, Any] = {"action": action, "review_id": review_id}
        if action == "approve":  # the evidence does not matter here
            body |= {"override": True, "feedback": "Approved by the drill."}
        if action in ("revise", "reject"):
            body["feedback"] = "Look again, please."
        if action == "edit":
            body["code"] = "print('by hand')"
        asked_at = Moment.now()
        status, _ = await self._send(f"/jobs/{job_id}/review", body)
        entry = Decided(
            asked=asked_at, status=status, job_id=job_id, review_id=review_id, action=action
        )
        self._log.add(entry)
        return entry

    async def cancel(self, job_id: str) -> Cancelled:
        """POST /jobs/{id}/cancel."""
        asked_at = Moment.now()
        status, _ = await self._send(f"/jobs/{job_id}/cancel")
        entry = Cancelled(asked=asked_at, status=status, job_id=job_id)
        self._log.add(entry)
        return entry

    async def retry(self, job_id: str) -> Retried:
        """POST /jobs/{id}/retry. If it is repeated without an answer, the service names the retry
        that was already made.
        """
        asked_at = Moment.now()
        once = {"Idempotency-Key": f"retry-{job_id}"}
        status, answer = await self._send(f"/jobs/{job_id}/retry", headers=once)
        entry = Retried(
            asked=asked_at, status=status, job_id=job_id, retry_job=_text(answer.get("id"))
        )
        self._log.add(entry)
        return entry

    async def read_job(self, job_id: str) -> Mapping[str, Any] | None:
        """GET /jobs/{id}; None without an answer."""
        try:
            answer = await self._http.get(f"/jobs/{job_id}")
        except httpx.TransportError:
            return None
        if not answer.is_success:
            return None
        answer_body: Mapping[str, Any] = answer.json()
        self._log.add(Seen(job_id=job_id, status=answer_body["status"]))
        return answer_body

    async def events(
        self, job_id: str, reader: str, after: int = 0
    ) -> AsyncGenerator[ReceivedEvent, None]:
        """GET /jobs/{id}/events until the final event, also over broken connections.

        Every event is logged and yielded, so that duplicates are noticed. A caller that stops
        reading closes the connection.
        """
        while True:
            self._log.add(Connected(job_id=job_id, reader=reader, after=after))
            try:
                async for event in self._connection(job_id, after):
                    self._log.add(
                        Received(job_id=job_id, reader=reader, seq=event.seq, kind=event.kind)
                    )
                    after = event.seq
                    yield event
                    if event.final:
                        return
            except httpx.TransportError:
                pass
            await asyncio.sleep(AGAIN_SECONDS)

    async def _connection(self, job_id: str, after: int) -> AsyncIterator[ReceivedEvent]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=3.0)
        path = f"/jobs/{job_id}/events"
        async with self._http.stream("GET", path, headers=headers, timeout=timeout) as response:
            if response.is_success:
                async for sent in EventSource(response).aiter_sse():
                    if sent.id and sent.data:
                        yield read_event(
                            AnswerSource(str(self._http.base_url), "GET", path), sent.data
                        )

    async def _send(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Any = None,
        bundle: bytes | None = None,
    ) -> tuple[int | None, Mapping[str, Any]]:
        sent: dict[str, Any] = {"json": body}
        if bundle is not None:
            sent = {"data": {"job": json.dumps(body)}, "files": {"bundle": bundle}}
        try:
            answer = await self._http.post(path, headers=headers, **sent)
        except httpx.TransportError:
            return None, {}
        return answer.status_code, answer.json() if answer.is_success else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
