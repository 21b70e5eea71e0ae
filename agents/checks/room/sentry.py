"""Sentry: what the tested process may not ask of its interpreter once the solution can be imported.

A walk of the garbage collector's lists, or of another thread's stack, leads any code to what
reports the tests, and what traces a test can lead it past its assertions. An audit hook cannot be
taken out again. (Freezing the objects would be no wall: the solution could thaw them, and pytest
makes more of them later.)
"""

from __future__ import annotations

import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_DENIED = (
    *("gc.get_objects", "gc.get_referrers", "gc.get_referents"),
    *("sys._current_frames", "sys._current_exceptions"),
    *("sys.settrace", "sys.setprofile", "sys.monitoring.register_callback"),
)
_SET = ("object.__setattr__", "object.__delattr__")


def post(own: Iterable[types.ModuleType]) -> None:
    """Deny it from now on, in this process and its forks. `own` are the judge's modules."""
    sys.settrace = without(sys.settrace)
    sys.addaudithook(hook(own))


def without(settrace: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same for who wants no trace: there is none, so nothing is to be done. doctest and pdb ask
    for that when they are done; the hook is not told what is asked for. What is returned has no
    way to the judge's names.
    """

    def set_trace(function: Any) -> None:
        if function is not None:
            settrace(function)

    return types.FunctionType(set_trace.__code__, {}, "settrace", None, set_trace.__closure__)


def hook(own: Iterable[types.ModuleType]) -> Callable[[str, tuple[Any, ...]], None]:
    """The audit hook. It raises RuntimeError for what is denied, and uses no name that could be
    given another meaning later.
    """
    ours = frozenset(id(vars(module)) for module in own)
    denied, setting, error = frozenset(_DENIED), frozenset(_SET), RuntimeError
    kind, number, function = isinstance, id, types.FunctionType

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event in denied:
            raise error(event + " is not to be had where checks are run")
        if event in setting and kind(given[0], function) and number(given[0].__globals__) in ours:
            raise error("the judge's own functions cannot be changed")

    return hear
