"""Selection: which tests a run has asked for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.repair.command_line import name

_VALUED = frozenset(
    [
        "-k",
        "-m",
        "-p",
        "-n",
        "-c",
        "-o",
        "-W",
        "-r",
        "--maxfail",
        "--tb",
        "--rootdir",
        "--durations",
        "-s",
        "-t",
    ]
)
_FILTERS = frozenset({"-k", "-m"})
_EVERYTHING = frozenset({".", "discover", "tests", "test"})


@dataclass(frozen=True, slots=True)
class Selection:
    """`paths` are files, directories and single tests (none: all of them), `filters` what -k and -m
    were given."""

    paths: frozenset[str] = frozenset()
    filters: frozenset[str] = frozenset()

    def covers(self, other: Selection, files: Collection[str]) -> bool:
        """Whether these tests are all that `other` has asked for, by the `files` that there are."""
        if not self.filters <= other.filters:
            return False
        return all(self._has(path) for path in other.paths or _tests(files) or {"."})

    def all_of(self, files: Collection[str]) -> bool:
        """Whether these are all tests that there are."""
        return self.covers(Selection(), files)

    def _has(self, path: str) -> bool:
        return not self.paths or any(
            path == own or path.startswith((f"{own}::", f"{own}/")) or path.endswith(f"/{own}")
            for own in self.paths
        )


def selection(words: Sequence[str]) -> Selection | None:
    """What a command selects; None where it is no run of tests."""
    own = name(words)
    if own == "python" and len(words) > 2 and words[1] == "-m":
        own, words = words[2], words[2:]
    if own == "unittest":
        return _selected([_file(word) for word in words])
    return _selected(words) if own in {"pytest", "py.test"} else None


def _selected(words: Sequence[str]) -> Selection:
    pairs = list(_arguments(words[1:]))
    paths = {value.removeprefix("./").rstrip("/") for option, value in pairs if not option}
    return Selection(
        frozenset(paths) if paths.isdisjoint(_EVERYTHING) else frozenset(),
        frozenset(value for option, value in pairs if option in _FILTERS),
    )


def _arguments(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(option or empty, value) of each argument."""
    option = ""
    for word in words:
        if option:
            yield option, word
            option = ""
        elif word in _VALUED:
            option = word
        elif not word.startswith("-"):
            yield "", word


def _file(word: str) -> str:
    """The file of what unittest is given by a dotted name."""
    as_it_is = word in _EVERYTHING or word.startswith("-") or word.endswith(".py")
    return word if as_it_is else f"{word.partition('.')[0]}.py"


def _tests(files: Collection[str]) -> set[str]:
    names = ((path, path.rpartition("/")[2]) for path in files if path.endswith(".py"))
    return {path for path, own in names if own.startswith("test_") or own.endswith("_test.py")}
