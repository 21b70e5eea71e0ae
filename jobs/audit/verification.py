"""Verification of an exported log: each entry, their order, gaps, signatures. Pure, offline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from jobs.audit.chain import FIRST_PREV, Head, read_line
from jobs.audit.entries import EntryKind
from jobs.audit.signing import HeadClaim, is_signed
from jobs.errors import JobsError


class LogBroken(JobsError):
    """The log was changed, or entries are missing."""


@dataclass(frozen=True, slots=True)
class VerifiedLog:
    """The result for an unchanged log."""

    tenant: str
    first_seq: int
    head: Head
    """The last entry. A log without its last entries also verifies, unless the caller knows one of
    them."""
    signed_seq: int
    """The log up to this entry is signed. 0: no part of the log is signed by one of the keys."""
    removed_at: str = ""
    """The time (ISO 8601) of the entry that records that retention removed the entries before the
    first entry. The removed entries are not verified. '': the log begins with entry 1, or after the
    entry with `previous_hash`."""


def verify_log(
    lines: Iterable[bytes],
    *,
    previous_hash: str | None = None,
    known_hash: str | None = None,
    keys: Sequence[Ed25519PublicKey] = (),
) -> VerifiedLog:
    """Verify the lines of a log. Each line ends with a line feed.

    A log begins with entry 1, or after an entry that the log itself records as removed by its
    retention, or after the entry with `previous_hash`. The log must have the entry with
    `known_hash`. With `keys`, every signed head must be signed by one of them, and the log must
    have a signed head, after the record of a removal: a person who controls Redis can write such a
    record. Raises LogBroken.
    """
    verifier = _Verifier()
    for number, line in enumerate(lines, start=1):
        try:
            verifier.add(line)
        except ValueError as error:
            raise LogBroken(f"line {number}: {error}") from None
    try:
        verifier.check_extent(previous_hash, known_hash)
        return verifier.check_signatures(keys)
    except ValueError as error:
        raise LogBroken(str(error)) from None


class _Verifier:
    """The entries so far. The methods raise ValueError with the reason."""

    def __init__(self) -> None:
        self._tenant = ""
        self._head = Head()
        self._hashes = list[str]()
        """The `prev` of the first entry, then the hash of each entry."""
        self._signed_heads = list[Mapping[str, Any]]()
        self._removals = dict[Head, tuple[int, str]]()
        """The last entries that the log's retention has removed, each with the number and the time
        of the first record of the removal."""
        self._removal = (0, "")
        """The record of the removal of the entries before the first entry, if the log needs one."""

    def add(self, line: bytes) -> None:
        """Check the next entry."""
        if not line.endswith(b"\n"):
            raise ValueError("its end is missing")
        entry = read_line(line[:-1])
        seq, prev = entry["seq"], entry["prev"]
        if not self._hashes:
            self._tenant = entry["tenant"]
            self._hashes.append(prev)
            if seq < 1 or (seq == 1) != (prev == FIRST_PREV):
                raise ValueError("it is not the beginning of a log")
        elif entry["tenant"] != self._tenant:
            raise ValueError(f"it belongs to the log of another tenant than {self._tenant}")
        elif seq != self._head.seq + 1:
            raise ValueError(f"entry {seq} follows entry {self._head.seq}")
        elif prev != self._head.hash:
            raise ValueError(f"entry {seq} was written after another entry {seq - 1}")
        self._head = Head(seq, entry["hash"])
        self._hashes.append(entry["hash"])
        if entry["kind"] == EntryKind.HEAD_SIGNED:
            self._signed_heads.append(entry["data"])
        if entry["kind"] == EntryKind.LOG_TRIMMED:
            self._removals.setdefault(_head_in(entry["data"]), (seq, entry["at"]))

    @property
    def _first_seq(self) -> int:
        return self._head.seq - len(self._hashes) + 2

    def check_extent(self, previous_hash: str | None, known_hash: str | None) -> None:
        """Check the beginning of the log, and that it has an entry that the caller knows."""
        if not self._hashes:
            raise ValueError("there is no entry")
        first_seq = self._first_seq
        before = Head(first_seq - 1, self._hashes[0])
        if previous_hash is not None and before.hash != previous_hash:
            raise ValueError(f"the entry before entry {first_seq} has another hash than you named")
        if previous_hash is None and first_seq > 1:
            if before not in self._removals:
                missing = "entry 1 is" if first_seq == 2 else f"entries 1 to {first_seq - 1} are"
                raise ValueError(f"{missing} missing")
            self._removal = self._removals[before]
        if known_hash is not None and known_hash not in self._hashes[1:]:
            raise ValueError(f"no entry has the hash {known_hash}")

    def check_signatures(self, keys: Sequence[Ed25519PublicKey]) -> VerifiedLog:
        """Check the signed heads."""
        signed_seqs = [self._check_signed_head(data, keys) for data in self._signed_heads]
        if keys and not signed_seqs:
            raise ValueError("there is no signed head")
        signed_seq = max(signed_seqs, default=0) if keys else 0
        removal_seq, removed_at = self._removal
        if keys and signed_seq < removal_seq:
            last = self._first_seq - 1
            raise ValueError(
                f"entry {removal_seq} says that retention removed the entries up to {last}, and no "
                f"signed head is after it: export the log again after the next signature, or name "
                f"the hash of entry {last}, if you have an older export"
            )
        return VerifiedLog(self._tenant, self._first_seq, self._head, signed_seq, removed_at)

    def _check_signed_head(self, data: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]) -> int:
        """The number of the entry that is signed."""
        head = _head_in(data)
        position = head.seq - self._first_seq + 1
        if position >= len(self._hashes) or (position >= 0 and self._hashes[position] != head.hash):
            raise ValueError(f"the signed entry {head.seq} is another entry")
        claim = HeadClaim(self._tenant, str(data.get("day")), head)
        if keys and not is_signed(claim, str(data.get("signature")), keys):
            raise ValueError(f"no key that you named has signed entry {head.seq}")
        return head.seq


def _head_in(data: Mapping[str, Any]) -> Head:
    """The head that the data of an entry names."""
    seq, digest = data.get("seq"), data.get("hash")
    if type(seq) is not int or not isinstance(digest, str):
        raise ValueError("its data names no entry")
    return Head(seq, digest)
