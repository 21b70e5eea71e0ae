"""Seal: whether what the judge has noted down in the tested process is still there.

Its objects can be reached from pytest's configuration, and whoever empties the list of what is
compared, or exchanges what compares, is not found out by comparing. So a seal is put on them twice:
when they are made, and when the tests are collected. What comes later may be added; nothing may go,
nor be exchanged. What a seal holds is in the local variables of a generator that is at rest: no
attribute leads to them.
"""

from __future__ import annotations

import operator
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from agents.checks.room.guard import Entry

_IS, _FUNCTION = operator.is_, types.FunctionType
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
    holds = _holds  # bound now: another may be put in its place
    wholes = tuple((each, type(each), vars(each), len(vars(each))) for each in keepers)
    first = (*_notes(keepers, _AT_WORK | _BY_PYTEST), *_ways(keepers))
    yield []
    second = (*_notes(keepers, _AT_WORK), *(_note("names", {"": each}, "") for each in seen()))
    yield []
    broken = [note[0] for note in (*first, *second) if not holds(note)]
    for each, kind, names, count in wholes:
        if type(each) is not kind or vars(each) is not names or len(names) != count:
            broken.append(kind.__name__)
    yield list(dict.fromkeys(broken))


def _notes(keepers: Sequence[object], without: frozenset[str]) -> Iterator[Entry]:
    for each in keepers:
        for name in sorted(vars(each).keys() - without):
            yield _note(f"{type(each).__name__}.{name}", vars(each), name)


def _ways(keepers: Sequence[object]) -> Iterator[Entry]:
    """The functions that they work with: who compares is not found out by comparing, either."""
    for kind in dict.fromkeys(map(type, keepers)):
        own: Mapping[str, Any] = vars(kind)
        for where, names in ((kind.__name__, own), (kind.__module__, own["__init__"].__globals__)):
            for name, value in names.items():
                if type(value) is _FUNCTION:
                    yield f"{where}.{name}", names, name, value, ()


def _note(where: str, names: Mapping[Any, Any], name: str) -> Entry:
    value = names[name]
    return where, names, name, value, _parts(value, name)


def _parts(value: Any, name: str) -> tuple[object, ...]:
    if name in _LIVE:
        return ()
    if type(value) is dict:
        return (*value, *(() if name in _ANEW else value.values()))
    return tuple(value) if type(value) is list else ()


def _holds(note: Entry) -> bool:
    _, names, name, was, parts = note
    if names.get(name) is not was:
        return False
    now: Any = was
    if type(now) is not dict:
        return not parts or (len(now) >= len(parts) and all(map(_IS, parts, now)))
    if name in _ANEW:
        return all(key in now for key in parts)
    half = len(parts) // 2
    return all(now.get(key) is each for key, each in zip(parts[:half], parts[half:], strict=True))
