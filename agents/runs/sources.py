"""Source files: which files are programs, and versions of them that cannot load. Pure.

The version that cannot load keeps the text: a command that only reads or parses a file does not
notice.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from tokenize import COMMENT, ENCODING, NEWLINE, NL, STRING, TokenError, TokenInfo, tokenize

from agents.ports import Workspace

_SUFFIXES = """
    .awk .bash .bats .c .cc .cjs .clj .cpp .cs .cxx .dart .ex .exs .f90 .fish .go .groovy .h .hpp
    .hs .java .jl .jq .js .jsx .ksh .kt .lisp .lua .m .mjs .mk .ml .nim .pas .php .pl .pm .ps1 .py
    .r .rb .rs .s .scala .scm .sed .sh .sql .swift .t .tcl .ts .tsx .zig .zsh
"""
_SOURCES = tuple(_SUFFIXES.split())
_MAKEFILES = frozenset({"gnumakefile", "makefile"})
_TEST = re.compile(r"tests?(?:[._-].*)?|.*(?:[._-](?:test|spec)|Test)s?\.\w+|conftest\.py|.*\.t")
_TEST_FOLDERS = frozenset({"__tests__", "spec", "test", "tests"})
_PYTEST = re.compile(r"(?:test_.*|.*_test)\.py")

_WHY = "replaced, to see whether the verification notices"
_STOPS: Mapping[str, bytes] = {
    "sh": b"exit 97",
    "c": b"""#ifndef REPLACED
#define REPLACED
__attribute__((constructor)) static void replaced(void) { __builtin_trap(); }
#endif""",
    "js": b'throw new Error("%s")' % _WHY.encode(),
    "pl": b'die "%s";' % _WHY.encode(),
    "php": b"<?php exit(97); ?>",
    "rb": b'raise "%s"' % _WHY.encode(),
}
"""By language, a beginning that ends the program and passes a syntax check."""
_ALIASES = {
    **dict.fromkeys(("bash", "bats", "ksh", "zsh"), "sh"),
    **dict.fromkeys(("cjs", "mjs", "node"), "js"),
    **dict.fromkeys(("cc", "cpp", "cxx", "h", "hpp"), "c"),
    **dict.fromkeys(("perl", "pm", "t"), "pl"),
}
_NO_PROGRAM = b") %s (" % _WHY.encode()
"""No program in any language, but text: code that only reads the file does not notice."""
_BOM = b"\xef\xbb\xbf"


def is_source(path: str, content: bytes = b"") -> bool:
    """Whether a file is run, imported, compiled or interpreted, by its name or its `#!` line.
    Documents and data are not."""
    name = _name(path).lower()
    if name in _MAKEFILES or name.endswith(_SOURCES):
        return True
    return "." not in name and content.startswith(b"#!")


def is_test(path: str) -> bool:
    """Whether a source file is a test or belongs to tests, by its name or its folder's."""
    *folders, name = path.split("/")
    return _TEST.fullmatch(name) is not None or not _TEST_FOLDERS.isdisjoint(folders)


def is_for_pytest(path: str) -> bool:
    """Whether pytest collects the file by default."""
    return _PYTEST.fullmatch(_name(path)) is not None


def sources_in(files: Mapping[str, bytes], new_paths: Mapping[str, object]) -> list[str]:
    """The source files among the files that the job made, sorted."""
    return sorted(path for path in new_paths if path in files and is_source(path, files[path]))


async def has_sources(workspace: Workspace, paths: Iterable[str]) -> bool:
    """Whether one of the paths is an existing source file."""
    present = workspace.list()
    for path in paths:
        if path in present and is_source(path, await workspace.read(path) or b""):
            return True
    return False


def unloadable(path: str, content: bytes) -> bytes:
    """The file with the same text, changed so that loading it fails."""
    language = _language(path, content)
    if language == "py":
        return with_first_statement(content, f"raise ImportError({_WHY!r})".encode())
    stop = _STOPS.get(language, _NO_PROGRAM)
    if content.startswith(b"#!"):
        first_line, _, other_lines = content.partition(b"\n")
        return b"\n".join((first_line, stop, other_lines))
    return b"\n".join((stop, content))


def with_first_statement(content: bytes, statement: bytes) -> bytes:
    """A Python file with a statement, on one line, after its docstring and `__future__` imports."""
    start = _BOM if content.startswith(_BOM) else b""
    lines = content.removeprefix(_BOM).splitlines(keepends=True)
    comments = next((n for n, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    at = max(comments, _header(content))
    before = b"".join(lines[:at])
    if before and not before.endswith((b"\n", b"\r")):
        before += b"\n"
    return start + before + statement + b"\n" + b"".join(lines[at:])


def _header(content: bytes) -> int:
    """The last line of the strings and `__future__` imports at the beginning."""
    at, words = 0, list[TokenInfo]()
    with contextlib.suppress(TokenError, SyntaxError):
        for token in tokenize(BytesIO(content).readline):
            if token.type == NEWLINE:
                at, words = token.end[0], []
            elif token.type not in (ENCODING, COMMENT, NL):
                words.append(token)
                future = [word.string for word in words[:2]] == ["from", "__future__"][: len(words)]
                if not future and any(word.type != STRING for word in words):
                    break
    return at


def _language(path: str, content: bytes) -> str:
    _, dot, suffix = _name(path).lower().rpartition(".")
    if not dot:
        first = content.partition(b"\n")[0].decode(errors="replace")
        words = re.findall(r"[a-z]+", first.rpartition("/")[2]) if first.startswith("#!") else []
        suffix = "py" if "python" in words else next((w for w in words if w != "env"), "")
    return _ALIASES.get(suffix, suffix)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
