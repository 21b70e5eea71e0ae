"""The repository that `--repo` names: an address that a worker fetches, or a directory that is
sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click

from cli.repository.bundle import bundle, changed_submodules, nested_repositories, not_committed

_HINT = "--repo"
_LIKE_SCP = re.compile(r"[\w.-]+@[\w.-]+:.")


@dataclass(frozen=True, slots=True)
class Source:
    """The repository of a request: the request's field `repo`, and the `bundle` that is sent with
    the request. The bundle does not have: `left_out` files (a number) that are changed or new and
    not committed, the `nested` repositories that git does not track, and changes in
    `submodules`."""

    repo: dict[str, str] | None = None
    bundle: bytes | None = None
    left_out: int = 0
    nested: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()


def source(where: str | None, ref: str | None, *, dirty: bool) -> Source:
    """Raises click's usage errors; CliError where a directory cannot be bundled."""
    if where is None:
        if ref is not None or dirty:
            name = "--dirty" if dirty else "--ref"
            raise click.UsageError(f"{name} wants the repository that it is about: --repo")
        return Source()
    if "://" in where or (_LIKE_SCP.match(where) and not Path(where).is_dir()):
        if dirty:
            raise click.UsageError("--dirty is about a directory: a URL has no uncommitted changes")
        return Source({"url": where} | ({"ref": ref} if ref else {}))
    if not Path(where).is_dir():
        why = f"{where} is no URL, and there is no such directory"
        raise click.BadParameter(why, param_hint=_HINT)
    if dirty and ref is not None:
        raise click.UsageError("--dirty adds to HEAD: it goes without --ref")
    sent = bundle(Path(where), ref, dirty=dirty)
    if dirty:
        return Source(
            None,
            sent,
            nested=nested_repositories(Path(where)),
            submodules=changed_submodules(Path(where)),
        )
    return Source(None, sent, 0 if ref else not_committed(Path(where)))
