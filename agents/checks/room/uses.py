"""Uses: where the names of the checks' sources occur, in any scope of any file, and which of them
are reached in other ways than by their names. Pure.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch

from agents.checks.room.meanings import dotted, meanings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PARAMETRIZE = "pytest.mark.parametrize"
TESTS = ("test_*", "*_test", "conftest")
"""Modules that are there for pytest alone."""
_BEHIND = frozenset(
    {
        *("globals", "locals", "vars", "eval", "exec", "modules", "getmembers"),
        *("__dict__", "__setattr__", "__getattribute__", "__globals__", "__self__"),
        *("callspec", "funcargs", "get_closest_marker", "iter_markers", "own_markers"),
    }
)
"""Where a source has one of these, its names do not tell what it reaches."""
_BY_NAME = ("getattr", "attrgetter", "delattr")
_PATH = re.compile(r"[\w.:\[\]]+")
_CODE = re.compile(
    r"""
    ^[ \t]*(?:>>>|\.\.\.)\ .*          # an example, as doctest runs it
    | \bimport\s*\([^()]*\)            # the names that are imported, by `timeit` and the like
    | \bimport\b[^\n;]*
    | \b\w+(?:\.\w+)+ | \b\w+(?=\[)    # where something is reached from a name
    """,
    re.MULTILINE | re.VERBOSE,
)
"""What names something in a text that may be run; the full stop behind a word does not."""
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Uses:
    """`up` has the node above each, `stored` the attributes that are set somewhere, `defined` the
    names of functions, classes and parameters. Where the sources are `blind`, no name tells all.
    """

    def __init__(self, trees: Sequence[ast.AST]) -> None:
        self.up: dict[ast.AST, ast.AST] = {}
        self.stored: set[str] = set()
        self.defined: set[str] = set()
        self.blind = False
        self._known = _merged(trees)
        self._loads: dict[str, list[ast.AST]] = {}
        self._spoilt: set[str] = set()
        for tree in trees:
            for node in ast.walk(tree):
                self.up |= dict.fromkeys(ast.iter_child_nodes(node), node)
                self._take(node)

    def of(self, name: str) -> list[ast.AST] | None:
        """Where its value is taken; None where it may be elsewhere too."""
        return None if self.blind or name in self._spoilt else self._loads.get(name, [])

    def named(self, node: ast.AST) -> str:
        """The whole name that an expression is by the imports; of what is defined here nothing."""
        name = dotted(node, self._known)
        root = name.partition(".")[0]
        hidden = root in self.defined or ("*" in self._known and root != "pytest")
        return "" if hidden else name

    def imported(self, name: str) -> bool:
        """Whether it may stand for something from elsewhere, or is bound anew."""
        return name in self._known or "*" in self._known

    def called(self, node: ast.AST) -> str:
        """The whole name of what is called; of no call nothing."""
        return self.named(node.func) if isinstance(node, ast.Call) else ""

    def _take(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if isinstance(node.ctx, ast.Load):
                    self._loads.setdefault(name, []).append(node)
                    self.blind |= name == "pytestmark"
                elif isinstance(node, ast.Attribute):
                    self.stored.add(name)
                self.blind |= name in _BEHIND or (name in _BY_NAME and not self._says(node))
                self.blind |= name == "setattr" and isinstance(node, ast.Name)
            case ast.AugAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                self._spoilt.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.defined.add(node.name)
            case ast.arg(arg=name):
                self.defined.add(name)
            case ast.alias(name=name):
                last = name.rpartition(".")[2]
                self.blind |= last in _BEHIND or any(fnmatch(last, each) for each in TESTS)
                if node.asname not in (None, name):
                    self._spoilt.add(name)
            case ast.Constant(value=str(text)):
                self._said(node, text)

    def _says(self, node: ast.AST) -> bool:
        """Whether a call says by a text which attribute it is after: others are worked out."""
        up = self.up.get(node)
        if not isinstance(up, ast.Call) or up.func is not node:
            return False
        return any(isinstance(each, ast.Constant) for each in up.args[:2])

    def _said(self, node: ast.Constant, text: str) -> None:
        """A name may be meant by a text, as in `patch.dict("test_a.TABLE")`, but for parameters,
        or by code in it, as in `timeit("TABLE.append(1)", "from __main__ import TABLE")`.
        """
        call = self._parametrized(node)
        if call is not None and call.args and node in _parts(call.args[0]):
            return
        if _PATH.fullmatch(text):
            words = re.findall(r"\w+", text)
            self._spoilt.update(words)
            self.blind |= any(word.startswith("__") and word in _BEHIND for word in words)
        elif call is None:  # what is tested may well look like code
            self._spoilt.update(re.findall(r"\w+", " ".join(_CODE.findall(text))))

    def _parametrized(self, node: ast.AST) -> ast.Call | None:
        """The call of `parametrize` in an argument of which it is."""
        while (above := self.up.get(node)) is not None:
            if isinstance(above, ast.Call) and dotted(above.func, self._known) == PARAMETRIZE:
                return above
            node = above
        return None


def _parts(names: ast.expr) -> Sequence[ast.expr]:
    return names.elts if isinstance(names, ast.List | ast.Tuple) else [names]


def _merged(trees: Iterable[ast.AST]) -> dict[str, str]:
    """What names mean in all of them alike."""
    found: dict[str, str] = {}
    for tree in trees:
        for name, meaning in meanings(tree).items():
            found[name] = meaning if found.get(name, meaning) == meaning else ""
    return found
