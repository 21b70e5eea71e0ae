"""The paths of repair, each through the complete graph."""

from __future__ import annotations

from lab.benchmarks.repair.checked import CHECKED
from lab.benchmarks.repair.judged import JUDGED
from lab.benchmarks.repair.path import (
    CHECK,
    CIRCLE,
    DONE,
    ENDLESS,
    EXPLORATION,
    GOOD,
    HUNGRY,
    INDEX,
    KEY,
    KIND,
    OTHER_KEY,
    PLAN,
    TEST,
    TEXT,
    WRONG,
    Path,
    approve,
    edits,
    looks,
    repairs_by,
    revise,
    runs,
    verifies,
    verifies_by,
    writes,
)
from lab.benchmarks.repair.trouble import TROUBLE
from lab.provider import Reply

FIXED = (
    Path(
        "fixed the first time",
        (PLAN, verifies(KEY), verifies(GOOD), DONE, approve(runs=["r2"])),
        "approved by critic",
        (0,),
    ),
    Path(
        "fixed by the smallest change to its file",
        (
            PLAN, writes(WRONG), verifies(CHECK), edits("a - b", "a + b"), verifies(CHECK), DONE,
            approve(),
        ),
        "approved by critic",
        (0,),
    ),
    Path(
        "fixed for its tests",
        (
            PLAN, writes(WRONG), writes(TEST, "test_sums.py"), verifies_by("pytest"),
            edits("a - b", "a + b"), verifies_by("pytest"), DONE, approve(),
        ),
        "approved by critic",
        (0,),
    ),
    Path(
        "too slow, then fixed",
        (PLAN, verifies(ENDLESS), verifies(GOOD), DONE, approve()),
        "approved by critic",
        (0,),
        limits={"wall_seconds": 2.0},
    ),
    Path(
        "too large, then fixed",
        (PLAN, verifies(HUNGRY), verifies(GOOD), DONE, approve()),
        "approved by critic",
        (0,),
        limits={"memory_bytes": 64 * 1024 * 1024},
    ),
    Path(
        "fixed in the next revision",
        (
            PLAN, verifies(KEY), Reply("No idea."), revise("Fix it."), verifies(GOOD), DONE,
            approve(),
        ),
        "approved by critic",
        (0,),
    ),
)  # fmt: skip
ESCALATED = (
    Path(
        "escalated after two failed repairs, then fixed",
        (
            PLAN, repairs_by(KEY), repairs_by(KIND), repairs_by(TEXT), repairs_by(GOOD), DONE,
            approve(),
        ),
        "approved by critic",
        (1,),
        stronger=True,
    ),
    Path(
        "escalated at once for the same failure",
        (PLAN, repairs_by(KEY), repairs_by(OTHER_KEY), repairs_by(GOOD), DONE, approve()),
        "approved by critic",
        (1,),
        stronger=True,
    ),
    Path(
        "not escalated for failures in which something has worked between",
        (
            PLAN, repairs_by(KEY), looks(), repairs_by(KIND), looks(), repairs_by(TEXT),
            repairs_by(GOOD), DONE, approve(),
        ),
        "approved by critic",
        (0,),
        stronger=True,
    ),
    Path(
        "not escalated for exploration that fails",
        (
            PLAN, *EXPLORATION, repairs_by(KEY), looks("grep -c d total.py"), repairs_by(GOOD),
            DONE, approve(),
        ),
        "approved by critic",
        (0,),
        stronger=True,
    ),
    Path(
        "escalated for unmet criteria that do not get fewer",
        (
            PLAN, runs(GOOD), DONE, revise("1", unmet=["no sum"]), runs("print(2)"), Reply("Two."),
            revise("2", unmet=["no sum"]), runs("print(3)"), Reply("Three."),
            revise("3", unmet=["no sum"]),
            verifies(KEY), verifies(GOOD), Reply("Four."), approve(),
        ),
        "approved by critic",
        (1,),
        stronger=True,
        job={"max_revisions": 9},
    ),
)  # fmt: skip
STUCK = (
    Path(
        "stopped in circles, then fixed with new feedback",
        (PLAN, *CIRCLE, revise("Look at b."), verifies(GOOD), DONE, approve()),
        "approved by critic",
        (0,),
    ),
    Path(
        "stopped where repairs do not change the failure",
        (PLAN, *[repairs_by(KEY), repairs_by(OTHER_KEY)] * 2, revise("Look at b.")),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "not stopped for exploration that fails",
        (PLAN, *EXPLORATION, repairs_by(GOOD), DONE, approve()),
        "approved by critic",
    ),
    Path(
        "stopped where it makes the same call again and again",
        (PLAN, *[looks("ls .")] * 5, revise("Look at b.")),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "stopped in circles twice",
        (PLAN, *CIRCLE, revise("Look at b."), *[verifies(INDEX)] * 4, revise("Look.")),
        "unapproved: two revisions in a row repeated themselves",
        job={"max_revisions": 9},
    ),
    Path(
        "the same work twice",
        (PLAN, runs(GOOD), DONE, revise("More."), runs(GOOD), DONE, revise("More!")),
        "unapproved: two revisions in a row had the same result",
        job={"max_revisions": 9},
    ),
    Path(
        "no fewer unmet criteria",
        (
            PLAN, runs(GOOD), DONE, revise("1", unmet=["no sum"]), runs("print(2)"), Reply("Two."),
            revise("2", unmet=["no sum"]), runs("print(3)"), Reply("Three."),
            revise("3", unmet=["no sum"]),
        ),
        "unapproved: no fewer criteria are unmet than 2 revisions ago",
        job={"max_revisions": 9},
    ),
    Path(
        "never fixed",
        (
            PLAN, verifies(KEY), Reply("No."), revise("1"), verifies(KIND), Reply("Nor this."),
            revise("2"),
        ),
        "unapproved: the revisions ran out",
        job={"max_revisions": 2},
    ),
)  # fmt: skip
PATHS: tuple[Path, ...] = (*FIXED, *ESCALATED, *STUCK, *JUDGED, *CHECKED, *TROUBLE)
