"""Paths on which a fallible critic judges the work, and the work is verified again.

tests/e2e/test_evidence.py tests through the complete service which runs are evidence.
"""

from __future__ import annotations

from lab.benchmarks.repair.path import (
    CHECK,
    DONE,
    GOOD,
    KEY,
    PLAN,
    RIGHT,
    UNREADABLE,
    WRONG,
    Path,
    approve,
    looks,
    revise,
    runs,
    verifies,
    writes,
)
from lab.provider import Reply

UNAPPROVED = "unapproved: the revisions ran out"
ONCE = {"max_revisions": 1}
CRITIC = (
    Path(
        "the critic's fail is honoured",
        (PLAN, runs(GOOD), DONE, revise("It adds nothing.")),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "an approval of what never ran is turned around",
        (PLAN, Reply("I promise."), approve(), runs(GOOD), DONE, approve()),
        "approved by critic",
    ),
    Path(
        "an approval of what failed is turned around",
        (PLAN, runs(KEY), DONE, approve(runs=["r1"])),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "an approval that names what is not met is turned around",
        (PLAN, runs(GOOD), DONE, approve(unmet=["no sum"]), runs(GOOD), Reply("Now."), approve()),
        "approved by critic",
    ),
    Path(
        "a critic that cannot be read approves nothing",
        (PLAN, runs(GOOD), DONE, *UNREADABLE),
        "unapproved: the critic's reply could not be read",
    ),
)
AGAIN = (
    Path(
        "the last repair is verified although nobody asked",
        (PLAN, writes(WRONG), verifies(CHECK), writes(RIGHT), DONE, approve(runs=["r2"])),
        "approved by critic",
        (0,),
    ),
    Path(
        "the last repair is verified after a look",
        (
            PLAN, writes(WRONG), verifies(CHECK), writes(RIGHT), looks("cat sums.py"), DONE,
            approve(runs=["r3"]),
        ),
        "approved by critic",
        (0,),
    ),
    Path(
        "the last repair is verified at the bound on steps",
        (PLAN, writes(WRONG), verifies(CHECK), writes(RIGHT), approve(runs=["r2"])),
        "approved by critic",
        (0,),
        bounds={"steps": 3},
    ),
    Path(
        "what has worked is verified again in the next revision",
        (
            PLAN, writes(RIGHT), verifies(CHECK), looks(), DONE, revise("Say so."),
            writes(RIGHT + "# a sum\n"), DONE, approve(),
        ),
        "approved by critic",
    ),
)  # fmt: skip
JUDGED = (*CRITIC, *AGAIN)
