"""Signatures over the head of a log, by an Ed25519 key of the operator.

A person who controls Redis could write another log with valid hashes. The person cannot sign it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from jobs.audit.chain import Head
from jobs.errors import JobsError


class AuditKeyUnfit(JobsError):
    """A file does not contain an Ed25519 key."""


@dataclass(frozen=True, slots=True)
class HeadClaim:
    """The content of a signature: on this day, the log of this tenant had this head."""

    tenant: str
    day: str
    """UTC, as 2026-11-27."""
    head: Head

    def to_bytes(self) -> bytes:
        """The bytes that are signed: five lines."""
        lines = ("fettle audit head", self.tenant, self.day, str(self.head.seq), self.head.hash)
        return "".join(f"{line}\n" for line in lines).encode()


def read_private_key(pem: bytes) -> Ed25519PrivateKey:
    """The private key in a PEM file without a password. Raises AuditKeyUnfit."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AuditKeyUnfit(f"it is not a private key in PEM without a password: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise AuditKeyUnfit("it is a private key of another kind than Ed25519")
    return key


def read_public_key(pem: bytes) -> Ed25519PublicKey:
    """The public key in a PEM file. Raises AuditKeyUnfit."""
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise AuditKeyUnfit(f"it is not a public key in PEM: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise AuditKeyUnfit("it is a public key of another kind than Ed25519")
    return key


def sign_claim(key: Ed25519PrivateKey, claim: HeadClaim) -> dict[str, Any]:
    """The data of an entry `head_signed`: the claim, its signature and the public key (base64)."""
    return {
        "day": claim.day,
        "seq": claim.head.seq,
        "hash": claim.head.hash,
        "signature": base64.b64encode(key.sign(claim.to_bytes())).decode(),
        "public_key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
    }


def is_signed(claim: HeadClaim, signature: str, keys: Sequence[Ed25519PublicKey]) -> bool:
    """Whether one of the keys has signed the claim."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    for key in keys:
        try:
            key.verify(raw, claim.to_bytes())
        except InvalidSignature:
            continue
        return True
    return False
