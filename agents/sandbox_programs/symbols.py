"""Shows what source files define, for a prompt: the map of a repository, or outlines of files.

Standard input for the map: {"task", "bytes", "grammars"}, these as (module, function, query) by
the ending of a name. Standard output: the map, a line a file, the most relevant first; empty where
no file of a language that is known here defines anything.

Standard input for outlines: {"outline", "characters", "grammars"}: the paths, and the most
characters of each outline. Standard output: {path: outline}.

Parsers are C code that reads files of strangers. They run in a child, and what ends it costs one
file: the next child goes on after it.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Container

Grammar = tuple[str, str, str]
"""The module that has it, the function there, and the query for definitions."""

SECONDS = 10.0
FILE_SECONDS = 2.0
"""By the clock, for what hangs. What bounds the work is counted, so that a busy machine makes the
same map; it takes an idle one some 3 s at most.
"""
MOST_ENTRIES = 100_000
MOST_FILES = 1_500
MOST_BYTES = 8 << 20
FILE_BYTES = 256 << 10
LINE_SHOWN = 100
"""Bytes of a line in an outline."""
LINE_BYTES = 5_000
"""What begins with a longer line was written by a program."""
RESTARTS = 10
SYMBOLS = (16, 6)
"""Shown of each of the first `FIRST` files, and of each further one."""
FIRST = 10
MOST_PARTS = 20
"""Of a dotted name in the task."""
MOST_DEFINERS = 5
"""A name that more files define says little about which of them the task means."""
PASSED_OVER = {
    *("build", "dist", "env", "node_modules", "site-packages", "target", "third_party", "vendor"),
    *("venv", "__pycache__"),
}
NOT_TELLING = {
    *("add", "all", "also", "and", "any", "are", "because", "been", "bug", "but", "can"),
    *("change", "code", "does", "each", "error", "fail", "file", "fix", "for", "from", "get"),
    *("has", "have", "into", "its", "like", "make", "more", "must", "new", "not", "now"),
    *("only", "other", "same", "see", "set", "should", "some", "such", "than", "that", "the"),
    *("their", "then", "there", "these", "they", "this", "use", "used", "using", "was"),
    *("when", "where", "which", "while", "why", "will", "with", "wrong", "you"),
}
_WORD = re.compile(r"[^\W\d_]\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_PATH = re.compile(r"[\w./-]+")
_MARKED = re.compile(
    r"`([^`\n]{1,200})`|\b([^\W\d]\w{0,79})\(|\b(?:class|def|func|function) ([^\W\d]\w{0,79})"
)
"""Names that a text marks as code: in backticks, before a bracket, after a keyword."""
_NAME = re.compile(r"[^\W\d]\w{0,79}")
_ENDS = ("ing", "ed", "es", "s", "e")


@dataclass(frozen=True)
class Symbol:
    """A definition: its name, its line (from 1), and the name of what it is in, or nothing."""

    name: str
    line: int
    within: str = ""


@dataclass
class Source:
    """A file, what it defines, and the words in it that files define or the task says."""

    path: str
    symbols: list[Symbol] = field(default_factory=list)
    words: frozenset[str] = frozenset()


class Task:
    """What a task says that paths, names and texts of a repository can be compared with.

    `names_of_code` are the words that are names of code by their form, or that the text marks as
    code.
    """

    def __init__(self, text: str) -> None:
        self.words = frozenset(_WORD.findall(text))
        marked = (
            word for groups in _MARKED.findall(text) for word in _WORD.findall(" ".join(groups))
        )
        self.names_of_code = frozenset(filter(_is_code, self.words)).union(marked)
        self.stems = stems(text)
        self._paths: dict[str, list[list[str]]] = {}
        self._modules: set[str] = set()
        for said in dict.fromkeys(_PATH.findall(text)):
            parts = [part for part in said.rstrip(".").split("/") if part not in {"", "."}]
            if parts:
                self._paths.setdefault(parts[-1], []).append(parts)
            dots = said.strip(".").split(".")[:MOST_PARTS]
            self._modules.update(".".join(dots[:end]) for end in range(2, len(dots) + 1))

    def names(self, path: str) -> int:
        """How plainly it names a path: 2 with a directory, or as a module; 1 by its last part."""
        parts = path.split("/")
        said = self._paths.get(parts[-1], ())
        if any(len(parts) == 1 or each[-2:] == parts[-2:] for each in said):
            return 2
        dotted = path.rpartition(".")[0].split("/")
        modules = (".".join(dotted[start:]) for start in range(len(dotted) - 1))
        if any(each in self._modules for each in modules):
            return 2
        return int(any(len(each) == 1 for each in said))


def _is_code(word: str) -> bool:
    """Whether a word does not look like one of a sentence: `parse_date`, `Ledger`, `utf8`."""
    return word.lower() not in NOT_TELLING and not (word.isalpha() and word.islower())


def stems(text: str) -> frozenset[str]:
    """The parts of all words, in lower case and without the commonest endings: the same two of
    `ParsedDates` and `parse_date`.
    """
    parts = (part.lower() for part in _PART.findall(text))
    return frozenset(_stem(part) for part in parts if len(part) > 2 and part not in NOT_TELLING)


def _stem(word: str) -> str:
    for end in _ENDS:
        if word.endswith(end) and len(word) - len(end) > 2:
            return word[: -len(end)]
    return word


def is_test(path: str) -> bool:
    """Whether a path looks like a test's."""
    *folders, name = path.lower().split("/")
    return "test" in re.split(r"[._-]", name) or any(
        part in {"test", "tests", "spec", "specs", "__tests__"} for part in folders
    )


