"""The paths of repair, each through the whole graph."""

from __future__ import annotations

from bench.provider import Reply
from bench.repair.path import (
    DOWN,
    PLAN,
    REFUSED,
    Path,
    approve,
    costly,
    edits,
    looks,
    revise,
    runs,
    writes,
)

GOOD = "total = 1 + 2\nassert total == 3\nprint('ok')"
KEY = "total = {'a': 1}['b']"
INDEX = "total = [1][1]"
KIND = "total = 1 + '2'"
OTHER_KEY = "rate = 2\ntotal = {'a': 1}['b']"
"""Fails as KEY does, a line further down."""
TEXT = "total = int('x')"
CHECK = "from sums import add\nassert add(1, 2) == 3\nprint('ok')"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
ENDLESS = "total = 0\nwhile True:\n    total += 1"
HUNGRY = "total = bytearray(2 * 1024 ** 3)\ntotal[::4096] = bytes([1]) * len(total[::4096])"
DONE = Reply("It adds.")
UNREADABLE = (Reply("Fine."), Reply("I said: fine."))
CIRCLE = (runs(KEY), runs(KEY), runs(KEY))

CURED = (
    Path("works at once", (PLAN, runs(GOOD), DONE, approve()), "approved by critic"),
    Path(
        "fixed the first time",
        (PLAN, runs(KEY), runs(GOOD), DONE, approve(score=0.9, run="r2")),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "fixed the second time",
        (PLAN, runs(KEY), runs(KIND), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 failed", "0 fixed"),
    ),
    Path(
        "mended by the smallest change to its file",
        (PLAN, writes(WRONG), runs(CHECK), edits("a - b", "a + b"), runs(CHECK), DONE, approve()),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "too slow, then fixed",
        (PLAN, runs(ENDLESS), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 fixed",),
        limits={"wall_seconds": 2.0},
    ),
    Path(
        "too large, then fixed",
        (PLAN, runs(HUNGRY), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 fixed",),
        limits={"memory_bytes": 64 * 1024 * 1024},
    ),
    Path(
        "mended in the next revision",
        (PLAN, runs(KEY), Reply("No idea."), revise("Mend it."), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 fixed",),
    ),
)
ESCALATED = (
    Path(
        "escalated after two failed repairs, then fixed",
        (PLAN, runs(KEY), runs(KIND), runs(TEXT), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 failed", "0 failed", "1 fixed"),
        stronger=True,
    ),
    Path(
        "escalated at once for the same code",
        (PLAN, runs(KEY), runs(KEY), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 same code", "1 fixed"),
        stronger=True,
    ),
    Path(
        "escalated at once for the same failure",
        (PLAN, runs(KEY), runs(OTHER_KEY), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 same failure", "1 fixed"),
        stronger=True,
    ),
    Path(
        "escalated after two failed repairs, with a look before each",
        (
            PLAN, runs(KEY), looks(), runs(KIND), looks(), runs(TEXT), runs(GOOD), DONE, approve(),
        ),
        "approved by critic",
        ("0 failed", "0 failed", "1 fixed"),
        stronger=True,
    ),
    Path(
        "escalated at once for the same code, with a look between",
        (PLAN, runs(KEY), looks(), runs(KEY), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 same code", "1 fixed"),
        stronger=True,
    ),
    Path(
        "escalated for a score that does not improve",
        (
            PLAN, runs(GOOD), DONE, revise("1", score=0.5), runs("print(2)"), Reply("Two."),
            revise("2", score=0.5), runs("print(3)"), Reply("Three."), revise("3", score=0.5),
            runs("print(4)"), Reply("Four."), approve(score=0.9),
        ),
        "approved by critic",
        stronger=True,
        job={"max_revisions": 9},
    ),
)  # fmt: skip
STUCK = (
    Path(
        "stopped in circles, then fixed with new feedback",
        (PLAN, *CIRCLE, revise("Look at b."), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 same code", "0 same code", "0 fixed"),
    ),
    Path(
        "stopped in circles, with looks between",
        (PLAN, runs(KEY), looks(), runs(KEY), looks(), runs(KEY), revise("Look at b.")),
        "unapproved: the revisions ran out",
        ("0 same code", "0 same code"),
        job={"max_revisions": 1},
    ),
    Path(
        "stopped in circles twice",
        (PLAN, *CIRCLE, revise("Look at b."), runs(INDEX), *[runs(INDEX)] * 2, revise("Look.")),
        "unapproved: two revisions in a row went in circles",
        ("0 same code", "0 same code", "0 failed", "0 same code", "0 same code"),
        job={"max_revisions": 9},
    ),
    Path(
        "the same work twice",
        (PLAN, runs(GOOD), DONE, revise("More."), runs(GOOD), DONE, revise("More!")),
        "unapproved: two revisions in a row came to the same",
        job={"max_revisions": 9},
    ),
    Path(
        "no better score",
        (
            PLAN, runs(GOOD), DONE, revise("1", score=0.5), runs("print(2)"), Reply("Two."),
            revise("2", score=0.5), runs("print(3)"), Reply("Three."), revise("3", score=0.5),
        ),
        "unapproved: the critic's score is no better than 2 revisions ago",
        job={"max_revisions": 9},
    ),
    Path(
        "never fixed, taken as it is",
        (PLAN, runs(KEY), Reply("No."), revise("1"), runs(KIND), Reply("Nor this."), revise("2")),
        "unapproved: the revisions ran out",
        ("0 failed",),
        job={"max_revisions": 2},
    ),
    Path(
        "never fixed, and so failed",
        (PLAN, runs(KEY), Reply("No."), revise("1"), runs(KIND), Reply("Nor this."), revise("2")),
        "failed: unapproved",
        ("0 failed",),
        job={"max_revisions": 2, "on_exhausted": "fail"},
    ),
)  # fmt: skip
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
        "the rules approve nothing on a look",
        (PLAN, runs(KEY), looks(), DONE, *UNREADABLE),
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
TROUBLE = (
    Path(
        "trouble of the sandbox is retried and not blamed on the code",
        (PLAN, runs(KEY), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 fixed",),
        broken=frozenset({1, 2, 4}),
    ),
    Path(
        "a sandbox that is down for good",
        (PLAN, runs(GOOD)),
        "failed: sandbox_unavailable",
        broken=frozenset(range(1, 20)),
    ),
    Path(
        "an outage of the model is waited for",
        (PLAN, runs(KEY), DOWN, DOWN, runs(GOOD), DONE, DOWN, approve()),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "a model that is down for good is no success",
        (PLAN, runs(KEY), *[DOWN] * 9),
        "failed: model_unavailable",
    ),
    Path(
        "a critic that is down for good leaves it to the rules",
        (PLAN, runs(GOOD), DONE, *[DOWN] * 9),
        "approved by rules",
    ),
    Path(
        "a critic that is down for good approves nothing that failed",
        (PLAN, runs(KEY), DONE, *[DOWN] * 9),
        "failed: model_unavailable",
    ),
    Path(
        "a critic that refuses to be asked leaves it to the rules at once",
        (PLAN, runs(KEY), runs(GOOD), DONE, REFUSED),
        "approved by rules",
        ("0 fixed",),
    ),
    Path(
        "a critic that refuses to be asked approves nothing that failed",
        (PLAN, runs(KEY), DONE, REFUSED),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "out of budget, with the last repair run",
        (PLAN, writes(WRONG), runs(CHECK), costly(writes(RIGHT)), DONE, approve()),
        "failed: budget_exhausted",
        ("0 fixed",),
        most_tokens=100_000,
    ),
)
PATHS: tuple[Path, ...] = (*CURED, *ESCALATED, *STUCK, *JUDGED, *TROUBLE)
