"""The paths of repair, each through the whole graph."""

from __future__ import annotations

from bench.provider import Reply
from bench.repair.checked import CHECKED
from bench.repair.judged import JUDGED
from bench.repair.path import (
    PLAN,
    Path,
    approve,
    edits,
    looks,
    revise,
    runs,
    writes,
)
from bench.repair.said import (
    CHECK,
    CIRCLE,
    DONE,
    ENDLESS,
    GOOD,
    HUNGRY,
    INDEX,
    KEY,
    KIND,
    OTHER_KEY,
    TEXT,
    WRONG,
)
from bench.repair.trouble import TROUBLE

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
        "stopped where it makes the same call again and again",
        (PLAN, *[looks("no-such-tool .")] * 5, revise("Look at b.")),
        "unapproved: the revisions ran out",
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
PATHS: tuple[Path, ...] = (
    *CURED, *ESCALATED, *STUCK, *JUDGED, *CHECKED, *TROUBLE
)  # fmt: skip