def chosen(sizes: dict[str, int], task: Task) -> list[str]:
    """The files that are looked into: of all that can be, those whose paths say most."""

    def order(path: str) -> tuple[float, ...]:
        said = len(task.stems & stems(path))
        return (-task.names(path), -said, is_test(path), path.count("/"))

    can_be = [path for path, size in sizes.items() if 0 < size <= FILE_BYTES]
    left, found = MOST_BYTES, []
    for path in sorted(can_be, key=lambda each: (order(each), each))[:MOST_FILES]:
        left -= sizes[path]
        if left < 0:
            break
        found.append(path)
    return found


def ranked(sources: list[Source], task: Task) -> list[tuple[Source, list[Symbol]]]:
    """The files, the most relevant first, each with its symbols in the same order."""
    defined = Counter(name for each in sources for name in {s.name for s in each.symbols})
    used = Counter(word for each in sources for word in each.words if word in defined)
    of_names = {name: stems(name) for name in defined}
    all_stems = {
        each.path: stems(each.path).union(*(of_names[s.name] for s in each.symbols))
        for each in sources
    }
    spread = Counter(stem for found in all_stems.values() for stem in found & task.stems)
    said = Counter(word for each in sources for word in each.words & task.words)

    def telling(count: int) -> float:
        return math.log(1 + len(sources) / count) if count else 0.0

    def fits(found: frozenset[str]) -> float:
        return sum(telling(spread[stem]) for stem in sorted(found & task.stems))

    def popular(name: str) -> float:
        return math.log1p(max(0, used[name] - defined[name]) / defined[name])

    def worth(symbol: Symbol) -> float:
        exact = 2 * telling(defined[symbol.name]) if symbol.name in task.words else 0.0
        return fits(of_names[symbol.name]) + exact

    def score(source: Source) -> float:
        best = sorted((worth(each) for each in source.symbols), reverse=True)[:3]
        known = sorted((popular(each.name) for each in source.symbols), reverse=True)[:3]
        text = sum(telling(said[word]) for word in sorted(source.words & task.words))
        found = 2 * fits(stems(source.path)) + sum(best) / 3 + 1.5 * text + sum(known) / 2
        return 20 * task.names(source.path) + found * (0.7 if is_test(source.path) else 1.0)

    def is_meant(source: Source) -> bool:
        """Whether the task names the file's path, or a name of code that few files define."""
        names = {symbol.name for symbol in source.symbols} & task.names_of_code
        return task.names(source.path) == 2 or any(defined[name] <= MOST_DEFINERS for name in names)

    scores = {each.path: (is_meant(each), score(each)) for each in sources}
    return [
        (each, sorted(each.symbols, key=lambda s: (-worth(s) - popular(s.name), s.line)))
        for each in sorted(
            sources, key=lambda each: (not scores[each.path][0], -scores[each.path][1], each.path)
        )
        if each.symbols or task.names(each.path)
    ]


