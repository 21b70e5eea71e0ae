"""Cure: whether a run shows that what failed before is mended. Pure.

A failure stays open until a run shows what it has shown: the same again; the tests that failed; or,
where something was changed that could have mended it, the code that it ran. A failure in a
throwaway's own lines is over where the throwaway, written anew, comes past them. All else that
succeeds only looked; so did a run that hides its exit code, or prints the same exception still.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.repair.failure import LONGEST_CAUSE, PROGRAM
from agents.repair.hidden import hides_all
from agents.repair.subject import Subject, subject
from agents.repair.tracebacks import tracebacks
from agents.state import Run, text_in
from agents.texts import one_line

ENOUGH = 0.5
"""The part of what a program did from the line on that failed which it does again, written anew."""
_CHECKS = frozenset({"assertion", "test_failure"})
_MISSING = frozenset({"import", "file"})
_OF_ITS_START = frozenset({"EOFError", "SystemExit"})
"""Raised in a file, but for how it was started: no keyboard, wrong arguments."""
_CHECKING = re.compile(
    r"\bassert\b|\.assert\w*\(|\bsys\.exit\(|\braise (?:SystemExit|AssertionError)\b"
)
_WORD = re.compile(r"[^\W\d]\w*")
_COMMON = frozenset(word.casefold() for word in (*keyword.kwlist, *dir(builtins)))


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between a failed run and a later one: the files that the failed one has left and
    those that the later one has left, each path with what names its content, and `text`, the later
    run's program with the scripts that it started."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    text: str = ""
    known: bool = field(default=True)
    """False: a run of an older release, which does not say what files it left."""

    @property
    def changed(self) -> set[str]:
        """Paths that were written, made or deleted."""
        paths = {*self.before, *self.after}
        return {path for path in paths if self.before.get(path) != self.after.get(path)}


def cures(failed: Run, run: Run, between: Between) -> bool:
    """Whether a `run` that succeeds shows that `failed` is mended. One that fails stands for it
    from then on: it has come to the same place."""
    if run["succeeded"] and still_shows(failed, run):
        return False
    if again(failed, run):
        return True
    old, new = _subjects(failed, run, between)
    if new.aside or (run["succeeded"] and hides(run)):
        return False
    if old.tests is not None:
        return new.tests is not None and new.tests.covers(old.tests, between.after)
    if old.scripts:
        return _script(failed, old, new, between)
    return _inline(failed, old, new, between)


def tries(failed: Run, run: Run, between: Between) -> bool:
    """Whether a `run` that has failed was a try at mending `failed`, though it may have come to
    another place: the same kind of thing, or over changed files one that shares its code."""
    if cures(failed, run, between):
        return True
    old, new = _subjects(failed, run, between)
    if new.aside:
        return False
    if (old.tests is None) != (new.tests is None):
        return touched(failed, between) and bool(old.uses or new.uses)
    return bool(old.tests or old.uses & new.uses or (old.inline and new.inline))


def again(failed: Run, run: Run) -> bool:
    """Whether it is the same program once more."""
    return _program(failed) == _program(run)


def still_shows(failed: Run, run: Run) -> bool:
    """Whether a run has printed the traceback of the same exception, however it ended: it was
    caught, and not mended."""
    name, cause = _of(failed, "exception"), str(_of(failed, "cause") or "")
    if name is None:
        return False
    printed = (text_in(run, stream) for stream in ("stdout", "stderr"))
    found = (raised for text in printed for raised in tracebacks(text) if raised.message)
    lines = (one_line(raised.line, LONGEST_CAUSE) for raised in found if raised.name == name)
    return any(cause == line or cause.startswith((f"{line} (", f"{line};")) for line in lines)


def hides(run: Run) -> bool:
    """Whether it is a command line whose exit code says nothing of how the code it ran ended."""
    return run.get("tool", "python") == "shell" and hides_all(text_in(run, "code"))


def touched(failed: Run, between: Between) -> bool:
    """Whether a change of files could have mended it: of one that was there, or, where one was
    missing, of any."""
    changed = between.changed
    if not between.known or not changed.isdisjoint(between.before):
        return True
    return bool(changed) and _of(failed, "class") in _MISSING


def is_check(failed: Run) -> bool:
    """Whether what failed was a check: that something else runs does not answer it."""
    return _of(failed, "class") in _CHECKS


def in_a_file(failed: Run) -> bool:
    """Whether it lies in a file of the job's, and not in the call or in how that was made."""
    file = _of(failed, "file")
    return file not in (None, PROGRAM) and _of(failed, "exception") not in _OF_ITS_START


def _script(failed: Run, old: Subject, new: Subject, between: Between) -> bool:
    mended = touched(failed, between)
    if old.scripts.isdisjoint(between.after):
        return mended and bool(new.tests or new.uses & between.changed)  # renamed, or given up
    if old.scripts & new.scripts:
        return mended or not in_a_file(failed)
    return mended and bool(old.uses & new.uses) and _answers(failed, between)


def _inline(failed: Run, old: Subject, new: Subject, between: Between) -> bool:
    mended = touched(failed, between)
    if mended and new.tests is not None and new.tests.all_of(between.after):
        return True
    if mended and old.uses & new.uses and _answers(failed, between):
        return True
    if in_a_file(failed):
        return False
    if not (old.uses or is_check(failed)) and (new.uses or new.tests):
        return True  # it said nothing of the code that is kept, and that has run
    return _answers(failed, between) and as_far(failed, between.text)


def _subjects(failed: Run, run: Run, between: Between) -> tuple[Subject, Subject]:
    """Code that was missing when it failed is what it was about, too."""
    return subject(failed, {*between.before, *between.after}), subject(run, between.after)


def _answers(failed: Run, between: Between) -> bool:
    return not is_check(failed) or bool(_CHECKING.search(between.text))


def as_far(failed: Run, text: str) -> bool:
    """Whether a program does again what the failed one did from the line on that failed: half of
    the names there are in it, but for those that the error complains of."""
    whole = text_in(failed, "code")
    seen = _of(failed, "file") == PROGRAM and failed["code"].get("digest") is None
    line = int(_of(failed, "line") or 1) if seen else 1
    rest = "\n".join(whole.split("\n")[line - 1 :])
    blamed = words(_message(failed))
    wanted = (words(rest) - blamed) or (words(whole) - blamed)
    return len(wanted & words(text)) >= ENOUGH * len(wanted)


def words(text: str) -> set[str]:
    """The names in a program, but for those that every program has."""
    return {word.casefold() for word in _WORD.findall(text)} - _COMMON


def _message(failed: Run) -> str:
    """The error's own words: its cause without the place."""
    cause = str(_of(failed, "cause") or "")
    name = "the program" if _of(failed, "file") == PROGRAM else _of(failed, "file")
    return cause.partition(f" ({name}, line ")[0]


def _program(run: Run) -> tuple[Any, ...]:
    return run.get("tool", "python"), text_in(run, "code").strip(), run["code"].get("digest")


def _of(run: Run, name: str) -> Any:
    return (run.get("failure") or {}).get(name)
