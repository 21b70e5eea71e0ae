"""Paths on which the work is judged: by a critic who may be wrong, and by the rules."""

from __future__ import annotations

from bench.provider import Reply
from bench.repair.path import PLAN, Path, approve, edits, looks, revise, runs, writes
from bench.repair.said import (
    CHECK,
    DONE,
    GOOD,
    KEY,
    PYTEST,
    RIGHT,
    SAVES,
    TEST,
    UNREADABLE,
    WRONG,
)

JUDGED = (
    Path(
        "the critic's fail is honoured",
        (PLAN, runs(GOOD), DONE, revise("It adds nothing.", score=1.0)),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "an approval of what never ran is turned around",
        (PLAN, Reply("I promise."), approve(score=1.0), runs(GOOD), DONE, approve()),
        "approved by critic",
    ),
    Path(
        "an approval of what failed is turned around",
        (PLAN, runs(KEY), DONE, approve(run="r1")),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "an approval that names what is not met is turned around",
        (PLAN, runs(GOOD), DONE, approve(failed=["no sum"]), runs(GOOD), Reply("Now."), approve()),
        "approved by critic",
    ),
    Path(
        "a critic that cannot be read leaves it to the rules",
        (PLAN, runs(GOOD), DONE, *UNREADABLE),
        "approved by rules",
    ),
    Path(
        "a look at files that never ran is nothing for the rules to approve",
        (PLAN, writes(WRONG), looks("ls"), DONE, *UNREADABLE),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "an approval that rests on a look at files is turned around",
        (PLAN, writes(RIGHT), looks("cat sums.py"), DONE, approve(run="r1", score=1.0)),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "the rules approve nothing on a look",
        (PLAN, runs(KEY), looks(), DONE, *UNREADABLE),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "tests whose exit code is covered up are no cure",
        (
            PLAN, writes(WRONG), writes(TEST, "test_sums.py"), looks("python -m pytest -q"),
            looks("python -m pytest -q || true"), DONE, *UNREADABLE,
        ),
        "unapproved: the revisions ran out",
        ("0 same failure",),
        job={"max_revisions": 1},
    ),
    Path(
        "tests that a program runs and whose exit code it drops are no success",
        (
            PLAN, writes(WRONG), writes(TEST, "test_sums.py"), runs(PYTEST), DONE,
            approve(run="r1", score=1.0),
        ),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "an exception whose exit code is covered up is no cure",
        (
            PLAN, writes(WRONG + "assert add(1, 2) == 3\n"), looks("python sums.py"),
            edits("a - b", "a * b"), looks("python sums.py || true"), DONE, *UNREADABLE,
        ),
        "unapproved: the revisions ran out",
        ("0 same failure",),
        job={"max_revisions": 1},
    ),
    Path(
        "a program that has nothing to do with the files shows nothing of them",
        (
            PLAN, writes(WRONG), runs(GOOD), DONE, approve(run="r1", score=1.0),
            runs(CHECK), edits("a - b", "a + b"), DONE, approve(),
        ),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "code that a program writes and does not run is not shown to work",
        (PLAN, runs(SAVES), DONE, *UNREADABLE, runs(CHECK), DONE, *UNREADABLE),
        "approved by rules",
    ),
    Path(
        "what is edited behind its run in one line is run once more",
        (PLAN, writes(RIGHT), looks("python sums.py && sed -i 's/a + b/a +/' sums.py"), DONE,
         approve(run="r1", score=1.0)),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "an awk program is run by awk",
        (PLAN, writes("{ n += $1 } END { print n }", "sum.awk"),
         looks("printf '1\n2\n' | awk -f sum.awk"), DONE, *UNREADABLE),
        "approved by rules",
    ),
    Path(
        "data that a command has made is the work",
        (PLAN, writes("b\na\n", "names.txt"), looks("sort names.txt > sorted.txt"), DONE,
         *UNREADABLE),
        "approved by rules",
    ),
    Path(
        "a command that is not there is no last run",
        (
            PLAN, writes(RIGHT), runs(CHECK), writes(RIGHT + "# a sum\n"), looks("no-such-linter"),
            DONE, *UNREADABLE,
        ),
        "approved by rules",
    ),
    Path(
        "a list of the tests is no cure",
        (
            PLAN, writes(WRONG), writes(TEST, "test_sums.py"), looks("python -m pytest -q"),
            looks("python -m pytest --collect-only -q"), DONE, *UNREADABLE,
        ),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "a wrong mend behind which was only looked is run, and seen",
        (
            PLAN, writes(WRONG), runs(CHECK), edits("a - b", "a * b"), looks("cat sums.py"), DONE,
            *UNREADABLE,
        ),
        "unapproved: the revisions ran out",
        ("0 same failure",),
        job={"max_revisions": 1},
    ),
    Path(
        "a look that failed needs no cure",
        (PLAN, looks("cat missing.txt"), runs(GOOD), looks("cat missing.txt"), DONE, *UNREADABLE),
        "approved by rules",
    ),
    Path(
        "the last repair is run behind a look",
        (
            PLAN, writes(WRONG), runs(CHECK), writes(RIGHT), looks("cat sums.py"), DONE,
            approve(run="r3"),
        ),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "what has worked is run again behind a look, in the next revision",
        (
            PLAN, writes(RIGHT), runs(CHECK), looks(), DONE, revise("Say so."),
            writes(RIGHT + "# a sum\n"), DONE, *UNREADABLE,
        ),
        "approved by rules",
    ),
    Path(
        "the last repair is run although nobody asked",
        (PLAN, writes(WRONG), runs(CHECK), writes(RIGHT), DONE, approve(run="r2")),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "the last repair is run at the bound on steps",
        (PLAN, writes(WRONG), runs(CHECK), writes(RIGHT), approve(run="r2")),
        "approved by critic",
        ("0 fixed",),
        bounds={"steps": 3},
    ),
    Path(
        "what is broken behind its successful run is not approved",
        (PLAN, writes(RIGHT), runs(CHECK), writes(WRONG), DONE, approve(run="r1")),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
)  # fmt: skip
