"""API keys: who may do what, for which tenant. Only the sha256 of a secret is ever kept.

A secret has 256 random bits, so its plain digest cannot be guessed back, and a look-up by digest
reveals nothing by its timing.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from jobs.model.review import EXPIRY

OPERATOR = "default"
"""The operator's tenant: its admin keys are the operator's (see `Credential.operates`)."""
PREFIX = "fettle_"
RESERVED = frozenset({"critic", "rules", "executor", "planner", "operator", "development", EXPIRY})
"""Names that no key may have: the service's own roles, and the configured key."""


class Scope(StrEnum):
    """What a key may do. None contains another."""

    SUBMIT = "submit"
    READ = "read"
    REVIEW = "review"
    ADMIN = "admin"


EVERY_SCOPE = tuple(Scope)


@dataclass(frozen=True, slots=True)
class Credential:
    """What is known of a key. Times in ms by the store's clock; `name` signs decisions.

    `max_cost_usd_per_day` (a decimal string) and `max_tokens_per_day` bound what its jobs may spend
    on a day; None: as the settings say.
    """

    id: str
    name: str
    tenant: str
    scopes: tuple[Scope, ...]
    created_at: int = 0
    created_by: str = ""
    revoked_at: int | None = None
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None

    @property
    def person(self) -> Person:
        """Who decides with it."""
        return Person(self.name, self.id)

    @property
    def active(self) -> bool:
        """Whether the key still opens anything."""
        return self.revoked_at is None

    @property
    def signature(self) -> str:
        """What two active keys cannot have in common: tenant and name, in one case."""
        return f"{self.tenant}:{self.name.lower()}"

    def may(self, scope: Scope) -> bool:
        """Whether the key has this scope."""
        return scope in self.scopes

    @property
    def operates(self) -> bool:
        """Whether it is the operator's: with `admin`, in the operator's tenant. Hosts, workers,
        counts of all tenants and limits are the operator's alone."""
        return self.may(Scope.ADMIN) and self.tenant == OPERATOR

    def governs(self, tenant: str) -> bool:
        """Whether the key may see to a tenant's keys: its own, or any if it is the operator's."""
        return self.operates or (self.may(Scope.ADMIN) and self.tenant == tenant)


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """What all jobs of a tenant together may spend on a day; None: as the settings say."""

    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None


def in_order(credentials: Iterable[Credential]) -> Sequence[Credential]:
    """Oldest first."""
    return sorted(credentials, key=lambda kept: (kept.created_at, kept.id))


def new_secret() -> str:
    """A secret that is shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def new_id() -> str:
    """An id that may be shown anywhere."""
    return secrets.token_hex(6)


def digest_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Person:
    """The name of a key and its id; '' where an older record does not tell."""

    name: str
    key_id: str = ""

    @property
    def identity_keys(self) -> frozenset[str]:
        """By these, two keys are known to be one person's: a key by its id, and a new key by the
        name that it has taken over."""
        key = {f"key:{self.key_id}"} if self.key_id else set()
        return frozenset({f"name:{self.name.lower()}", *key})

    def is_also(self, other: Person) -> bool:
        """Whether both are one person, as far as their keys show."""
        return bool(self.identity_keys & other.identity_keys)
