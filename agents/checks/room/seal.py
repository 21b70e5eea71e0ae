"""Seal: whether what the judge has noted down in the tested process is still there.

Its objects can be reached from pytest's configuration, and whoever empties the list of what is
compared is not found out by comparing. So a seal is put on them twice: when they are made, and when
the tests are collected. What comes later may be added; nothing may go, nor be exchanged. What a
seal holds is in the local variables of a generator that is at rest: no attribute leads to them.
"""

from __future__ import annotations

import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    _Note = tuple[str, Mapping[Any, Any], object, object, tuple[object, ...]]
    """Where, the names there, one of them, what it stands for, what that consists of."""

_IS = operator.is_
_AT_WORK = frozenset({"_reports", "_number", "_left"})
_BY_PYTEST = frozenset({"_codes", "_cases", "_hooks", "_plugins"})
"""What is noted down once the session has begun."""
_ANEW = frozenset({"loaded", "_runs"})
"""Modules by name, which checks may load once more."""
_LIVE = frozenset({"_loaded"})
"""The interpreter's own list of modules: it is in its place, and anybody's to change."""


def sealed(
    keepers: Sequence[object], seen: Callable[[], Sequence[Mapping[Any, Any]]]
) -> Iterator[list[str]]:
    """To be asked three times: when `keepers` are made, when the tests are collected, at the end,
    which is answered by what is broken. `seen` are more notes, of what was loaded by the second.
    """
    notes = list(_notes(keepers, _AT_WORK | _BY_PYTEST))
    first = tuple(notes)
    yield []
    second = (*_notes(keepers, _AT_WORK), *(_note("names", {"": each}, "") for each in seen()))
    names = tuple((type(each).__name__, vars(each), len(vars(each))) for each in keepers)
    yield []
    broken = [note[0] for note in (*first, *second) if not _holds(note)]
    broken += [name for name, now, count in names if len(now) != count]
    yield list(dict.fromkeys(broken))


def _notes(keepers: Sequence[object], without: frozenset[str]) -> Iterator[_Note]:
    for each in keepers:
        for name in sorted(vars(each).keys() - without):
            yield _note(f"{type(each).__name__}.{name}", vars(each), name)


def _note(where: str, names: Mapping[Any, Any], name: str) -> _Note:
    value = names[name]
    return where, names, name, value, _parts(value, name)


def _parts(value: Any, name: str) -> tuple[object, ...]:
    if name in _LIVE:
        return ()
    if type(value) is dict:
        return (*value, *(() if name in _ANEW else value.values()))
    return tuple(value) if type(value) is list else ()


def _holds(note: _Note) -> bool:
    _, names, name, was, parts = note
    now: Any = names.get(name)
    if not _IS(now, was):
        return False
    if type(now) is not dict:
        return not parts or (len(now) >= len(parts) and all(map(_IS, parts, now)))
    if name in _ANEW:
        return all(key in now for key in parts)
    half = len(parts) // 2
    return all(now.get(key) is each for key, each in zip(parts[:half], parts[half:], strict=True))
