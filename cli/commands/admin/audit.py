"""`fettle audit`: list and export the audit log, and verify an export offline."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from api.http.foreign_text import visible_path
from api.quantities import plural
from cli.context import open_service
from cli.errors import CliError, of_system
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.render.texts import printable
from jobs.audit.signing import AuditKeyUnfit, read_public_key
from jobs.audit.verification import LogBroken, VerifiedLog, verify_log
from jobs.blobs import atomic_write


def tenant_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that names the log."""
    return click.option("--tenant", metavar="NAME", help="Whose log; else your key's own tenant.")(
        command
    )


@click.group()
def audit_command() -> None:
    """List, export and verify the audit log.

    Listing and exporting need a key with the scope `admin`; verifying needs only the file.
    """


@audit_command.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@tenant_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_obj
def list_entries(
    flags: Mapping[str, Any], /, *, limit: int, tenant: str | None, as_json: bool
) -> None:
    """List the newest entries, oldest first."""
    with open_service(flags) as service:
        newest = service.audit_head(tenant)["seq"]
        query = {"tenant": tenant, "after": max(newest - limit, 0)}
        entries = [service.audit_entry(line) for line in service.audit_lines(query)]
    if as_json:
        for entry in entries:
            print_json(entry)
    else:
        Screen().rows(("SEQ", "TIME", "KIND", "ACTOR", "DATA"), map(_row, entries))


@audit_command.command()
@click.option("--from", "start", metavar="TIME", help="The first time, such as 2026-11-01.")
@click.option("--to", "end", metavar="TIME", help="The time after the last; default: now.")
@click.option(
    "--after", metavar="N", type=click.IntRange(0), default=0, help="Entries after number N only."
)
@tenant_option
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; default: stdout.",
)
@click.pass_obj
def export(
    flags: Mapping[str, Any],
    /,
    *,
    start: str | None,
    end: str | None,
    after: int,
    tenant: str | None,
    output: Path | None,
) -> None:
    """Export the log as JSON lines, oldest entry first, with unchanged bytes.

    A FILE gets the complete export in one step, and only you can read it. If the export fails or
    has no entry, an existing FILE stays as it is.
    """
    query = {"from": start, "to": end, "after": after, "tenant": tenant}
    with open_service(flags) as service:
        lines = service.audit_lines(query)
        if output is None:
            sys.stdout.buffer.writelines(lines)
        else:
            _write_export(output, lines)


@audit_command.command()
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--key",
    "key_files",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The operator's public key (PEM): every signed head must be signed by it. May be given "
    "again, if the operator has changed the key.",
)
@click.option(
    "--prev", "previous_hash", metavar="HASH", help="The hash of the entry before the first entry."
)
@click.option(
    "--head",
    "known_hash",
    metavar="HASH",
    help="The hash of an entry that the log must have, such as a head that you noted.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(
    files: tuple[Path, ...],
    *,
    key_files: tuple[Path, ...],
    previous_hash: str | None,
    known_hash: str | None,
    as_json: bool,
) -> None:
    """Verify exported logs offline: each entry, their order, gaps, and the signed heads.

    Several files count as one log, in the order in which you name them. Exit code 1: the log was
    changed, or is incomplete.
    """
    keys = [_public_key(path) for path in key_files]
    try:
        log = verify_log(
            _read_lines(files), previous_hash=previous_hash, known_hash=known_hash, keys=keys
        )
    except LogBroken as error:
        reason = visible_path(error)
        raise CliError("the log was changed, or is incomplete", reason) from None
    _report(log, signatures=bool(keys), as_json=as_json)


def _write_export(path: Path, lines: Iterator[bytes]) -> None:
    first = next(lines, None)
    if first is None:
        raise CliError("there is no entry to export", f"{path} was not written")
    lines = itertools.chain((first,), lines)
    if path.exists() and not path.is_file():  # a pipe or a device, such as /dev/stdout
        with path.open("wb") as file:
            file.writelines(lines)
        return
    try:
        atomic_write.write_parts(path.resolve(), lines)
    except OSError as error:  # names the temporary file
        raise of_system(OSError(error.errno, error.strerror, str(path))) from None


def _read_lines(files: Iterable[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as file:
            yield from file


def _public_key(path: Path) -> Ed25519PublicKey:
    try:
        return read_public_key(path.read_bytes())
    except AuditKeyUnfit as error:
        step = "`openssl pkey -in PRIVATE_KEY -pubout` prints the public key"
        raise CliError(f"{path} is not the public key of a log", str(error), step) from None


def _report(log: VerifiedLog, *, signatures: bool, as_json: bool) -> None:
    if as_json:
        head = {"seq": log.head.seq, "hash": log.head.hash}
        signed = log.signed_seq if signatures else None
        first = {"tenant": log.tenant, "first_seq": log.first_seq}
        removed_at = log.removed_at or None
        print_json({**first, **head, "signed_seq": signed, "removed_at": removed_at})
        return
    screen = Screen()
    count = log.head.seq - log.first_seq + 1
    tenant = visible_path(log.tenant)  # on one line: a line feed could begin a false result
    screen.line("verified", f"{plural(count, 'entry', 'entries')} of tenant {tenant}", Tone.GOOD)
    if log.removed_at:
        removed = f"entries 1 to {log.first_seq - 1} were removed by retention at {log.removed_at}"
        screen.line("removed", f"{removed}, as the log says: they are not verified", Tone.WARN)
    screen.line("entries", f"{log.first_seq} to {log.head.seq}")
    screen.line("head", log.head.hash)
    if signatures:
        screen.line("signed", f"up to entry {log.signed_seq}")


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(entry["seq"]),
        entry["at"],
        entry["kind"],
        printable(_render_actor(entry["actor"])),
        _render_data(entry["data"].items()),
    )


def _render_actor(actor: Mapping[str, str]) -> str:
    """`Ada (ada-laptop, key 5f2c)`. A part of Fettle has no key, but a key may have its name."""
    person, key_id = actor.get("person") or actor["name"], actor.get("key_id")
    names = [actor["name"]] if person != actor["name"] else []
    details = ", ".join([*names, *([f"key {key_id}"] if key_id else [])])
    return f"{person} ({details})" if details else person


def _render_data(pairs: Iterable[tuple[str, Any]]) -> str:
    """The data of an entry in one line, without empty values."""
    texts = (f"{name}={json.dumps(value)}" for name, value in pairs if value not in (None, "", []))
    return printable(" ".join(texts))
