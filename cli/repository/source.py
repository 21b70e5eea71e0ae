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
class RepositorySource:
    """The repository of a request: the request's field `repo`, and the `bundle` that is sent with
    the request. The bundle does not have: `left_out` files (a number) that are changed or new and
    not committed, the `nested` repositories that git does not track, and changes in
    `submodules`."""

    repo: dict[str, str] | None = None
    bundle: bytes | None = None
    left_out: int = 0
    nested: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()


def find_source(
    address: str | None, ref: str | None, *, dirty: bool, follows_up: bool = False
) -> RepositorySource:
    """Find the repository. A job that follows up another one has its repository. Raises click's
    usage errors, and CliError if a directory cannot be bundled."""
    if address is None:
        if dirty or (ref is not None and not follows_up):
            name = "--dirty" if dirty else "--ref"
            raise click.UsageError(f"{name} needs a repository: --repo")
        return RepositorySource({"ref": ref} if ref else None)
    if "://" in address or (_LIKE_SCP.match(address) and not Path(address).is_dir()):
        if dirty:
            raise click.UsageError("--dirty needs a directory: a URL has no uncommitted changes")
        return RepositorySource({"url": address} | ({"ref": ref} if ref else {}))
    if not Path(address).is_dir():
        reason = f"{address} is neither a URL nor a directory"
        raise click.BadParameter(reason, param_hint=_HINT)
    if dirty and ref is not None:
        raise click.UsageError("--dirty adds to HEAD: leave out --ref")
    sent = bundle(Path(address), ref, dirty=dirty)
    if dirty:
        return RepositorySource(
            None,
            sent,
            nested=nested_repositories(Path(address)),
            submodules=changed_submodules(Path(address)),
        )
    return RepositorySource(None, sent, 0 if ref else not_committed(Path(address)))
