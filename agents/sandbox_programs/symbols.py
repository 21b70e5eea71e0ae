"""Lists the definitions in source files for a prompt: a map of a repository, or outlines of files.

Standard input for the map: {"task", "bytes", "grammars"}. The grammars are (module, function,
query) by file ending. Standard output: the map, one line for each file, the most relevant file
first. It is empty if no file of a supported language defines anything.

Standard input for outlines: {"outline", "characters", "grammars"}: the paths, and the largest
number of characters of each outline. Standard output: {path: outline}.

Parsers are C code, and the files are untrusted. So a child process parses them. If a file ends the
child, only this file is left out: the next child continues after it.
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
"""The module of the grammar, the function in it, and the query for definitions."""

SECONDS = 10.0
FILE_SECONDS = 2.0
"""Time limits for a parser that hangs. Counts bound the usual work, so that a busy machine makes
the same map; an idle machine needs some 3 s at most.
"""
MOST_ENTRIES = 100_000
MOST_FILES = 1_500
MOST_BYTES = 8 << 20
FILE_BYTES = 256 << 10
OUTLINE_LINE_BYTES = 100
"""The length of a line in an outline."""
LINE_BYTES = 5_000
"""A file that begins with a longer line was written by a program."""
RESTARTS = 10
MOST_SYMBOLS = (16, 6)
"""The numbers of symbols in each of the first `FIRST_FILES` lines, and in later lines."""
FIRST_FILES = 10
MOST_PARTS = 20
"""The number of parts that are read of a dotted name in the task."""
MOST_DEFINERS = 5
"""A name that more files define does not show which of the files the task means."""
SKIPPED_FOLDERS = {
    *("build", "dist", "env", "node_modules", "site-packages", "target", "third_party", "vendor"),
    *("venv", "__pycache__"),
}
COMMON_WORDS = {
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
    """A definition: its name, its line (from 1), and the name of the outer definition (empty at
    the top level)."""

    name: str
    line: int
    within: str = ""


@dataclass
class SourceFile:
    """A file, its definitions, and its words that are in the task or are defined by a file."""

    path: str
    symbols: list[Symbol] = field(default_factory=list)
    words: frozenset[str] = frozenset()


class Task:
    """The words of a task, for comparison with the paths, names and texts of a repository.

    `code_names` are the words that have the form of names in code, or that the text marks as code.
    """

    def __init__(self, text: str) -> None:
        self.words = frozenset(_WORD.findall(text))
        marked = (
            word for groups in _MARKED.findall(text) for word in _WORD.findall(" ".join(groups))
        )
        self.code_names = frozenset(filter(_is_code, self.words)).union(marked)
        self.stems = stems(text)
        self._paths: dict[str, list[list[str]]] = {}
        self._modules: set[str] = set()
        for path in dict.fromkeys(_PATH.findall(text)):
            parts = [part for part in path.rstrip(".").split("/") if part not in {"", "."}]
            if parts:
                self._paths.setdefault(parts[-1], []).append(parts)
            names = path.strip(".").split(".")[:MOST_PARTS]
            self._modules.update(".".join(names[:end]) for end in range(2, len(names) + 1))

    def precision(self, path: str) -> int:
        """How precisely the task names a path: 2 with its directory or as a module, 1 by its last
        part, 0 not at all."""
        parts = path.split("/")
        named_paths = self._paths.get(parts[-1], ())
        if any(len(parts) == 1 or named_path[-2:] == parts[-2:] for named_path in named_paths):
            return 2
        names = path.rpartition(".")[0].split("/")
        modules = (".".join(names[start:]) for start in range(len(names) - 1))
        if not self._modules.isdisjoint(modules):
            return 2
        return int(any(len(named_path) == 1 for named_path in named_paths))


def _is_code(word: str) -> bool:
    """Whether a word has the form of a name in code: `parse_date`, `Ledger`, `utf8`."""
    return word.lower() not in COMMON_WORDS and not (word.isalpha() and word.islower())


def stems(text: str) -> frozenset[str]:
    """The parts of all words, in lower case and without the commonest endings: `ParsedDates` and
    `parse_date` have the same two stems.
    """
    parts = (part.lower() for part in _PART.findall(text))
    return frozenset(_stem(part) for part in parts if len(part) > 2 and part not in COMMON_WORDS)


def _stem(word: str) -> str:
    for end in _ENDS:
        if word.endswith(end) and len(word) - len(end) > 2:
            return word[: -len(end)]
    return word


def is_test(path: str) -> bool:
    """Whether a path looks like the path of a test."""
    *folders, name = path.lower().split("/")
    return "test" in re.split(r"[._-]", name) or any(
        part in {"test", "tests", "spec", "specs", "__tests__"} for part in folders
    )


def choose_paths(sizes: dict[str, int], task: Task) -> list[str]:
    """The files to parse: within the limits, the paths that have most in common with the task.
    `sizes` has the size of each file by path."""

    def order(path: str) -> tuple[object, ...]:
        common_stems = len(task.stems & stems(path))
        return -task.precision(path), -common_stems, is_test(path), path.count("/"), path

    candidates = [path for path, size in sizes.items() if 0 < size <= FILE_BYTES]
    remaining_bytes, paths = MOST_BYTES, []
    for path in sorted(candidates, key=order)[:MOST_FILES]:
        remaining_bytes -= sizes[path]
        if remaining_bytes < 0:
            break
        paths.append(path)
    return paths


def rank(sources: list[SourceFile], task: Task) -> list[tuple[SourceFile, list[Symbol]]]:
    """The files, the most relevant first, each with its symbols in the same order.

    A word counts more if it is in fewer files. A definition that many files use is popular, and
    counts more, too.
    """
    definers = Counter(name for source in sources for name in {s.name for s in source.symbols})
    users = Counter(word for source in sources for word in source.words if word in definers)
    name_stems = {name: stems(name) for name in definers}
    source_stems = [
        stems(source.path).union(*(name_stems[symbol.name] for symbol in source.symbols))
        for source in sources
    ]
    stem_counts = Counter(stem for own_stems in source_stems for stem in own_stems & task.stems)
    word_counts = Counter(word for source in sources for word in source.words & task.words)

    def rarity(count: int) -> float:
        return math.log(1 + len(sources) / count) if count else 0.0

    def match(text_stems: frozenset[str]) -> float:
        return sum(rarity(stem_counts[stem]) for stem in sorted(text_stems & task.stems))

    def popularity(name: str) -> float:
        return math.log1p(max(0, users[name] - definers[name]) / definers[name])

    def relevance(symbol: Symbol) -> float:
        exact = 2 * rarity(definers[symbol.name]) if symbol.name in task.words else 0.0
        return match(name_stems[symbol.name]) + exact

    def score(source: SourceFile) -> float:
        best = sorted(map(relevance, source.symbols), reverse=True)[:3]
        most_popular = sorted((popularity(s.name) for s in source.symbols), reverse=True)[:3]
        text = sum(rarity(word_counts[word]) for word in sorted(source.words & task.words))
        total = 2 * match(stems(source.path)) + sum(best) / 3 + 1.5 * text + sum(most_popular) / 2
        return 20 * task.precision(source.path) + total * (0.7 if is_test(source.path) else 1.0)

    def is_named(source: SourceFile) -> bool:
        """Whether the task names the file's path, or a name in code that few files define."""
        names = {symbol.name for symbol in source.symbols} & task.code_names
        is_defined_by_few = any(definers[name] <= MOST_DEFINERS for name in names)
        return task.precision(source.path) == 2 or is_defined_by_few

    order = {source.path: (not is_named(source), -score(source), source.path) for source in sources}
    return [
        (
            source,
            sorted(source.symbols, key=lambda s: (-relevance(s) - popularity(s.name), s.line)),
        )
        for source in sorted(sources, key=lambda source: order[source.path])
        if source.symbols or task.precision(source.path)
    ]


