"""An unchanged log verifies, and every change, gap and other order is detected."""

from __future__ import annotations

import hashlib
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jobs.audit.chain import FIRST_PREV, Head, pending_body, seal_entries
from jobs.audit.entries import RETENTION, WORKER, Actor, EntryKind, NewEntry
from jobs.audit.signing import (
    AuditKeyUnfit,
    HeadClaim,
    read_private_key,
    read_public_key,
    sign_claim,
)
from jobs.audit.verification import LogBroken, verify_log
from jobs.model.codec import dump

KEY = Ed25519PrivateKey.generate()
ADA = Actor("ada", "k1", "Ada Lovelace")
DAY = "2026-11-27"


EMPTY = Head()


def log_of(*entries: NewEntry, head: Head = EMPTY, tenant: str = "acme") -> list[bytes]:
    """The lines of these entries."""
    pending = [
        b"%d %b" % (1_700_000_000_000 + number, pending_body(entry).encode())
        for number, entry in enumerate(entries)
    ]
    lines, _ = seal_entries(head, tenant, pending)
    return [line + b"\n" for line in lines]


def decided(text: str = "fine", tenant: str = "acme") -> NewEntry:
    data = {"job_id": "j1", "digest": "ab" * 32, "feedback": text, "override": True}
    return NewEntry(tenant, EntryKind.DECIDED, ADA, data)


def head_of(lines: list[bytes]) -> Head:
    last = json.loads(lines[-1])
    return Head(last["seq"], last["hash"])


def signed_by(key: Ed25519PrivateKey, lines: list[bytes], tenant: str = "acme") -> list[bytes]:
    """The log with an entry that signs its head."""
    data = sign_claim(key, HeadClaim(tenant, DAY, head_of(lines)))
    entry = NewEntry(tenant, EntryKind.HEAD_SIGNED, WORKER, data)
    return [*lines, *log_of(entry, head=head_of(lines), tenant=tenant)]


LOG = log_of(decided("one"), decided('two "quoted", ünïcode, \n a line'), decided("\ud800"))


def test_an_unchanged_log_verifies() -> None:
    log = verify_log(LOG)
    assert (log.tenant, log.first_seq, log.head, log.signed_seq) == ("acme", 1, head_of(LOG), 0)
    entry = json.loads(LOG[0])
    assert (entry["seq"], entry["at"], entry["kind"]) == (1, "2023-11-14T22:13:20.000Z", "decided")
    assert entry["actor"] == {"name": "ada", "key_id": "k1", "person": "Ada Lovelace"}
    assert (entry["data"]["feedback"], entry["prev"]) == ("one", FIRST_PREV)


def test_any_program_can_check_a_hash() -> None:
    covered, _, rest = LOG[1].partition(b',"hash":"')
    assert rest == hashlib.sha256(covered).hexdigest().encode() + b'"}\n'
    assert json.loads(LOG[1])["prev"] == json.loads(LOG[0])["hash"]


@pytest.mark.parametrize("change", [1, 0x20, 0x80], ids=["low bit", "case bit", "high bit"])
def test_a_change_of_any_byte_is_detected(change: int) -> None:
    content = b"".join(LOG)
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= change
        with pytest.raises(LogBroken):
            verify_log(bytes(changed).splitlines(keepends=True))


def test_an_inserted_or_removed_byte_is_detected() -> None:
    content = b"".join(LOG)
    for position in range(len(content) + 1):
        for changed in (
            content[:position] + b" " + content[position:],
            content[:position] + b"\n" + content[position:],
            content[:position] + content[position + 1 :],
        ):
            if changed == content:
                continue
            with pytest.raises(LogBroken):
                verify_log(changed.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "there is no entry"),
        ([LOG[0], LOG[2]], "line 2: entry 3 follows entry 1"),
        ([LOG[0], LOG[2], LOG[1]], "line 2: entry 3 follows entry 1"),
        ([LOG[0], LOG[1], LOG[1]], "line 3: entry 2 follows entry 2"),
        (LOG[1:], "^entry 1 is missing"),
        ([LOG[0], b"\n", LOG[1]], "line 2: it is not an entry"),
        (
            [LOG[0], *log_of(decided("forged"), head=Head(1, "0" * 64))],
            "line 2: entry 2 was written after another entry 1",
        ),
        (
            [LOG[0], *log_of(decided(), head=head_of(LOG[:1]), tenant="other")],
            "line 2: it belongs to the log of another tenant than acme",
        ),
    ],
    ids=["empty", "gap", "order", "twice", "beginning", "blank", "replaced", "tenant"],
)
def test_gaps_order_and_replaced_entries_are_detected(lines: list[bytes], reason: str) -> None:
    with pytest.raises(LogBroken, match=reason):
        verify_log(lines)


