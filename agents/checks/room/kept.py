"""Kept: what of a table stays as it is, since it is only read. Pure."""

from __future__ import annotations

from functools import reduce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Kept: TypeAlias = "bool | tuple[Kept, ...] | Each"
    """All of it (True); nothing, it may change (False); else its own members stay what they are,
    and of these what `Each` says, or of a row what is said for each of its places.
    """


class Each:
    """Of each member the same."""

    def __init__(self, of: Kept) -> None:
        self.of = of


def every(kept: Iterable[Kept]) -> Kept:
    """What stays of something that is used in several ways."""
    whole: Kept = True
    return reduce(_both, kept, whole)


def of_copied(copy: Kept) -> Kept:
    """What stays of something of whose copy `copy` does: the copy may change, not this."""
    return Each(False) if copy is False else copy


def _both(one: Kept, other: Kept) -> Kept:
    if isinstance(one, bool):
        return one and other
    if isinstance(other, bool):
        return other and one
    if isinstance(one, Each):
        if isinstance(other, Each):
            return Each(_both(one.of, other.of))
        return tuple(_both(one.of, each) for each in other)
    if isinstance(other, Each):
        return _both(other, one)
    return tuple(map(_both, one, other)) if len(one) == len(other) else Each(False)