def render_map(files: list[tuple[SourceFile, list[Symbol]]], most: int) -> str:
    """The map in at most `most` bytes: `path: name line, Class line (method line, ...)`."""
    lines: list[str] = []
    for number, (source, symbols) in enumerate(files):
        line = render_file(source.path, symbols, MOST_SYMBOLS[number >= FIRST_FILES])
        most -= len(line.encode()) + 1
        if most < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def render_file(path: str, symbols: list[Symbol], most: int) -> str:
    """The line of one file: the first `most` of its symbols, in the order of the file."""
    first_symbols = sorted(symbols[:most], key=lambda symbol: symbol.line)
    lines = {symbol.name: f" {symbol.line}" for symbol in reversed(symbols) if not symbol.within}
    groups: dict[str, list[str]] = {}
    for symbol in first_symbols:
        members = groups.setdefault(symbol.within or symbol.name, [])
        members += [f"{symbol.name} {symbol.line}"] if symbol.within else []
    texts = [
        name + lines.get(name, "") + (f" ({', '.join(members)})" if members else "")
        for name, members in groups.items()
    ]
    count = len(symbols) - len(first_symbols)
    texts += [f"and {count} more"] if texts and count else []
    return f"{path}: {', '.join(texts)}" if texts else path


def list_files(endings: Container[str], until: float) -> dict[str, int]:
    """The sizes of the files below this directory with these endings, by path."""
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
                folders += [] if name in SKIPPED_FOLDERS else [f"{path}/"]
            elif name.rpartition(".")[2] in endings and entry.is_file(follow_symlinks=False):
                sizes[path] = entry.stat(follow_symlinks=False).st_size
    return sizes


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def read(path: str) -> bytes:
    """The bytes of a file; empty if it is not a text, or was written by a program."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(FILE_BYTES)
    except OSError:
        return b""
    is_generated = len(data) > LINE_BYTES and b"\n" not in data[:LINE_BYTES]
    return b"" if is_generated or b"\0" in data else data


def definitions(
    paths: list[str], grammars: dict[str, Grammar], until: float
) -> dict[str, list[Symbol]]:
    """The definitions in the files, by path. A file is left out if it ends its parser or takes too
    long. `grammars` are by file ending.
    """
    symbols_by_path: dict[str, list[Symbol]] = {}
    first = 0  # the index of the first path without a result
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
                    symbols_by_path[paths[first]] = [Symbol(*row) for row in json.loads(line)]
                    first += 1
        os.waitpid(child, 0)
        first += 1  # the file that ended the child
        if first >= len(paths) or time.monotonic() > until:
            break
    return symbols_by_path


def _parse(paths: list[str], grammars: dict[str, Grammar], until: float, out: TextIO) -> None:
    loaded: dict[str, Any] = {}
    for path in paths:
        seconds = until - time.monotonic()
        if seconds <= 0:
            return
        signal.setitimer(signal.ITIMER_REAL, min(FILE_SECONDS, seconds))  # SIGALRM ends this child
        ending = path.rpartition(".")[2]
        if ending not in loaded:
            loaded[ending] = _load(*grammars[ending])
        symbols = _find_symbols(loaded[ending], read(path)) if loaded[ending] else []
        out.write(json.dumps(symbols) + "\n")
        out.flush()


def _load(module: str, function: str, query: str) -> Any:
    """A parser and the cursor of the query; None if this interpreter does not have the grammar."""
    try:
        grammar = getattr(import_module(module), function)()
        tree_sitter = import_module("tree_sitter")
    except ImportError:
        return None
    language = tree_sitter.Language(grammar)
    return tree_sitter.Parser(language), tree_sitter.QueryCursor(tree_sitter.Query(language, query))


def _find_symbols(loaded: Any, data: bytes) -> list[tuple[str, int, str]]:
    """The fields of each `Symbol` in a file."""
    parser, cursor = loaded
    root = parser.parse(data).root_node
    nodes = []
    for _, captures in cursor.matches(root):
        name, definition = captures["name"][0], captures["def"][0]
        text = data[name.start_byte : name.end_byte].decode(errors="replace")
        if _NAME.fullmatch(text):
            nodes.append(
                (definition.start_byte, -definition.end_byte, text, name.start_point[0] + 1)
            )
    first_lines: dict[tuple[str, str], int] = {}
    outer: list[tuple[int, str]] = []  # ends and names of the definitions around the next one
    for start, minus_end, text, line in sorted(nodes):
        while outer and outer[-1][0] <= start:
            outer.pop()
        if len(outer) < 2:  # deeper definitions matter only to their function
            within = outer[-1][1] if outer else ""
            first_lines.setdefault((text, within), line)
        outer.append((-minus_end, text))
    return [(text, line, within) for (text, within), line in first_lines.items()]


def outlines(paths: list[str], grammars: dict[str, Grammar], most: int) -> dict[str, str]:
    """The outline of each file that defines something, by path."""
    symbols_by_path = definitions(paths, grammars, time.monotonic() + SECONDS)
    return {
        path: outline(read(path), symbols, most)
        for path, symbols in symbols_by_path.items()
        if symbols
    }


def outline(data: bytes, symbols: list[Symbol], most: int) -> str:
    """The lines with definitions and their numbers, in about `most` characters. If there are too
    many, inner definitions are left out first, and then the last definitions.
    """
    lines = data.split(b"\n")
    texts = {}
    for symbol in symbols:
        line = lines[symbol.line - 1][:OUTLINE_LINE_BYTES].decode(errors="replace")
        texts[symbol] = f"{symbol.line}: {line}"
    outlined = symbols
    if sum(len(texts[symbol]) + 1 for symbol in outlined) > most:
        outlined = [symbol for symbol in symbols if not symbol.within]
    while outlined and sum(len(texts[symbol]) + 1 for symbol in outlined) > most:
        outlined = outlined[:-1]
    more = [f"and {len(symbols) - len(outlined)} more"] if len(outlined) < len(symbols) else []
    return "\n".join([texts[symbol].rstrip() for symbol in outlined] + more)


def make_map(task: Task, grammars: dict[str, Grammar], most: int) -> str:
    """The map of the working directory, in at most `most` bytes."""
    until = time.monotonic() + SECONDS
    paths = choose_paths(list_files(grammars, until), task)
    symbols_by_path = definitions(paths, grammars, until)
    names = {symbol.name for symbols in symbols_by_path.values() for symbol in symbols}
    if not names:
        return ""
    vocabulary = task.words | names
    sources = []
    for path, symbols in symbols_by_path.items():
        words = _WORD.findall(read(path).decode(errors="replace"))
        sources.append(SourceFile(path, symbols, vocabulary & set(words)))
    return render_map(rank(sources, task), most)


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    grammars = request["grammars"]
    if "outline" in request:
        json.dump(outlines(request["outline"], grammars, request["characters"]), sys.stdout)
    else:
        sys.stdout.write(make_map(Task(request["task"]), grammars, request["bytes"]))


if __name__ == "__main__":
    main()
