"""Selection: which tests a run has asked for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.repair.command_line import behind_python, is_pytest, name, only_tells

_VALUED = """
    -c -k -m -n -o -p -r -W --basetemp --color --confcutdir --deselect --durations --ignore
    --ignore-glob --import-mode --junitxml --maxfail --override-ini --rootdir --tb --timeout
"""
_PYTEST_VALUED = frozenset(_VALUED.split())
_UNITTEST_VALUED = frozenset({"-k", "-p", "-s", "-t", "--pattern"})
_FILTERS = frozenset({"-k", "-m", "--deselect", "--ignore", "--ignore-glob"})
_UNITTEST_FILTERS = frozenset({"-k", "-p", "--pattern"})
_EVERYTHING = frozenset({".", "discover", "tests", "test"})


@dataclass(frozen=True, slots=True)
class Selection:
    """`paths` are files, directories and single tests (none: all of them), `filters` the options
    that leave tests out."""

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
    given = behind_python(words)
    if name(given) == "unittest":
        pairs = _arguments(given[1:], _UNITTEST_VALUED)
        named = [(option, value if option else _file(value)) for option, value in pairs]
        return _selected(named, _UNITTEST_FILTERS)
    if is_pytest(words) and not only_tells(words):
        return _selected([*_arguments(given[1:], _PYTEST_VALUED)], _FILTERS)
    return None


def _selected(pairs: Sequence[tuple[str, str]], filters: Collection[str]) -> Selection:
    paths = {value.removeprefix("./").rstrip("/") for option, value in pairs if not option}
    return Selection(
        frozenset(paths) if paths.isdisjoint(_EVERYTHING) else frozenset(),
        frozenset(f"{option} {value}" for option, value in pairs if option in filters),
    )


def _arguments(words: Sequence[str], valued: Collection[str]) -> Iterator[tuple[str, str]]:
    """(option or empty, value or empty) of each argument: `-k one`, `-kone` and `-qk one` are the
    same, and so are `--ignore x` and `--ignore=x`."""
    option = ""
    for word in words:
        if option:
            yield option, word
            option = ""
        elif not word.startswith("-"):
            yield "", word
        else:
            option, value = _option(word, valued)
            if value or option not in valued:
                yield option, value
                option = ""


def _option(word: str, valued: Collection[str]) -> tuple[str, str]:
    if word.startswith("--"):
        option, _, value = word.partition("=")
        return option, value
    letters = enumerate(word[1:], start=1)
    at = next((at for at, letter in letters if f"-{letter}" in valued), None)
    return (word, "") if at is None else (f"-{word[at]}", word[at + 1 :].removeprefix("="))


def _file(word: str) -> str:
    """The file of what unittest is given by a dotted name."""
    as_it_is = word in _EVERYTHING or word.endswith(".py")
    return word if as_it_is else f"{word.partition('.')[0]}.py"


def _tests(files: Collection[str]) -> set[str]:
    names = ((path, path.rpartition("/")[2]) for path in files if path.endswith(".py"))
    return {path for path, own in names if own.startswith("test_") or own.endswith("_test.py")}
