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
TENANT = r"^[a-z0-9][a-z0-9_-]{0,62}$"
"""The name of a tenant. It has no colon, since tenants are parts of Redis' keys."""
PREFIX = "fettle_"
FIRST_ID = "configured"
"""The id of the operator's first key, which the environment sets."""
FIRST_NAMES = ("operator", "development")
"""Its name in production, and in development."""
ROLES = frozenset({"critic", "rules", "executor", "planner", EXPIRY})
"""The names that sign the service's own actions."""
RESERVED = ROLES | set(FIRST_NAMES)
"""Names that no key and no person may have: the service's own roles, and the first key."""


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
    """The name of the key that made this key, which another key may have later."""
    revoked_at: int | None = None
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    person: str = ""
    """The person to whom the key belongs: for good. Without one, the key's name."""
    created_by_key: str = ""
    """The id of the key that made this key; '' if an older release has recorded it."""

    def __post_init__(self) -> None:
        """Set the person of a key without one: a person with the name of the key."""
        if not self.person:
            object.__setattr__(self, "person", self.name)

    @property
    def signer(self) -> Signer:
        """The name and the id that sign actions with the key."""
        return Signer(self.name, self.id)

    @property
    def active(self) -> bool:
        """Whether the key is still valid."""
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


FIRST = Credential(FIRST_ID, FIRST_NAMES[0], OPERATOR, EVERY_SCOPE)
"""The operator's first key."""


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """What all jobs of a tenant together may spend on a day; None: as the settings say."""

    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None


def is_person(name: str | None) -> bool:
    """Whether an approval's name is a person's, and not of the service itself."""
    return name is not None and name not in ROLES


def sort_by_age(credentials: Iterable[Credential]) -> Sequence[Credential]:
    """Oldest first."""
    return sorted(credentials, key=lambda kept: (kept.created_at, kept.id))


def new_secret() -> str:
    """A secret that is shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def new_id() -> str:
    """An id that may be shown anywhere."""
    return secrets.token_hex(6)


def digest_secret(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Signer:
    """The name of a key that has done something, and its id; '' if an older release has not
    recorded it."""

    name: str
    key_id: str = ""

    @property
    def identity_keys(self) -> frozenset[str]:
        """By these, a job is known to be one's own: by the key's id, and by the name, which a new
        key may have taken over."""
        key = {f"key:{self.key_id}"} if self.key_id else set()
        return frozenset({f"name:{self.name.lower()}", *key})

    @property
    def is_first_key(self) -> bool:
        """Whether the operator's first key has signed."""
        return self.key_id == FIRST_ID or (not self.key_id and self.name in FIRST_NAMES)
