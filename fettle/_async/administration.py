"""Calls for admins and operators: keys, tenants, workers, records."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx
from pydantic import BaseModel

from fettle import types
from fettle._async.transport import AsyncTransport, path_part, without_empty
from fettle.answers import parse_object
from fettle.errors import ApiError, ServiceUnreachable

CHECK_SECONDS = 150.0
"""The timeout of a check of models: longer than the time that the service gives a worker."""
JSON_LINES = "application/jsonl"
AUDIT_LINES = 1_000
"""Entries in one part of the audit log."""


class _AuditEntry(BaseModel):
    """A line of the audit log. The description of the API has no schema of these lines."""

    seq: int
    at: datetime
    tenant: str
    kind: str
    actor: dict[str, str]
    data: dict[str, Any]
    prev: str
    hash: str


class AsyncAdministration(AsyncTransport):
    """The calls for admins and operators, one method each."""

    async def drain(self, worker: str) -> None:
        """POST /workers/{id}/drain."""
        await self.void("POST", f"/workers/{path_part(worker, ':')}/drain", 202)

    async def create_key(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST /keys: the record with the secret, which no later answer has."""
        return await self.json(types.NewKey, "secret", "POST", "/keys", json=request)

    async def keys(self) -> Sequence[Mapping[str, Any]]:
        """GET /keys."""
        return await self.json_list(types.KeyList, "keys", "GET", "/keys")

    async def limit_key(self, key_id: str, limits: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /keys/{id}/limits: the record."""
        return await self.json(
            types.Key, "id", "PUT", f"/keys/{path_part(key_id)}/limits", json=limits
        )

    async def review_rules(self) -> Mapping[str, Any]:
        """GET /review-rules: {rules: [{name, source, sentence}], file, text, digest, ...}."""
        return await self.json(types.RulesInForce, "rules", "GET", "/review-rules")

    async def change_review_rules(
        self, text: str, digest: str, *, dry_run: bool
    ) -> Mapping[str, Any]:
        """PUT /review-rules: the rules after the change of the text with this digest."""
        change = {"text": text, "digest": digest, "dry_run": dry_run}
        return await self.json(types.RulesInForce, "rules", "PUT", "/review-rules", json=change)

    async def revoke_key(self, key_id: str) -> None:
        """DELETE /keys/{id}."""
        await self.void("DELETE", f"/keys/{path_part(key_id)}", 204)

    async def sign_in_link(self) -> str:
        """POST /sign-in-links: the path of a link that signs a browser in with this key, once."""
        return str((await self.json(types.SignInLink, "path", "POST", "/sign-in-links"))["path"])

    async def tenants(self) -> Sequence[Mapping[str, Any]]:
        """GET /tenants."""
        return await self.json_list(types.TenantList, "tenants", "GET", "/tenants")

    async def limit_tenant(self, name: str, limits: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /tenants/{tenant}/limits: the tenant."""
        return await self.json(
            types.Tenant, "name", "PUT", f"/tenants/{path_part(name)}/limits", json=limits
        )

    async def fleet(self) -> Mapping[str, Any]:
        """GET /fleet: {version, settings, changes}."""
        return await self.json(types.Fleet, "version", "GET", "/fleet")

    async def change_fleet(
        self, version: int, values: Mapping[str, float], accept_removal: int = 0
    ) -> Mapping[str, Any]:
        """PUT /fleet: the rules after the change of `version`."""
        change = {"version": version, "settings": values, "accept_removal": accept_removal}
        return await self.json(types.Fleet, "version", "PUT", "/fleet", json=change)

    async def change_defaults(self, version: int, defaults: Mapping[str, Any]) -> Mapping[str, Any]:
        """PUT /fleet: the rules after the change of `version`, with the defaults for new jobs."""
        change = {"version": version, "defaults": defaults}
        return await self.json(types.Fleet, "version", "PUT", "/fleet", json=change)

    async def audit_lines(self, query: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """GET /audit, in parts: the lines of the log, each with its line feed."""
        params = {**without_empty(query), "limit": AUDIT_LINES}
        while True:
            answer = await self.send("GET", "/audit", params=params)
            if not answer.headers.get("content-type", "").startswith(JSON_LINES):
                raise self.source("GET", "/audit").unexpected("is not an audit log")
            lines = answer.content.splitlines(keepends=True)
            for line in lines:
                yield line
            if len(lines) < AUDIT_LINES:
                return
            params["after"] = self.audit_entry(lines[-1])["seq"]

    def audit_entry(self, line: bytes) -> Mapping[str, Any]:
        """The entry in a line of the log."""
        source = self.source("GET", "/audit")
        return parse_object(source, line.decode(errors="replace"), _AuditEntry)

    async def audit_head(self, tenant: str | None) -> Mapping[str, Any]:
        """GET /audit/head: {tenant, first_seq, seq, hash}."""
        query = without_empty({"tenant": tenant})
        return await self.json(types.AuditHead, "seq", "GET", "/audit/head", params=query)

    async def tenant_webhooks(self, tenant: str) -> Sequence[Mapping[str, Any]]:
        """GET /tenants/{tenant}/webhooks."""
        path = _webhooks_path(tenant)
        return await self.json_list(types.WebhookList, "webhooks", "GET", path)

    async def add_webhook(self, tenant: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST /tenants/{tenant}/webhooks: the webhook; only this answer has its secret."""
        return await self.json(types.Webhook, "id", "POST", _webhooks_path(tenant), json=request)

    async def delete_webhook(self, tenant: str, webhook_id: str) -> None:
        """DELETE /tenants/{tenant}/webhooks/{id}."""
        await self.void("DELETE", f"{_webhooks_path(tenant)}/{path_part(webhook_id)}", 204)

    async def webhooks(self) -> Mapping[str, Any]:
        """GET /webhook-deliveries: {waiting, waiting_total, dead, dead_total}."""
        return await self.json(types.WebhookDeliveryList, "waiting", "GET", "/webhook-deliveries")

    async def retry_webhook(self, delivery_id: str) -> None:
        """POST /webhook-deliveries/{id}/retry."""
        await self.void("POST", f"/webhook-deliveries/{path_part(delivery_id)}/retry", 202)

    async def decisions(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """GET /decisions: {decisions, total, limit, offset}; oldest first."""
        return await self.json(
            types.DecidedList, "decisions", "GET", "/decisions", params=without_empty(query)
        )

    async def decisions_csv(self, query: Mapping[str, Any]) -> tuple[str, int]:
        """GET /decisions as CSV, and the total number of decisions."""
        answer = await self.send(
            "GET", "/decisions", params={**without_empty(query), "format": "csv"}
        )
        try:
            return answer.text, int(answer.headers["X-Total-Count"])
        except (KeyError, ValueError):
            source = self.source("GET", "/decisions")
            raise source.unexpected("does not have the total number") from None

    async def system(self) -> Mapping[str, Any]:
        """GET /system: the state of the API and of the workers."""
        return await self.json(types.System, None, "GET", "/system")

    async def models(self) -> Mapping[str, Any]:
        """GET /models: the models by role, their prices, and the missing keys."""
        return await self.json(types.Models, "workers", "GET", "/models")

    async def check_models(self, names: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """POST /models/check: whether a job can run with each model; without names, with each
        offered model."""
        request = {"models": list(names)} if names else {}
        return await self.json_list(
            types.Checked, "models", "POST", "/models/check", json=request, timeout=CHECK_SECONDS
        )

    async def ready(self, workers: int) -> bool:
        """Whether the service takes jobs (GET /readyz), and lists this number of workers (GET
        /system)."""
        try:
            async with self.stream("GET", "/readyz", 2.0) as answer:
                is_ready = answer.is_success
            return is_ready and len((await self.system())["workers"]) >= workers
        except (httpx.HTTPError, ServiceUnreachable):
            return False
        except ApiError as refused:
            if refused.retryable:
                return False
            raise


def _webhooks_path(tenant: str) -> str:
    return f"/tenants/{path_part(tenant)}/webhooks"