def test_a_line_with_a_valid_hash_needs_the_fields_of_an_entry() -> None:
    for covered in (b'{"seq":1,"seq":1', b'{"seq":1'):
        with pytest.raises(LogBroken, match="line 1: its fields are not seq, at, tenant"):
            verify_log([hashed(covered)])
    for covered in (b"{]", b'{"data":' + b"[" * 200_000):
        with pytest.raises(LogBroken, match="line 1: it is not JSON, or is nested too deeply"):
            verify_log([hashed(covered)])


def hashed(covered: bytes) -> bytes:
    """A line with these bytes and their hash."""
    return b'%b,"hash":"%b"}\n' % (covered, hashlib.sha256(covered).hexdigest().encode())


@pytest.mark.parametrize(
    ("name", "value", "type_name"),
    [
        ("seq", "1", "an integer"),
        ("seq", True, "an integer"),
        ("at", 7, "a string"),
        ("tenant", ["acme"], "a string"),
        ("kind", {}, "a string"),
        ("actor", "ada", "an object"),
        ("data", [], "an object"),
        ("prev", None, "a string"),
    ],
)
def test_each_field_has_its_type(name: str, value: object, type_name: str) -> None:
    covered = dump({**json.loads(LOG[0]), name: value}).encode()[:-75]
    with pytest.raises(LogBroken, match=f"line 1: its field {name} is not {type_name}"):
        verify_log([hashed(covered)])


@pytest.mark.parametrize(
    ("written", "changed"),
    [(b'"acme"', b'"\\ud800"'), (b'"acme"', b'"\xed\xa0\x80"'), (b'"job_id"', b'"digest"')],
    ids=["half of a pair", "half of a pair in UTF-8", "a field of the data twice"],
)
def test_bytes_that_a_sealer_does_not_write_are_detected(written: bytes, changed: bytes) -> None:
    covered = LOG[0][:-76].replace(written, changed)
    with pytest.raises(LogBroken, match="line 1: Fettle would write its fields as other bytes"):
        verify_log([hashed(covered)])


def test_an_entry_of_the_log_that_names_a_head_names_its_hash() -> None:
    for kind in (EntryKind.HEAD_SIGNED, EntryKind.LOG_TRIMMED):
        entry = NewEntry("acme", kind, WORKER, {"seq": 1, "hash": ["x"]})
        with pytest.raises(LogBroken, match="its data names no entry"):
            verify_log(log_of(entry))


def test_a_part_of_a_log_needs_the_hash_before_it() -> None:
    before = head_of(LOG[:1]).hash
    assert verify_log(LOG[1:], previous_hash=before).first_seq == 2
    with pytest.raises(LogBroken, match="the entry before entry 2 has another hash"):
        verify_log(LOG[1:], previous_hash="f" * 64)


def test_missing_last_entries_are_detected_by_a_known_head() -> None:
    known_hash = head_of(LOG).hash
    longer = [*LOG, *log_of(decided(), head=head_of(LOG))]
    assert verify_log(longer, known_hash=known_hash).head.seq == 4
    with pytest.raises(LogBroken, match="no entry has the hash"):
        verify_log(LOG[:2], known_hash=known_hash)


def test_a_log_may_begin_after_entries_that_retention_has_removed() -> None:
    removed = head_of(LOG[:1])
    data = {"seq": removed.seq, "hash": removed.hash}
    entry = NewEntry("acme", EntryKind.LOG_TRIMMED, RETENTION, data)
    trimmed = [*LOG, *log_of(entry, head=head_of(LOG))]
    assert verify_log(trimmed[1:]).first_seq == 2
    with pytest.raises(LogBroken, match="entries 1 to 2 are missing"):
        verify_log(trimmed[2:])


