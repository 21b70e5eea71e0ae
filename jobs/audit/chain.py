"""The chain: each sealed entry is one line of JSON with the hash of the entry before. Pure.

The hash of an entry is SHA-256 over the bytes of its line up to `,"hash":`. It covers bytes, so any
program can check a line without a parser of JSON, and no byte of a line can change unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.audit.entries import NewEntry
from jobs.model.codec import dump, to_plain
from jobs.view.job import format_time

FIELDS: Mapping[str, type] = {
    "seq": int,
    "at": str,
    "tenant": str,
    "kind": str,
    "actor": dict,
    "data": dict,
    "prev": str,
    "hash": str,
}
"""The fields of a line, in their order, with their types. `seq` counts from 1. `at` is the time
(UTC) at which the entry was appended. `prev` is the hash of the entry before."""
_TYPE_NAMES = {int: "an integer", str: "a string", dict: "an object"}
FIRST_PREV = "0" * 64
"""The `prev` of the first entry."""
_LINE = re.compile(rb'(\{.+),"hash":"([0-9a-f]{64})"\}')


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a chain."""

    seq: int = 0
    """0: the chain has no entry."""
    hash: str = FIRST_PREV


def pending_body(entry: NewEntry) -> str:
    """An entry as it waits for the sealer."""
    return dump(to_plain({"kind": entry.kind, "actor": entry.actor, "data": entry.data}))


def seal_entries(
    head: Head, tenant: str, pending: Iterable[bytes]
) -> tuple[tuple[bytes, ...], Head]:
    """The lines of pending entries ("at body", `at` in ms) after `head`, and the new head."""
    lines = list[bytes]()
    for stored in pending:
        at, _, body = stored.partition(b" ")
        content = {
            "seq": head.seq + 1,
            "at": format_time(int(at)),
            "tenant": tenant,
            **json.loads(body),
            "prev": head.hash,
        }
        covered = dump(content).removesuffix("}").encode()
        digest = hashlib.sha256(covered).hexdigest()
        lines.append(b'%b,"hash":"%b"}' % (covered, digest.encode()))
        head = Head(head.seq + 1, digest)
    return tuple(lines), head


def read_line(line: bytes) -> dict[str, Any]:
    """The fields of a sealed entry, if its hash covers the line. Raises ValueError with the
    reason."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("it is not an entry of an audit log")
    covered, digest = match.groups()
    if hashlib.sha256(covered).hexdigest() != digest.decode():
        raise ValueError("its content does not have its hash")
    try:
        fields: dict[str, Any] = json.loads(line)
        sealed = dump(fields).encode()
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON, or is nested too deeply") from None
    if tuple(fields) != tuple(FIELDS):
        raise ValueError(f"its fields are not {', '.join(FIELDS)}")
    for name, kind in FIELDS.items():
        if type(fields[name]) is not kind:
            raise ValueError(f"its field {name} is not {_TYPE_NAMES[kind]}")
    if sealed != line:  # a field twice, or half of a surrogate pair
        raise ValueError("Fettle would write its fields as other bytes")
    return fields
