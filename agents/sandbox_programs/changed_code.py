"""Finds the functions that a job wrote or changed in Python files, and small changes of its code
(mutations). Reads JSON from standard input: {files: [{path, before, after}], seed, mutations,
functions}. `before` (or null) and `after` are the texts before and after the job; `mutations` and
`functions` are the largest numbers of each. Writes JSON:

    {functions: [{path, name, at, indent, line, end_line}],
     mutations: [{path, line, start, end, text, before, after}],
     with_code: [path]}

`at`, `start` and `end` are offsets in the UTF-8 bytes of the file. A statement inserted `at` begins
the function: on a line of its own with `indent`, or if that is null, before the statement on the
same line. `with_code` names the files in which the job changed statements outside functions.
"""

from __future__ import annotations

import ast
import bisect
import contextlib
import difflib
import json
import random
import re
import sys
from dataclasses import asdict, dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    Function = ast.FunctionDef | ast.AsyncFunctionDef

LINE_CHARACTERS = 200
_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
    "+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*",
    "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "//=": "*=", "%=": "*=", "**=": "*=",
    "&=": "|=", "|=": "&=", "and": "or", "or": "and",
}  # fmt: skip
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.And: "and", ast.Or: "or",
}  # fmt: skip
_LINE_END = re.compile(r"\r\n|\r|\n")
"""Python's line ends; `str.splitlines` splits at other characters, too."""
_REPORTS = frozenset({"log", "logger", "logging", "print", "warn", "warnings"})
"""Words in the names of calls that only report: no test has to notice such a call."""


@dataclass(frozen=True)
class Mutation:
    """The bytes from `start` to `end` become `text`; the line, from 1, before and after."""

    path: str
    line: int
    start: int
    end: int
    text: str
    before: str
    after: str