def rendered(files: list[tuple[Source, list[Symbol]]], most: int) -> str:
    """The map in at most so many bytes: `path: name line, Class line (method line, ...)`."""
    lines: list[str] = []
    for number, (source, symbols) in enumerate(files):
        line = described(source.path, symbols, SYMBOLS[number >= FIRST])
        most -= len(line.encode()) + 1
        if most < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def described(path: str, symbols: list[Symbol], most: int) -> str:
    """One file's line: so `most` of its symbols, in the order of the file."""
    shown = sorted(symbols[:most], key=lambda each: each.line)
    lines = {each.name: f" {each.line}" for each in reversed(symbols) if not each.within}
    groups: dict[str, list[str]] = {}
    for each in shown:
        members = groups.setdefault(each.within or each.name, [])
        members += [f"{each.name} {each.line}"] if each.within else []
    texts = [
        name + lines.get(name, "") + (f" ({', '.join(members)})" if members else "")
        for name, members in groups.items()
    ]
    more = [f"and {len(symbols) - len(shown)} more"] if len(symbols) > len(shown) else []
    return f"{path}: {', '.join(texts + more)}" if texts else path


def listed(endings: Container[str], until: float) -> dict[str, int]:
    """The files below this directory whose names have such endings, sizes by path."""
    sizes: dict[str, int] = {}
    entries, folders = 0, [""]
    while folders and entries < MOST_ENTRIES and time.monotonic() < until:
        prefix = folders.pop(0)
        for entry in _entries(f"./{prefix}"):
            entries += 1
            name, path = entry.name, prefix + entry.name
            if name.startswith(".") or ".min." in name or not path.isprintable():
                continue
            if entry.is_dir(follow_symlinks=False):
                folders += [] if name in PASSED_OVER else [f"{path}/"]
            elif name.rpartition(".")[2] in endings and entry.is_file(follow_symlinks=False):
                sizes[path] = entry.stat(follow_symlinks=False).st_size
    return sizes


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda each: each.name)
    except OSError:
        return []


