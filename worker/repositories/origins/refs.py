"""Names of branches, tags and commits, as a job may give them. Pure."""

from __future__ import annotations

import re
from typing import Final, NewType, TypeGuard

from worker.repositories.errors import RepositoryRefused

COMMIT: Final = re.compile(r"[0-9a-f]{40}")
HEX: Final = re.compile(r"[0-9a-f]{7,40}")
HEAD: Final = "HEAD"
LONGEST = 200
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-./]|[./]$|^@$")
"""What `git check-ref-format` refuses, and names that look like an option."""


FullName = NewType("FullName", str)
"""A full name of a ref that git allows. Git gets no other names of refs from outside: an end of a
line, NUL or a leading dash would be a command or an option to it."""


def is_full_name(name: str) -> TypeGuard[FullName]:
    """Whether git takes this as the full name of a ref (`git check-ref-format`)."""
    return name.startswith("refs/") and not _FORBIDDEN.search(name)


def candidates(ref: str | None) -> tuple[str, ...]:
    """The full names that a ref may stand for, the first one first; None: HEAD.

    Raises RepositoryRefused for what can be no name of a branch, a tag or a commit.
    """
    if ref is None or ref == HEAD:
        return (HEAD,)
    if not ref or len(ref) > LONGEST or _FORBIDDEN.search(ref) or not ref.isprintable():
        raise RepositoryRefused(f"{ref[:80]!r} is no name of a branch, a tag or a commit")
    if ref.startswith("refs/"):
        return (ref,)
    return (f"refs/heads/{ref}", f"refs/tags/{ref}")
