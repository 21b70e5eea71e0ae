"""Open failure: a run that failed, and that no later run has shown to be mended. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.repair.command_line import commands
from agents.repair.cure import in_a_file, is_check
from agents.repair.selection import selection
from agents.repair.subject import foreign, only_looked, subject
from agents.state import Repair, Run, text_in

_NOT_STARTED = frozenset({126, 127})
_NO_TESTS = 5
"""pytest's exit code where there are none."""
_WITHOUT_TESTS = ("no tests were found", "pytest found no tests", "No module named pytest")
_USAGE = 2
"""argparse's exit code, and the interpreter's where there is no such script."""
_NOTHING_RUN = re.compile(r"\s*usage:|.*: can't open file '", re.IGNORECASE)


def open_failures(
    runs: Sequence[Run], repairs: Sequence[Repair], opened: Sequence[Run] = ()
) -> list[Run]:
    """Those that are open behind `runs`, oldest first; `opened` were open before these.

    What a person has run counts instead of all before it. Their failed run, and one of an older
    release, which does not say enough, is over with the next that succeeds.
    """
    closed = {repair["run"]: repair.get("closed", [repair["of"]]) for repair in repairs}
    left = list(opened)
    for run in runs:
        if _by_person(run):
            left = []
        gone = closed.get(run["id"], ())
        left = [each for each in left if each["id"] not in gone]
        if run["succeeded"]:
            left = [each for each in left if not doubtful(each)]
        elif needs_cure(run):
            left.append(run)
    return left


def doubtful(failed: Run) -> bool:
    """Whether it is left open what would cure it: a person's run, or one of an older release."""
    return _by_person(failed) or "failure" not in failed


def needs_cure(run: Run) -> bool:
    """Whether the failure of a run speaks against the work. One that only looked, or that came to
    run nothing (no such command, no tests, wrong arguments), does not."""
    text, code = text_in(run, "code"), run.get("exit_code")
    if run.get("tool", "python") == "python":
        return True
    if only_looked(run):
        return _breaks(run)
    if code in _NOT_STARTED:
        return False
    if any(selection(words) for words in commands(text)):
        cause = str((run.get("failure") or {}).get("cause", ""))
        return code != _NO_TESTS and not any(words in cause for words in _WITHOUT_TESTS)
    return code != _USAGE or _NOTHING_RUN.match(text_in(run, "stderr")) is None


def _breaks(run: Run) -> bool:
    """Whether code of the job's broke before it could tell of itself: `python sums.py --help`."""
    return bool(subject(run, ()).scripts) and in_a_file(run)


def can_prove(failed: Run) -> bool:
    """Whether to run it again over changed files shows something: a throwaway that failed in its
    own lines, and uses no code of the job's, does not depend on them, and what a person ran is
    theirs."""
    if doubtful(failed):
        return False
    own = failed.get("tool", "python") == "python" and not foreign(text_in(failed, "code"))
    return is_check(failed) or in_a_file(failed) or not own


def _by_person(run: Run) -> bool:
    return bool(run.get("by", "executor") != "executor")
