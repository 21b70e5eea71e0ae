"""Calls for admins and operators: keys, tenants, workers, records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from api.schemas.audit import AuditEntry, AuditHead
from api.schemas.deployment import Fleet, System, Webhook, WebhookDeliveryList, WebhookList
from api.schemas.key import Key, KeyList, NewKey, SignInLink, Tenant, TenantList
from api.schemas.models import Checked, Models
from api.schemas.review import DecidedList
from api.schemas.review_rules import RulesInForce
from cli.client.answers import AnswerSource, parse_object
from cli.client.calls import Calls, without_empty
from cli.errors import Unreachable

CHECK_SECONDS = 150.0
"""The timeout of a check of models: longer than the time that the service gives a worker."""
JSON_LINES = "application/jsonl"
AUDIT_LINES = 1_000
"""Entries in one part of the audit log."""


class Administration(Calls):
    """The calls for admins and operators, one method each."""

    def drain(self, worker: str) -> None:
        """POST /workers/{id}/drain."""
        self._void("POST", f"/workers/{quote(worker, safe=':')}/drain", 202)

    def create_key(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST /keys: the record with the secret, which no later answer has."""
        return self._json(NewKey, "secret", "POST", "/keys", json=request)

    def keys(self) -> Sequence[Mapping[str, Any]]:
        """GET /keys."""
        answer = self._json(KeyList, "keys", "GET", "/keys")
        keys: Sequence[Mapping[str, Any]] = answer["keys"]
        return keys

    def limit_key(self, key_id: str, limits: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /keys/{id}/limits: the record."""
        return self._json(Key, "id", "PUT", f"/keys/{quote(key_id, safe='')}/limits", json=limits)

    def review_rules(self) -> Mapping[str, Any]:
        """GET /review-rules: {rules: [{name, source, sentence}], file, text, digest, ...}."""
        return self._json(RulesInForce, "rules", "GET", "/review-rules")

    def change_review_rules(self, text: str, digest: str, *, dry_run: bool) -> Mapping[str, Any]:
        """PUT /review-rules: the rules after the change of the text with this digest."""
        change = {"text": text, "digest": digest, "dry_run": dry_run}
        return self._json(RulesInForce, "rules", "PUT", "/review-rules", json=change)

    def revoke_key(self, key_id: str) -> None:
        """DELETE /keys/{id}."""
        self._void("DELETE", f"/keys/{quote(key_id, safe='')}", 204)

    def sign_in_link(self) -> str:
        """POST /sign-in-links: the path of a link that signs a browser in with this key, once."""
        return str(self._json(SignInLink, "path", "POST", "/sign-in-links")["path"])

    def tenants(self) -> Sequence[Mapping[str, Any]]:
        """GET /tenants."""
        answer = self._json(TenantList, "tenants", "GET", "/tenants")
        tenants: Sequence[Mapping[str, Any]] = answer["tenants"]
        return tenants

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

    def audit_lines(self, query: Mapping[str, Any]) -> Iterator[bytes]:
        """GET /audit, in parts: the lines of the log, each with its line feed."""
        params = {**without_empty(query), "limit": AUDIT_LINES}
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
        query = without_empty({"tenant": tenant})
        return self._json(AuditHead, "seq", "GET", "/audit/head", params=query)

    def tenant_webhooks(self, tenant: str) -> Sequence[Mapping[str, Any]]:
        """GET /tenants/{tenant}/webhooks."""
        answer = self._json(WebhookList, "webhooks", "GET", _webhooks_path(tenant))
        webhooks: Sequence[Mapping[str, Any]] = answer["webhooks"]
        return webhooks

    def add_webhook(self, tenant: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST /tenants/{tenant}/webhooks: the webhook; only this answer has its secret."""
        return self._json(Webhook, "id", "POST", _webhooks_path(tenant), json=request)

    def delete_webhook(self, tenant: str, webhook_id: str) -> None:
        """DELETE /tenants/{tenant}/webhooks/{id}."""
        self._void("DELETE", f"{_webhooks_path(tenant)}/{quote(webhook_id, safe='')}", 204)

    def webhooks(self) -> Mapping[str, Any]:
        """GET /webhook-deliveries: {waiting, waiting_total, dead, dead_total}."""
        return self._json(WebhookDeliveryList, "waiting", "GET", "/webhook-deliveries")

    def retry_webhook(self, delivery_id: str) -> None:
        """POST /webhook-deliveries/{id}/retry."""
        self._void("POST", f"/webhook-deliveries/{quote(delivery_id, safe='')}/retry", 202)

    def decisions(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """GET /decisions: {decisions, total, limit, offset}; oldest first."""
        return self._json(
            DecidedList, "decisions", "GET", "/decisions", params=without_empty(query)
        )

    def decisions_csv(self, query: Mapping[str, Any]) -> tuple[str, int]:
        """GET /decisions as CSV, and the total number of decisions."""
        answer = self._send("GET", "/decisions", params={**without_empty(query), "format": "csv"})
        try:
            return answer.text, int(answer.headers["X-Total-Count"])
        except (KeyError, ValueError):
            raise self._source(answer).unexpected("does not have the total number") from None

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


def _webhooks_path(tenant: str) -> str:
    return f"/tenants/{quote(tenant, safe='')}/webhooks"