def test_a_signed_log_does_not_take_a_removal_that_no_signed_head_covers() -> None:
    """A person who controls Redis deletes entry 1, and appends a record of its removal."""
    removed, signed = head_of(LOG[:1]), signed_by(KEY, LOG)
    data = {"seq": removed.seq, "hash": removed.hash}
    entry = NewEntry("acme", EntryKind.LOG_TRIMMED, RETENTION, data)
    forged = [*signed, *log_of(entry, head=head_of(signed))]
    keys, known_hash = [KEY.public_key()], head_of(LOG).hash
    with pytest.raises(LogBroken, match="entry 5 says that retention removed the entries up to 1,"):
        verify_log(forged[1:], known_hash=known_hash, keys=keys)
    signed_later = verify_log(signed_by(KEY, forged)[1:], keys=keys)
    for log in (signed_later, verify_log(forged[1:])):
        assert log.removed_at == json.loads(forged[-1])["at"]
    complete = verify_log(forged, keys=keys)
    part = verify_log(forged[1:], previous_hash=removed.hash, keys=keys)
    assert (complete.removed_at, part.removed_at) == ("", "")


def test_signed_heads_are_checked_with_the_key_of_the_operator() -> None:
    public, other_key = KEY.public_key(), Ed25519PrivateKey.generate()
    signed = signed_by(KEY, LOG)
    assert verify_log(signed, keys=[public]).signed_seq == 3
    assert verify_log(signed, keys=[other_key.public_key(), public]).signed_seq == 3
    assert verify_log(signed).signed_seq == 0, "without a key no signature is checked"
    with pytest.raises(LogBroken, match="no key that you named has signed entry 3"):
        verify_log(signed_by(other_key, LOG), keys=[public])
    with pytest.raises(LogBroken, match="there is no signed head"):
        verify_log(LOG, keys=[public])


def test_a_log_that_was_written_again_has_no_valid_signature() -> None:
    """A person who controls Redis changes an entry, and gives all later entries valid hashes."""
    signature = json.loads(signed_by(KEY, LOG)[-1])["data"]
    forged = log_of(decided("forged"), decided("two"), decided("three"))
    with pytest.raises(LogBroken, match="the signed entry 3 is another entry"):
        verify_log(
            [*forged, *_append(forged, signature)],
            keys=[KEY.public_key()],
        )
    claim = {**signature, "hash": head_of(forged).hash}
    with pytest.raises(LogBroken, match="has signed entry 3"):
        verify_log([*forged, *_append(forged, claim)], keys=[KEY.public_key()])
    for changed in ({"day": "2026-11-28"}, {"signature": "x"}, {"signature": None}):
        with pytest.raises(LogBroken, match="has signed entry 3"):
            verify_log([*LOG, *_append(LOG, {**signature, **changed})], keys=[KEY.public_key()])
    with pytest.raises(LogBroken, match="the signed entry 9 is another entry"):
        verify_log([*LOG, *_append(LOG, {**signature, "seq": 9})], keys=[KEY.public_key()])
    other = signed_by(KEY, log_of(decided(), tenant="other"), tenant="other")
    moved = log_of(decided())
    with pytest.raises(LogBroken):
        verify_log(
            [*moved, *_append(moved, json.loads(other[-1])["data"])], keys=[KEY.public_key()]
        )


def _append(lines: list[bytes], data: dict[str, object]) -> list[bytes]:
    entry = NewEntry("acme", EntryKind.HEAD_SIGNED, WORKER, data)
    return log_of(entry, head=head_of(lines))


def test_only_ed25519_keys_sign() -> None:
    private = KEY.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert read_private_key(private).private_bytes_raw() == KEY.private_bytes_raw()
    assert read_public_key(public) == KEY.public_key()
    other_kind = generate_private_key(SECP256R1())
    other_private = other_kind.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(AuditKeyUnfit, match="another kind than Ed25519"):
        read_private_key(other_private)
    with pytest.raises(AuditKeyUnfit, match="not a private key"):
        read_private_key(public)
    with pytest.raises(AuditKeyUnfit, match="not a public key"):
        read_public_key(private)