def read(path: str) -> bytes:
    """A text; nothing where it is none, or was written by a program."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(FILE_BYTES)
    except OSError:
        return b""
    made = len(data) > LINE_BYTES and b"\n" not in data[:LINE_BYTES]
    return b"" if made or b"\0" in data else data


def definitions(
    paths: list[str], grammars: dict[str, Grammar], until: float
) -> dict[str, list[Symbol]]:
    """What files define, by path, with the grammar of each ending. A file that ends its parser, or
    takes it too long, is left out.
    """
    found: dict[str, list[Symbol]] = {}
    first = 0  # of those that are left
    for _ in range(RESTARTS):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                with open(writing, "w") as out:  # noqa: PTH123
                    _parse(paths[first:], grammars, until, out)
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading, errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                if line.endswith("\n"):
                    found[paths[first]] = [Symbol(*each) for each in json.loads(line)]
                    first += 1
        os.waitpid(child, 0)
        first += 1  # what it has ended with
        if first >= len(paths) or time.monotonic() > until:
            break
    return found


def _parse(paths: list[str], grammars: dict[str, Grammar], until: float, out: TextIO) -> None:
    loaded: dict[str, Any] = {}
    for path in paths:
        left = until - time.monotonic()
        if left <= 0:
            return
        signal.setitimer(signal.ITIMER_REAL, min(FILE_SECONDS, left))  # its signal ends this child
        ending = path.rpartition(".")[2]
        if ending not in loaded:
            loaded[ending] = _loaded(*grammars[ending])
        symbols = _defined(loaded[ending], read(path)) if loaded[ending] else []
        out.write(json.dumps(symbols) + "\n")
        out.flush()


def _loaded(module: str, function: str, query: str) -> Any:
    """A parser and what finds definitions; None where this interpreter has no such grammar."""
    try:
        grammar = getattr(import_module(module), function)()
        tree_sitter = import_module("tree_sitter")
    except ImportError:
        return None
    language = tree_sitter.Language(grammar)
    return tree_sitter.Parser(language), tree_sitter.QueryCursor(tree_sitter.Query(language, query))


def _defined(loaded: Any, data: bytes) -> list[tuple[str, int, str]]:
    parser, cursor = loaded
    root = parser.parse(data).root_node
    nodes = []
    for _, captures in cursor.matches(root):
        name, whole = captures["name"][0], captures["def"][0]
        text = data[name.start_byte : name.end_byte].decode(errors="replace")
        if _NAME.fullmatch(text):
            nodes.append((whole.start_byte, -whole.end_byte, text, name.start_point[0] + 1))
    found: dict[tuple[str, str], int] = {}
    outer: list[tuple[int, str]] = []  # ends and names of what the next one may be in
    for start, minus_end, text, line in sorted(nodes):
        while outer and outer[-1][0] <= start:
            outer.pop()
        if len(outer) < 2:  # what a function has inside is its own affair
            within = outer[-1][1] if outer else ""
            found.setdefault((text, within), line)
        outer.append((-minus_end, text))
    return [(text, line, within) for (text, within), line in found.items()]


def outlines(paths: list[str], grammars: dict[str, Grammar], most: int) -> dict[str, str]:
    """The outline of each file that defines something, by path."""
    symbols_of = definitions(paths, grammars, time.monotonic() + SECONDS)
    return {
        path: outline(read(path), symbols, most) for path, symbols in symbols_of.items() if symbols
    }


def outline(data: bytes, symbols: list[Symbol], most: int) -> str:
    """The lines with definitions and their numbers, in about `most` characters. If there are too
    many, definitions within others are left out, and then the last ones.
    """
    lines = data.split(b"\n")
    texts = {
        symbol: f"{symbol.line}: {lines[symbol.line - 1][:LINE_SHOWN].decode(errors='replace')}"
        for symbol in symbols
    }
    listed = symbols
    if sum(len(texts[symbol]) + 1 for symbol in listed) > most:
        listed = [symbol for symbol in symbols if not symbol.within]
    while listed and sum(len(texts[symbol]) + 1 for symbol in listed) > most:
        listed = listed[:-1]
    more = [f"and {len(symbols) - len(listed)} more"] if len(listed) < len(symbols) else []
    return "\n".join([texts[symbol].rstrip() for symbol in listed] + more)


def made(task: Task, grammars: dict[str, Grammar], most: int) -> str:
    """The map of the directory that this runs in."""
    until = time.monotonic() + SECONDS
    paths = chosen(listed(grammars, until), task)
    found = definitions(paths, grammars, until)
    names = {each.name for symbols in found.values() for each in symbols}
    if not names:
        return ""
    known = task.words | names
    texts = ((path, read(path).decode(errors="replace")) for path in found)
    sources = [Source(path, found[path], known & set(_WORD.findall(text))) for path, text in texts]
    return rendered(ranked(sources, task), most)


def main() -> None:
    """Answer the request on standard input."""
    asked = json.load(sys.stdin)
    grammars = asked["grammars"]
    if "outline" in asked:
        json.dump(outlines(asked["outline"], grammars, asked["characters"]), sys.stdout)
    else:
        sys.stdout.write(made(Task(asked["task"]), grammars, asked["bytes"]))


if __name__ == "__main__":
    main()
