"""Joins the pieces of a streamed value that is no plain text. Pure.

A list comes as pieces of its items: pieces with the same `type` and `index` belong to one item, as
OpenRouter documents for `reasoning_details`. Without an index, an item ends with its signature or
its data, and only the first item of a list can go on with an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LABELS = ("type", "index", "id", "format", "name", "role")
"""They name an item, and are the same in all its pieces. All other texts are joined."""
_ENDS = ("signature", "data")


def joined(known: Any, piece: Any) -> Any:
    """`known`, or None, with the next piece. Values that have no pieces are replaced."""
    if isinstance(piece, list) and isinstance(known, list | None):
        items = list(known or ())
        for number, item in enumerate(piece):
            if items and _continues(items[-1], item, is_first=number == 0):
                items[-1] = _joined_item(items[-1], item)
            else:
                items.append(item)
        return items
    if isinstance(known, dict) and isinstance(piece, dict):
        return {**known, **{name: joined(known.get(name), piece[name]) for name in piece}}
    return known if piece is None else piece


def _continues(item: Any, piece: Any, *, is_first: bool) -> bool:
    """Whether `piece` belongs to `item`, the one before it. `is_first`: it begins its list."""
    if not (isinstance(item, dict) and isinstance(piece, dict)):
        return False
    if any(_differ(item.get(name), piece.get(name)) for name in ("type", "index", "id")):
        return False
    if piece.get("index") is not None:
        return True
    return is_first and not any(item.get(name) for name in _ENDS)


def _differ(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one != other


def _joined_item(item: Mapping[str, Any], piece: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(item)
    for name, value in piece.items():
        known = merged.get(name)
        if isinstance(known, str) and isinstance(value, str) and name not in _LABELS:
            merged[name] = known + value
        else:
            merged[name] = joined(known, value)
    return merged
