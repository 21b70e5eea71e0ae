"""Records and events in their stored form.

A record is a hash. Scripts compare `status`, `version`, `epoch` and `ends_by`, and fenced writes
change `progress_epoch`, `workspace`, `continues` and `graph`, so these are separate fields.
`due_at` is a field too, because it moves without a new version: a heartbeat extends a lease, or a
job becomes the first of its line. `spec`, of which only the labels change, is one JSON field
without the values that are the defaults of `JobSpec`. `state` has all other fields as JSON.

Several releases run at the same time while a fleet is upgraded, so each ignores unknown fields. A
value that an older release must not drop when it writes the record is a separate field of the hash,
as `graph`, `authors` and `messages` are.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from jobs.model.credentials import Signer
from jobs.model.events import Event, NewEvent
from jobs.model.record import Continuation, GraphFormat, JobRecord
from jobs.model.spec import JobSpec

_SPEC = TypeAdapter(JobSpec)
_RECORD = TypeAdapter(JobRecord)

_OWN_FIELDS = (
    "spec",
    "status",
    "version",
    "epoch",
    "due_at",
    "progress_epoch",
    "workspace",
    "continues",
    "start",
    "graph",
    "authors",
    "messages",
    "ends_by",
    "once",
)
PACKED_MARK = b"z"
"""The first byte of a compressed body. JSON begins with a brace."""


def dump(value: Any, *, in_order: bool = False) -> str:
    """Compact JSON, without escapes for letters outside ASCII. `in_order`: keys are sorted.

    Models write halves of surrogate pairs, which UTF-8 cannot encode. They become U+FFFD.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=in_order)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def record_fields(record: JobRecord, *, new: bool = False) -> dict[str, str]:
    """The fields of a record's hash. The spec is among them only if the record is new:
    `Records.relabel` writes its labels."""
    state = {
        field.name: getattr(record, field.name)
        for field in dataclasses.fields(record)
        if field.name not in _OWN_FIELDS
    }
    fields = {
        "status": str(record.status),
        "version": str(record.version),
        "epoch": str(record.epoch),
        "due_at": str(record.due_at),
        "state": dump(to_plain(state)),
        "authors": dump([[author.name, author.key_id] for author in record.authors]),
        "messages": dump(list(record.messages)),
        "ends_by": str(record.ends_by or ""),
    }
    if new:
        spec = _SPEC.dump_python(record.spec, mode="json", exclude_defaults=True)
        fields["spec"] = dump(spec)
        fields["workspace"] = record.workspace or ""
        fields["continues"] = continuation_field(record.continues) if record.continues else ""
        fields["start"] = record.start or ""
        fields["progress_epoch"] = str(record.progress_epoch)
        fields["graph"] = str(record.graph or "")
        fields["once"] = record.once
    return fields


def read_messages(field: str | bytes | None) -> list[str]:
    """The field `messages` of a record's hash, which records of older releases lack."""
    entries: list[str] = json.loads(field or "[]")
    return entries


def continuation_field(continuation: Continuation) -> str:
    """The field `continues` of a record's hash."""
    return dump(to_plain(continuation))


def read_record(fields: Mapping[str, str]) -> JobRecord:
    """The record in a hash. Fields of newer releases are ignored."""
    state = json.loads(fields["state"])
    if state["lease"]:
        state["lease"]["until"] = fields["due_at"]
    compared = {
        name: fields[name] for name in ("status", "version", "epoch", "due_at", "progress_epoch")
    }
    return _RECORD.validate_python(
        {
            **state,
            **compared,
            "spec": json.loads(fields["spec"]),
            "workspace": fields["workspace"] or None,
            "continues": json.loads(fields.get("continues") or "null"),
            "start": fields.get("start") or None,
            "graph": GraphFormat.parse(fields["graph"]) if fields["graph"] else None,
            "once": fields["once"],
            "ends_by": fields["ends_by"] or None,
            "messages": read_messages(fields.get("messages")),
            "authors": [Signer(*author) for author in json.loads(fields["authors"])],
        }
    )


def spec_to_json(spec: JobSpec) -> dict[str, Any]:
    """The plain form of a spec."""
    plain: dict[str, Any] = _SPEC.dump_python(spec, mode="json")
    return plain


def event_body(event: NewEvent, epoch: int | None = None) -> str:
    """The stored body of an event. `epoch`: of the attempt that reports it."""
    of_attempt = {} if epoch is None else {"epoch": epoch}
    return dump({"kind": event.kind, **of_attempt, "data": to_plain(event.data)})


def read_event(seq: int, stored: bytes) -> Event:
    """The event with the number `seq` (from 1), from its stored form."""
    at, _, body = stored.partition(b" ")
    content = json.loads(unpack_body(body))
    kind, data = content["kind"], content["data"]
    return Event(seq=seq, at=int(at), kind=kind, data=data, epoch=content.get("epoch"))


def read_message(message: str) -> list[Event]:
    """The events in a message of a job's channel: the first number, then one event a line."""
    first, *stored = message.split("\n")
    return [read_event(int(first) + i, line.encode()) for i, line in enumerate(stored)]


def to_plain(value: Any) -> Any:
    """A value of dataclasses, mappings and sequences as JSON has it: objects and lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


def pack_event(stored: bytes) -> bytes | None:
    """A stored event ("at body"), compressed; None if that does not make it smaller."""
    at, _, body = stored.partition(b" ")
    if body.startswith(PACKED_MARK):
        return None
    smaller = b" ".join((at, PACKED_MARK + zlib.compress(body)))
    return smaller if len(smaller) < len(stored) else None


def unpack_body(body: bytes) -> bytes:
    """The body of an event, packed or not."""
    return zlib.decompress(body[len(PACKED_MARK) :]) if body.startswith(PACKED_MARK) else body