class ParsedFile:
    """A file: its bytes by line, its tree, and the lines that the job changed."""

    def __init__(self, path: str, before: str | None, after: str) -> None:
        self.path = path
        self.data = after.encode()
        self.tree = ast.parse(after.removeprefix("\ufeff"))
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.bom = 3 if after.startswith("\ufeff") else 0
        self.changed = _changed_lines(before, after)
        self.code_before = _code_by_name(before)

    def offset(self, line: int, column: int) -> int:
        """The offset in bytes of a line and column of the tree."""
        return self.starts[line - 1] + column + (self.bom if line == 1 else 0)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a node."""
        located: Any = node  # the type AST has no positions
        return (
            self.offset(located.lineno, located.col_offset),
            self.offset(located.end_lineno, located.end_col_offset),
        )

    def mutation(self, line: int, start: int, end: int, text: str) -> Mutation:
        """A mutation of the bytes from `start` to `end`, which begin on `line`."""
        first = self.starts[line - 1]
        last = self.starts[bisect.bisect_left(self.starts, end)]
        changed = self.data[first:start] + text.encode() + self.data[end:last]
        return Mutation(
            self.path,
            line,
            start,
            end,
            text,
            _first_line(self.data[first:last]),
            _first_line(changed),
        )


def _code_by_name(before: str | None) -> dict[str, list[str]]:
    """The code of each function of `before`; empty if it cannot be parsed."""
    code_by_name: dict[str, list[str]] = {}
    with contextlib.suppress(SyntaxError, ValueError):
        for name, function in functions_in(ast.parse((before or "").removeprefix("\ufeff"))):
            code_by_name.setdefault(name, []).append(_code(function))
    return code_by_name


def _code(function: Function) -> str:
    """A function without its comments, docstring, and the types of its parameters."""
    arguments = function.args
    names = [node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)]
    defaults = *arguments.defaults, *filter(None, arguments.kw_defaults)
    nodes = (*function.decorator_list, *defaults, *body_of(function))
    return "\n".join([type(function).__name__, *names, *map(ast.dump, nodes)])


def _changed_lines(before: str | None, after: str) -> set[int]:
    """The changed lines of `after`, from 1. For removed lines, the line after them counts."""
    old, new = (_LINE_END.split(text) for text in (before or "", after))
    if before is None:
        return set(range(1, len(new) + 1))
    changed = set[int]()
    for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            changed.update(range(start + 1, max(end, start + 1) + 1))
    return changed


def _first_line(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    first = text.splitlines()[0] if text else ""
    return (first + (" ..." if "\n" in text else ""))[:LINE_CHARACTERS]


def first_line(function: Function) -> int:
    """The line on which a function begins, decorators included."""
    return min([function.lineno, *(node.lineno for node in function.decorator_list)])


def functions_in(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """All functions with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
            yield from functions_in(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from functions_in(child, f"{prefix}{child.name}.")
        elif not _is_for_types(child):
            yield from functions_in(child, prefix)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _is_main(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and (isinstance(node.value.value, str) or node.value.value is ...)
    )


def body_of(function: Function) -> list[ast.stmt]:
    """The statements of a function that do something."""
    body = [node for node in function.body if not (_is_text(node) or isinstance(node, ast.Pass))]
    return [] if len(body) == 1 and _raises_not_implemented(body[0]) else body


def _raises_not_implemented(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == "NotImplementedError"
    return False


def changed_functions(source: ParsedFile) -> list[tuple[str, Function]]:
    """The innermost function around each changed line, if its code differs. A comment, a docstring
    or the type of a parameter is not code."""
    all_functions = list(functions_in(source.tree))
    owner: dict[int, int] = {}
    for number, (_, function) in enumerate(all_functions):  # inner functions come later
        for line in range(first_line(function), (function.end_lineno or function.lineno) + 1):
            owner[line] = number
    changed = {owner[line] for line in source.changed if line in owner}
    candidates = [all_functions[number] for number in sorted(changed)]
    return [
        (name, function)
        for name, function in candidates
        if _code(function) not in source.code_before.get(name, ())
    ]


def describe(source: ParsedFile, name: str, function: Function) -> dict[str, Any] | None:
    """The record of a function; None if it has no statement that does something."""
    body = body_of(function)
    if not body:
        return None
    statement: Any = body[0]
    decorators = getattr(statement, "decorator_list", ())
    line = min([statement.lineno, *(node.lineno for node in decorators)])
    start = source.offset(line, 0)
    indent = re.match(rb"[ \t\x0c]*", source.data[start:])
    width = len(indent.group()) if indent else 0
    alone = decorators or width == statement.col_offset
    return {
        "path": source.path,
        "name": name,
        "at": start if alone else source.offset(line, statement.col_offset),
        "indent": source.data[start : start + width].decode() if alone else None,
        "line": first_line(function),
        "end_line": function.end_lineno,
    }


class Mutator:
    """Collects the mutations of a file."""

    def __init__(self, source: ParsedFile) -> None:
        self.source = source
        self.mutations: list[Mutation] = []

    def add(self, node: ast.AST, text: str) -> None:
        """Add a mutation that replaces a node."""
        located: Any = node
        self.mutations.append(self.source.mutation(located.lineno, *self.source.span(node), text))

    def between(self, first: ast.AST, second: ast.AST, operator: type[ast.AST]) -> None:
        """Add a mutation of the operator between two nodes."""
        self.token(first, second, _SYMBOLS.get(operator, ""))

    def token(self, first: ast.AST, second: ast.AST, symbol: str) -> None:
        """Add a mutation of the only `symbol` between two nodes."""
        if symbol not in _OPERATORS:
            return
        start, end = self.source.span(first)[1], self.source.span(second)[0]
        gap = self.source.data[start:end]
        if gap.count(symbol.encode()) == 1 and b"#" not in gap:
            at = start + gap.index(symbol.encode())
            line = bisect.bisect_right(self.source.starts, at)
            to = at + len(symbol)
            self.mutations.append(self.source.mutation(line, at, to, _OPERATORS[symbol]))

    def visit(self, node: ast.AST) -> None:
        """Collect the mutations of a node and of the nodes in it."""
        if _is_left_out(node):
            return
        self._mutate_statement(node)
        self._mutate_expression(node)
        for part in _parts(node):
            self.visit(part)

    def _mutate_statement(self, node: ast.AST) -> None:
        match node:
            case ast.If() | ast.While():
                self._negate(node.test)
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                self.add(value, "None")
            case ast.AugAssign():
                self.token(node.target, node.value, f"{_SYMBOLS.get(type(node.op), '@')}=")
                self.add(node, "pass")
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.Delete() | ast.Raise():
                self.add(node, "pass")
            case ast.Break() | ast.Continue():
                self.add(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                self.add(node, "pass")

    def _mutate_expression(self, node: ast.AST) -> None:
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for first, operator, second in zip(sides, node.ops, sides[1:], strict=False):
                    self.between(first, second, type(operator))
            case ast.BinOp() if not _is_formatting(node):
                self.between(node.left, node.right, type(node.op))
            case ast.BoolOp():
                for first, second in zip(node.values, node.values[1:], strict=False):
                    self.between(first, second, type(node.op))
            case ast.IfExp(test=test) | ast.comprehension(ifs=[test, *_]):
                self._negate(test)
            case ast.UnaryOp(op=ast.Not()):
                start, end = self.source.span(node.operand)
                self.add(node, f"({self.source.data[start:end].decode()})")
            case ast.Constant():
                self._constant(node)

    def _negate(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Constant | ast.NamedExpr):
            start, end = self.source.span(test)
            self.add(test, f"(not ({self.source.data[start:end].decode()}))")

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(node, str(not value))
        elif isinstance(value, int | float):
            self.add(node, repr(value + 1))
        elif isinstance(value, str):
            self.add(node, "''" if value else "'mutated'")


def _is_left_out(node: ast.AST) -> bool:
    """Whether a node has no mutation that tests should notice. Positions in an f-string are wrong
    before Python 3.12."""
    match node:
        case ast.Expr():
            return _is_text(node) or _reports(node.value)
        case ast.If():
            return _is_for_types(node) or _is_main(node)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.startswith("__")
    return isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert)


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """The nodes in a node, without annotations and decorators, and without the text of an error."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return *node.args.defaults, *filter(None, node.args.kw_defaults), *node.body
        case ast.ClassDef():
            return node.body
        case ast.AnnAssign():
            return () if node.value is None else (node.value,)
        case ast.Raise():
            return ()
    return ast.iter_child_nodes(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_formatting(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr)


def _reports(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    words = ast.unparse(node.func).lower().split(".")
    return not _REPORTS.isdisjoint(word.strip("_") for word in words)


def has_code(source: ParsedFile) -> bool:
    """Whether the job changed a statement outside functions that does more than import."""
    inside = {
        line
        for _, function in functions_in(source.tree)
        for line in range(first_line(function), (function.end_lineno or 0) + 1)
    }
    return any(
        not inside.issuperset(lines := range(node.lineno, (node.end_lineno or node.lineno) + 1))
        and not source.changed.isdisjoint(lines)
        for node in _statements(source.tree)
    )


def _statements(node: ast.Module | ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements of a module and its classes, without definitions, imports and texts."""
    for child in node.body:
        match child:
            case ast.ClassDef():
                yield from _statements(child)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Pass() | ast.Assign(targets=[ast.Name(id="__all__")]):
                pass
            case ast.If() if _is_for_types(child) or _is_main(child):
                pass
            case _ if not _is_text(child):
                yield child


def mutations_of(source: ParsedFile, functions: Sequence[tuple[str, Function]]) -> list[Mutation]:
    """The mutations of changed lines, and of the other lines of changed functions."""
    mutator = Mutator(source)
    for statement in source.tree.body:
        mutator.visit(statement)
    lines = set(source.changed)
    for _, function in functions:
        lines.update(range(first_line(function), (function.end_lineno or 0) + 1))
    return [mutation for mutation in mutator.mutations if mutation.line in lines]


def draw(
    mutations: Sequence[Mutation], changed: set[tuple[str, int]], seed: str, most: int
) -> list[Mutation]:
    """At most `most` mutations, in random order: mutations of changed lines first, and one mutation
    of each line before a second one of any line."""
    shuffled = list(mutations)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - a fixed draw, no secret
    counts: dict[tuple[str, int], int] = {}
    ranked = []
    for number, mutation in enumerate(shuffled):
        line = mutation.path, mutation.line
        counts[line] = counts.get(line, 0) + 1
        ranked.append((line not in changed, counts[line], number))
    return [shuffled[number] for *_, number in sorted(ranked)[:most]]


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    functions: list[dict[str, Any]] = []
    mutations: list[Mutation] = []
    with_code, changed = [], set[tuple[str, int]]()
    for file in request["files"]:
        try:
            source = ParsedFile(file["path"], file["before"], file["after"])
            changed_here = changed_functions(source)
            records = [describe(source, name, function) for name, function in changed_here]
            new_mutations, is_with_code = mutations_of(source, changed_here), has_code(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        functions += filter(None, records)
        mutations += new_mutations
        changed |= {(source.path, line) for line in source.changed}
        if is_with_code:
            with_code.append(source.path)
    chosen = draw(mutations, changed, request["seed"], request["mutations"])
    answer = {
        "functions": functions[: request["functions"]],
        "mutations": [asdict(mutation) for mutation in chosen],
        "with_code": with_code,
    }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
