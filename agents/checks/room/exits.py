"""Exits: whether it was the checks themselves that called for an exit, and nothing of the solution.

A file name says nothing: the solution may compile a text under any. So frames are known by their
code objects, which nobody can make a second time, and the place of the exit by the checks' source.
"""

from __future__ import annotations

import ast
import gc
from itertools import islice
from types import CodeType, FunctionType

from agents.checks.room.meanings import dotted, meanings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType, TracebackType

    from agents.checks.room.sources import Sources

_CALLED = frozenset(
    {
        *("sys.exit", "exit", "quit", "builtins.exit", "builtins.quit"),
        *("unittest.main", "unittest.TestProgram"),
    }
)
_RAISED = frozenset({"SystemExit", "builtins.SystemExit"})


class Exits:
    """Made before the solution can be imported: what is loaded by then is known."""

    def __init__(self, sources: Sources) -> None:
        gc.unfreeze()  # a room's interpreter may be one that was made ready and frozen
        functions = (each for each in gc.get_objects() if type(each) is FunctionType)
        self._known = [function.__code__ for function in functions]
        self._checks = list(sources.codes())
        self._places = {path: set(_exits(text)) for path, text in sources.texts.items()}

    def own(self, end: SystemExit) -> bool:
        """Whether only the checks and known libraries stood on the stack, and the last place of
        the checks there is one that calls for an exit, itself or by a library.
        """
        own, known = _by_id(self._checks), _by_id(self._known)
        stack = list(_stack(end.__traceback__))
        if len({id(frame) for frame, _ in stack}) < len(stack):  # put together by hand
            return False
        codes = [(frame.f_code, instruction) for frame, instruction in stack]
        if any(id(code) not in own and id(code) not in known for code, _ in codes):
            return False
        mine = [(code, instruction) for code, instruction in codes if id(code) in own]
        if not mine:
            return False
        code, instruction = mine[-1]
        return _place(code, instruction) in self._places.get(code.co_filename, ())


def is_success(code: object) -> bool:
    """Whether an interpreter would end with 0. What an object says of itself does not count."""
    return code is None or (issubclass(type(code), int) and int.__eq__(code, 0))  # type: ignore[operator]


def _by_id(codes: Iterable[CodeType]) -> dict[int, CodeType]:
    """Them and the code within them."""
    found: dict[int, CodeType] = {}
    ahead = list(codes)
    while ahead:
        code = ahead.pop()
        if id(code) not in found:
            found[id(code)] = code
            ahead += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


def _stack(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lasti
        traceback = traceback.tb_next


def _place(code: CodeType, instruction: int) -> tuple[int | None, ...]:
    """Where in its source an instruction stands: line, column, and both of its end."""
    line, end_line, column, end_column = next(
        islice(code.co_positions(), instruction // 2, None), (None, None, None, None)
    )
    return line, column, end_line, end_column


def _exits(text: str) -> Iterator[tuple[int | None, ...]]:
    """The places where a source calls or raises what ends a script."""
    tree = ast.parse(text)
    known = meanings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = dotted(node.func, known) in _CALLED
        elif isinstance(node, ast.Raise):
            found = dotted(getattr(node.exc, "func", node.exc), known) in _RAISED
        else:
            continue
        if not found:
            continue
        end = node.end_lineno, node.end_col_offset
        yield node.lineno, node.col_offset, *end
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func  # where an interpreter has the call of a method begin, on another line
            yield name.end_lineno, (name.end_col_offset or 0) - len(name.attr), *end
