"""Source file: one that holds a program, by its name. Pure."""

from __future__ import annotations

_LANGUAGES = """
    .awk .bash .bats .c .cc .cjs .clj .cpp .cs .cxx .dart .ex .exs .f90 .go .h .hpp .hs .java .jl
    .jq .js .jsx .kt .lua .m .mjs .mk .ml .php .pl .ps1 .py .r .rb .rs .s .scala .sed .sh .sql
    .swift .tcl .ts .tsx .zsh
"""
_SUFFIXES = tuple(_LANGUAGES.split())
_NAMES = frozenset({"gnumakefile", "makefile", "rakefile", "justfile"})


def is_source(path: str) -> bool:
    """Whether a file of this name is one that is started, imported, compiled or fed to an
    interpreter: no document, and no data."""
    name = path.rpartition("/")[2].lower()
    return name in _NAMES or name.endswith(_SUFFIXES)


def names_of(path: str) -> frozenset[str]:
    """The words by which a program may name the file: its own and those of its folders."""
    *folders, name = path.split("/")
    return frozenset({*folders, name.partition(".")[0] or name})
