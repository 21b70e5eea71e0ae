"""API keys: their scopes, their tenant and their person. Only the sha256 of a secret is stored.

A secret has 256 random bits, so its digest does not reveal it, and the time of a look-up by digest
reveals nothing.
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
TENANT = r"^[a-z0-9][a-z0-9_-]{0,62}$"
"""The name of a tenant. It has no colon, since tenants are parts of Redis' keys."""
PREFIX = "fettle_"
FIRST_ID = "configured"
"""The id of the operator's first key, which the environment sets."""
FIRST_NAMES = ("operator", "development")
"""Its name in production, and in development."""
ROLES = frozenset({"critic", "rules", "executor", "planner", EXPIRY})
"""The names that sign the service's own actions."""
RETENTION = "retention"
WORKER = "worker"
"""The names under which retention and workers act without a key."""
RESERVED = ROLES | {RETENTION, WORKER} | set(FIRST_NAMES)
"""Names that no key and no person may have: the service's own roles, and the first key."""


class Scope(StrEnum):
    """A right of a key. Scopes do not contain each other."""

    SUBMIT = "submit"
    READ = "read"
    REVIEW = "review"
    ADMIN = "admin"


EVERY_SCOPE = tuple(Scope)


@dataclass(frozen=True, slots=True)
class Credential:
    """An API key without its secret. Times in ms by Redis' clock."""

    id: str
    name: str
    """Signs decisions."""
    tenant: str
    scopes: tuple[Scope, ...]
    created_at: int = 0
    created_by: str = ""
    """The name of the key that made this key. Another key may have this name later."""
    revoked_at: int | None = None
    max_cost_usd_per_day: str | None = None
    """The most that its jobs may spend on a day (decimal string). None: the settings' limit."""
    max_tokens_per_day: int | None = None
    """The most tokens that its jobs may spend on a day. None: the settings' limit."""
    person: str = ""
    """The person to whom the key belongs. It never changes. A key without a person has a person of
    its own name."""
    created_by_key: str = ""
    """The id of the key that made this key. '': Fettle 0.1.0 has recorded it."""
    expires_at: int | None = None
    """The key is valid until then. None: until it is revoked."""

    def __post_init__(self) -> None:
        """Give a key without a person a person of the key's name."""
        if not self.person:
            object.__setattr__(self, "person", self.name)

    @property
    def signer(self) -> Signer:
        """The name and the id that sign actions with the key."""
        return Signer(self.name, self.id)

    def is_valid(self, now: int) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def signature(self) -> str:
        """Tenant and name without case. Two keys that are not revoked cannot have the same
        signature."""
        return f"{self.tenant}:{self.name.lower()}"

    def may(self, scope: Scope) -> bool:
        """Whether the key has this scope."""
        return scope in self.scopes

    @property
    def operates(self) -> bool:
        """Whether it is the operator's key: with `admin`, in the operator's tenant. Only such keys
        see hosts and workers, the counts of all tenants, and limits."""
        return self.may(Scope.ADMIN) and self.tenant == OPERATOR

    def governs(self, tenant: str) -> bool:
        """Whether the key may manage the keys of a tenant."""
        return self.operates or (self.may(Scope.ADMIN) and self.tenant == tenant)


FIRST = Credential(FIRST_ID, FIRST_NAMES[0], OPERATOR, EVERY_SCOPE)
"""The operator's first key."""


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """The most that all jobs of a tenant may spend on a day. None: the settings' limit."""

    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None


def is_person(name: str | None) -> bool:
    """Whether an approver is a person, and not the service itself."""
    return name is not None and name not in ROLES


def sort_by_age(credentials: Iterable[Credential]) -> Sequence[Credential]:
    """Oldest first."""
    return sorted(credentials, key=lambda key: (key.created_at, key.id))


def new_secret() -> str:
    """A new secret. It is shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def new_id() -> str:
    """A new public id."""
    return secrets.token_hex(6)


def digest_secret(secret: str) -> str:
    """The digest under which a secret is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Signer:
    """The key that has signed an action."""

    name: str
    key_id: str = ""
    """'': unknown."""

    @property
    def identity_keys(self) -> frozenset[str]:
        """The identity keys of the signer: the id of its key, and its name, which a new key may
        have taken over."""
        key = {f"key:{self.key_id}"} if self.key_id else set()
        return frozenset({f"name:{self.name.lower()}", *key})

    @property
    def is_first_key(self) -> bool:
        """Whether the operator's first key has signed."""
        return self.key_id == FIRST_ID or (not self.key_id and self.name in FIRST_NAMES)
