"""The service over HTTP: one method for each call of the API.

Refusals raise `RequestRefused`; a missing answer and 5xx raise `Unreachable`; an answer that Fettle
would not send raises `NotFettle`. If a busy service asks for it (429 and 503 with Retry-After), a
call is repeated, unless a repetition may have a second effect: a POST is repeated only if it
cancels a job, or has an Idempotency-Key.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from api.schemas.audit import AuditEntry, AuditHead
from api.schemas.deployment import Fleet, System, WebhookDeliveryList
from api.schemas.job import ChangeList, FileList, JobList, JobReceipt
from api.schemas.job import Job as JobModel
from api.schemas.key import Key, KeyList, NewKey, SignInLink, Tenant, TenantList
from api.schemas.models import Checked, Models
from api.schemas.outcome import Comparison
from api.schemas.problem import Problem as ProblemModel
from api.schemas.review import DecidedList
from cli.client.answers import AnswerSource, parse_object
from cli.client.events import PASSING, Hear, ReceivedEvent, follow
from cli.errors import (
    START_IT,
    BadSettings,
    CliError,
    NotFettle,
    RequestRefused,
    ServiceProblem,
    Unreachable,
)
from settings.reading.addresses import http_origin
from settings.starting.environment import unusable_proxies

Job = Mapping[str, Any]

CHECK_SECONDS = 150.0
"""Longer than the service gives a worker for it."""
TRIES = 4
MOST_WAIT_SECONDS = 20.0
TIMEOUT = httpx.Timeout(30.0, connect=5.0)
BUSY = frozenset({429, 503})
PATCH_BEGINS = b"diff --git "
JSON_LINES = "application/jsonl"
AUDIT_LINES = 1_000
"""Entries in one part of the audit log."""


class Service:
    """The service at `url`, called with one key. `tries`: how often a call is made if the service
    is busy."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        tries: int = TRIES,
    ) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self._tries = tries
        self._sleep = sleep
        by_proxy = not _loopback(self.url)  # a proxy cannot reach this machine's loopback
        if by_proxy:
            _refuse_unusable_proxies()
        self._http = httpx.Client(
            base_url=self.url,
            headers={"X-API-Key": key, "User-Agent": "fettle-cli"},
            event_hooks={"request": [self._require_own_origin]},
            timeout=TIMEOUT,
            trust_env=by_proxy,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

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
        return self._json(JobList, "jobs", "GET", "/jobs", params=_without_empty(query))

    def job(self, job_id: str) -> Job:
        """GET /jobs/{id}."""
        return self._json(JobModel, "id", "GET", _path(job_id))

    def decide(self, job_id: str, decision: Mapping[str, Any]) -> Job:
        """POST /jobs/{id}/review."""
        return self._receipt("POST", f"{_path(job_id)}/review", json=decision)

    def cancel(self, job_id: str) -> Job:
        """POST /jobs/{id}/cancel; a second call has no effect."""
        return self._receipt("POST", f"{_path(job_id)}/cancel")

    def delete(self, job_id: str) -> None:
        """DELETE /jobs/{id}."""
        self._void("DELETE", _path(job_id), 204)

    def retry(
        self, job_id: str, terms: Mapping[str, Any] | None = None, *, once: str | None = None
    ) -> Job:
        """POST /jobs/{id}/retry: the new job, with the changed terms; `once` as in `submit`."""
        headers = {"Idempotency-Key": once or secrets.token_hex(16)}
        return self._receipt("POST", f"{_path(job_id)}/retry", json=terms or None, headers=headers)

    def fork(self, job_id: str, changes: Mapping[str, Any]) -> Job:
        """POST /jobs/{id}/fork: the new job."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self._receipt("POST", f"{_path(job_id)}/fork", json=changes or None, headers=headers)

    def compare(self, job_ids: Sequence[str]) -> Mapping[str, Any]:
        """GET /compare: {jobs, differences: [{job_id, files, problem}]}."""
        params = {"jobs": ",".join(job_ids)}
        return self._json(Comparison, "differences", "GET", "/compare", params=params)

    def rebase(self, job_id: str) -> Job:
        """POST /jobs/{id}/rebase: the new job."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        return self._receipt("POST", f"{_path(job_id)}/rebase", headers=headers)

    def drain(self, worker: str) -> None:
        """POST /workers/{id}/drain."""
        self._void("POST", f"/workers/{quote(worker, safe=':')}/drain", 202)

    def files(self, job_id: str, *, at: str = "now") -> Sequence[Mapping[str, Any]]:
        """GET /jobs/{id}/files: the workspace, [{path, digest, size}]; `at`: now, start, checks."""
        answer = self._json(FileList, "files", "GET", f"{_path(job_id)}/files", params={"at": at})
        files: Sequence[Mapping[str, Any]] = answer["files"]
        return files

    def links(self, job_id: str) -> Mapping[str, str]:
        """GET /jobs/{id}/files: the targets of the workspace's symbolic links, by path."""
        answer = self._json(FileList, "files", "GET", f"{_path(job_id)}/files")
        links: Mapping[str, str] = answer.get("links", {})
        return links

    def file(self, job_id: str, path: str, *, at: str = "now") -> bytes:
        """GET /jobs/{id}/files/{path}: its bytes."""
        name = f"{_path(job_id)}/files/{quote(path)}"
        return self._send("GET", name, params={"at": at}).content

    def patch(self, job_id: str) -> bytes:
        """GET /jobs/{id}/patch: of the open review, else of the result."""
        answer = self._send("GET", f"{_path(job_id)}/patch")
        if answer.content and not answer.content.startswith(PATCH_BEGINS):
            raise self._source(answer).unexpected("is not a patch of git")
        return answer.content

    def changes(self, job_id: str) -> Mapping[str, Any]:
        """GET /jobs/{id}/changes: {files: [{path, facts, ...}], complete, ...}."""
        return self._json(ChangeList, "files", "GET", f"{_path(job_id)}/changes")

    def bundle(self, job_id: str, *, at: str = "now") -> bytes:
        """GET /jobs/{id}/bundle; `at`: now, or start for the bundle that the job came with."""
        return self._send("GET", f"{_path(job_id)}/bundle", params={"at": at}).content

    def recording(self, job_id: str) -> bytes:
        """GET /jobs/{id}/recording: the model's side, as YAML."""
        return self._send("GET", f"{_path(job_id)}/recording").content

    def artifact(self, job_id: str, name: str, *, digest: str | None = None) -> bytes:
        """GET /jobs/{id}/artifacts/{name}: the bytes of this version, by default of the newest
        version."""
        params = {"digest": digest} if digest else None
        return self._send("GET", f"{_path(job_id)}/artifacts/{quote(name)}", params=params).content

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
        source = AnswerSource(self.url, "GET", f"{_path(job_id)}/events")
        return follow(self._http, source, after, self._sleep, self._trouble, hear)

    def events_so_far(self, job: Job) -> Iterator[ReceivedEvent]:
        """The events of a job up to the last event that `job` has. The stream of a running job
        would wait for further events."""
        if job["last_event"]:
            for event in self.events(job["id"]):
                yield event
                if event.seq >= job["last_event"] or event.final:
                    return

    def create_key(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST /keys: the record with the secret, which no later answer has."""
        return self._json(NewKey, "secret", "POST", "/keys", json=request)

    def keys(self) -> Sequence[Mapping[str, Any]]:
        """GET /keys."""
        listed: Sequence[Mapping[str, Any]] = self._json(KeyList, "keys", "GET", "/keys")["keys"]
        return listed

    def limit_key(self, key_id: str, limits: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /keys/{id}/limits: the record."""
        return self._json(Key, "id", "PUT", f"/keys/{quote(key_id, safe='')}/limits", json=limits)

    def tenants(self) -> Sequence[Mapping[str, Any]]:
        """GET /tenants."""
        listed: Sequence[Mapping[str, Any]] = self._json(TenantList, "tenants", "GET", "/tenants")[
            "tenants"
        ]
        return listed

    def limit_tenant(self, name: str, limits: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /tenants/{tenant}/limits: the tenant."""
        return self._json(
            Tenant, "name", "PUT", f"/tenants/{quote(name, safe='')}/limits", json=limits
        )

    def fleet(self) -> Mapping[str, Any]:
        """GET /fleet: {version, settings, changes}."""
        return self._json(Fleet, "version", "GET", "/fleet")

    def change_fleet(
        self, version: int, values: Mapping[str, float], accept_removal: int = 0
    ) -> Mapping[str, Any]:
        """PUT /fleet: the rules after the change of `version`."""
        change = {"version": version, "settings": values, "accept_removal": accept_removal}
        return self._json(Fleet, "version", "PUT", "/fleet", json=change)

    def change_defaults(self, version: int, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /fleet: the rules after the change of `version`, with the defaults for new jobs."""
        change = {"version": version, "defaults": defaults}
        return self._json(Fleet, "version", "PUT", "/fleet", json=change)

    def revoke_key(self, key_id: str) -> None:
        """DELETE /keys/{id}."""
        self._void("DELETE", f"/keys/{quote(key_id, safe='')}", 204)

    def sign_in_link(self) -> str:
        """POST /sign-in-links: the path of a link that signs a browser in with this key, once."""
        return str(self._json(SignInLink, "path", "POST", "/sign-in-links")["path"])

    def decisions(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """GET /decisions: {decisions, total, limit, offset}; oldest first."""
        return self._json(
            DecidedList, "decisions", "GET", "/decisions", params=_without_empty(query)
        )

    def decisions_csv(self, query: Mapping[str, Any]) -> tuple[str, int]:
        """GET /decisions as CSV, and the total number of decisions."""
        answer = self._send("GET", "/decisions", params={**_without_empty(query), "format": "csv"})
        try:
            return answer.text, int(answer.headers["X-Total-Count"])
        except (KeyError, ValueError):
            raise self._source(answer).unexpected("does not have the total number") from None

    def audit_lines(self, query: Mapping[str, Any]) -> Iterator[bytes]:
        """GET /audit, in parts: the lines of the log, each with its line feed."""
        params = {**_without_empty(query), "limit": AUDIT_LINES}
        while True:
            answer = self._send("GET", "/audit", params=params)
            if not answer.headers.get("content-type", "").startswith(JSON_LINES):
                raise self._source(answer).unexpected("is not an audit log")
            lines = answer.content.splitlines(keepends=True)
            yield from lines
            if len(lines) < AUDIT_LINES:
                return
            params["after"] = self.audit_entry(lines[-1])["seq"]

    def audit_entry(self, line: bytes) -> Mapping[str, Any]:
        """The entry in a line of the log."""
        source = AnswerSource(self.url, "GET", "/audit")
        return parse_object(source, line.decode(errors="replace"), AuditEntry)

    def audit_head(self, tenant: str | None) -> Mapping[str, Any]:
        """GET /audit/head: {tenant, first_seq, seq, hash}."""
        query = _without_empty({"tenant": tenant})
        return self._json(AuditHead, "seq", "GET", "/audit/head", params=query)

    def webhooks(self) -> Mapping[str, Any]:
        """GET /webhook-deliveries: {waiting, waiting_total, dead, dead_total}."""
        return self._json(WebhookDeliveryList, "waiting", "GET", "/webhook-deliveries")

    def retry_webhook(self, delivery_id: str) -> None:
        """POST /webhook-deliveries/{id}/retry."""
        self._void("POST", f"/webhook-deliveries/{quote(delivery_id, safe='')}/retry", 202)

    def system(self) -> Mapping[str, Any]:
        """GET /system: the state of the API and of the workers."""
        return self._json(System, None, "GET", "/system")

    def models(self) -> Mapping[str, Any]:
        """GET /models: the models by role, their prices, and the missing keys."""
        return self._json(Models, "workers", "GET", "/models")

    def check_models(self, names: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """POST /models/check: whether a job can run with each model; without names, with each
        offered model."""
        request = {"models": list(names)} if names else {}
        answer = self._json(
            Checked, "models", "POST", "/models/check", json=request, timeout=CHECK_SECONDS
        )
        results: Sequence[Mapping[str, Any]] = answer["models"]
        return results

    def ready(self, workers: int) -> bool:
        """Whether the service takes jobs (GET /readyz), and lists this number of workers (GET
        /system)."""
        try:
            answer = self._http.get("/readyz", timeout=2.0)
            return answer.is_success and len(self.system()["workers"]) >= workers
        except (httpx.HTTPError, Unreachable):
            return False

    def _require_own_origin(self, request: httpx.Request) -> None:
        """Raise CliError for a request to another server, which must not get the key. A link in an
        answer may lead there."""
        if http_origin(str(request.url)) != http_origin(self.url):
            raise CliError("the service's answer leads to another server", next_step=START_IT)

    def _json(
        self, model: type[BaseModel], essential: str | None, method: str, path: str, **request: Any
    ) -> dict[str, Any]:
        """The object of an answer, which has at least the field `essential`."""
        answer = self._send(method, path, **request)
        content = parse_object(self._source(answer), answer.text, model)
        if essential is not None:
            content[essential]  # raises NotFettle
        return content

    def _receipt(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        return self._json(JobReceipt, "status", method, path, **request)

    def _void(self, method: str, path: str, status: int) -> None:
        """A call that the service answers with this status and no content."""
        answer = self._send(method, path)
        if answer.status_code != status or answer.content.strip(b"{}"):
            raise self._stranger(answer)

    def _source(self, answer: httpx.Response) -> AnswerSource:
        request = answer.request
        return AnswerSource(self.url, request.method, request.url.path)

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        is_idempotent = method != "POST" or path.endswith("/cancel")
        repeatable = is_idempotent or "Idempotency-Key" in request.get("headers", {})
        for tries_left in reversed(range(self._tries)):
            try:
                answer = self._http.request(method, path, **request)
            except httpx.TransportError as error:
                raise self._trouble(error) from None
            except httpx.DecodingError as error:
                source = AnswerSource(self.url, method, path)
                raise source.unexpected(f"cannot be decoded: {error}") from None
            if answer.is_success:
                return answer
            if answer.status_code not in BUSY or not tries_left or not repeatable:
                break
            self._sleep(_retry_after(answer))
        raise self._trouble(answer)

    def _trouble(self, answer: httpx.Response | httpx.TransportError) -> CliError:
        if isinstance(answer, httpx.TransportError):
            return self._unreachable(answer)
        problem = _problem(self._source(answer), answer)
        if problem is None:
            return self._stranger(answer)
        if answer.status_code in PASSING:
            return Unreachable(problem.title, problem.detail, "try again in a moment")
        return RequestRefused(problem)

    def _unreachable(self, error: httpx.TransportError) -> Unreachable:
        detail = "it did not answer in time" if isinstance(error, httpx.TimeoutException) else ""
        return Unreachable(f"no Fettle answers at {self.url}", detail, START_IT)

    def _stranger(self, answer: httpx.Response) -> NotFettle:
        media_type = answer.headers.get("content-type", "no type")
        return self._source(answer).unexpected(f"is HTTP {answer.status_code} with {media_type}")


def _without_empty(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value not in (None, "")}


def _path(job_id: str) -> str:
    return f"/jobs/{quote(job_id, safe='')}"


def _problem(source: AnswerSource, answer: httpx.Response) -> ServiceProblem | None:
    """The problem that an answer states; None if the answer is not a problem of the API."""
    try:
        content = parse_object(source, answer.text, ProblemModel)
        return ServiceProblem(
            status=answer.status_code,
            title=content["title"],
            detail=content.get("detail") or "",
            retryable=bool(content.get("retryable")),
            fields=tuple(f"{e['field']}: {e['message']}" for e in content.get("errors") or ()),
            path=answer.request.url.path,
            type=content["type"],
            limit=content.get("limit"),
        )
    except NotFettle:
        return None


def _retry_after(answer: httpx.Response) -> float:
    try:
        seconds = float(answer.headers.get("Retry-After", "1"))
    except ValueError:  # an HTTP date: no service of Fettle sends one
        seconds = 1.0
    return min(max(seconds, 0.1), MOST_WAIT_SECONDS)


def _refuse_unusable_proxies() -> None:
    for name, kind in unusable_proxies():
        raise BadSettings(
            f"{name} names a {kind} proxy",
            "Fettle can use http and https proxies only",
            "set HTTPS_PROXY to one of those, or unset it",
        )


def _loopback(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
