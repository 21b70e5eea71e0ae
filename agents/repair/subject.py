"""Subject: what a run is a run of, as far as its text says. Pure, and by patterns: a program that
is made for it can crash CPython's parser."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.repair.command_line import ASIDES, SHELLS, commands, is_aside, is_aside_command, name
from agents.repair.selection import Selection, selection
from agents.repair.simple_command import path_of
from agents.repair.source_file import is_source
from agents.state import Run, text_in

_IMPORT = re.compile(
    r"(?:^|[;\"'])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w.,\t ]+))", re.MULTILINE
)
_STARTS = re.compile(r"\b(?:subprocess|runpy|os\.system|exec)\b")
_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.(?:py|sh)\b")
_PLAIN = re.compile(r"[\w./-]+")
_TAKE_A_FILE = SHELLS | {"python", "source", "."}
"""These start the first file that they are given."""
_GIVEN = frozenset({"numpy", "pandas", "matplotlib", "pytest"})
"""Libraries that every room has."""


@dataclass(frozen=True, slots=True)
class Subject:
    """`aside`: it only looked, or kept house. `tests` are those that it made, None where it was no
    run of tests. `scripts` and `modules` are the job's own code that it started and imported, as
    paths."""

    aside: bool = False
    tests: Selection | None = None
    scripts: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    @property
    def uses(self) -> frozenset[str]:
        """All of the job's own code that it has named."""
        return self.scripts | self.modules

    @property
    def inline(self) -> bool:
        """Whether what it ran is nowhere but in the call itself."""
        return not self.aside and self.tests is None and not self.scripts


def subject(run: Run, files: Collection[str]) -> Subject:
    """The subject of a run over these files."""
    text = text_in(run, "code")
    modules = frozenset(path for top in imported(text) for path in _of_module(top, files))
    if run.get("tool", "python") == "python":
        named = _FILE.findall(text) if _STARTS.search(text) else ()
        return Subject(scripts=_there(named, files), modules=modules)
    found = commands(text)
    tests = next((chosen for words in found if (chosen := selection(words))), None)
    started = [script for words in found for script in _started(words)]
    scripts = _there(started, files) | {
        path for top in _run_modules(found) for path in _of_module(top, files)
    }
    gone = frozenset(map(path_of, started)) if not scripts else frozenset()
    return Subject(is_aside(text), tests, scripts | gone, modules)


def only_looked(run: Run) -> bool:
    """Whether all that a run did was looking around and keeping house: it shows nothing of the
    work, however it ended."""
    return run.get("tool", "python") != "python" and is_aside(text_in(run, "code"))


def imported(text: str) -> set[str]:
    """The top names of the modules that a program imports."""
    names = (part for match in _IMPORT.finditer(text) for part in (match[1] or match[2]).split(","))
    return {part.split()[0].split(".")[0] for part in names if part.strip()} - {""}


def foreign(text: str) -> bool:
    """Whether a program imports what may be the job's own."""
    return bool(imported(text) - sys.stdlib_module_names - _GIVEN)


def _started(words: Sequence[str]) -> Iterator[str]:
    """The files that a command starts, or is given as code."""
    own = name(words)
    if own in _TAKE_A_FILE:
        first = next((word for word in words[1:] if not word.startswith("-")), None)
        if first and not {"-c", "-m"} & set(words[1 : words.index(first)]) and first != "-":
            yield first
    elif own == "make":
        yield "Makefile"
    elif own not in ASIDES or not is_aside_command(words):  # `awk -f sum.awk`
        yield from words[:1] if words[0].startswith("./") else ()
        yield from (word for word in words if _PLAIN.fullmatch(word) and is_source(word))


def _run_modules(found: Sequence[Sequence[str]]) -> Iterator[str]:
    for words in found:
        if name(words) == "python" and len(words) > 2 and words[1] == "-m":
            yield words[2].split(".")[0]


def _there(named: Collection[str], files: Collection[str]) -> frozenset[str]:
    plain = set(map(path_of, named))
    tails = tuple(f"/{word}" for word in plain)
    return frozenset(path for path in files if path in plain or path.endswith(tails))


def _of_module(top: str, files: Collection[str]) -> Iterator[str]:
    for path in files:
        *folders, last = path.split("/")
        if last == f"{top}.py" or (last.endswith(".py") and top in folders):
            yield path
