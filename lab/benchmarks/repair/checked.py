"""Paths with acceptance checks, and with a person; and the result of several revisions."""

from __future__ import annotations

from lab.benchmarks.repair.path import (
    CHECK,
    DONE,
    PLAN,
    RIGHT,
    TEST,
    WRONG,
    Path,
    approve,
    decides,
    edits,
    revise,
    runs,
    verifies,
    writes,
)

IMPORT = "import sums"
"""A program that runs to its end, even if `sums` fails."""
CHECKS = {"test_sums.py": TEST}
FIX = f"open('sums.py', 'w').write({RIGHT!r})"

CHECKED = (
    Path(
        "an approval while the checks fail is turned around",
        (
            PLAN, writes(WRONG), runs(IMPORT), DONE, approve(runs=["r1"]), edits("a - b", "a + b"),
            DONE, approve(),
        ),
        "approved by critic",
        checks=CHECKS,
        files={"sums.py": RIGHT},
    ),
    Path(
        "checks that pass are evidence",
        (PLAN, writes(RIGHT), DONE, approve()),
        "approved by critic",
        checks=CHECKS,
    ),
    Path(
        "checks that pass without the work are none",
        (PLAN, writes(RIGHT), DONE, approve()),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
        checks={"test_one.py": "def test_one():\n    assert 1 == 1\n"},
    ),
    Path(
        "the revision that passed its checks is handed back, and not a later one",
        (
            PLAN, writes(RIGHT), DONE, revise("Run it."), writes(WRONG), runs(IMPORT), DONE,
            revise("No."),
        ),
        "unapproved: the revisions ran out",
        job={"max_revisions": 2},
        checks=CHECKS,
        files={"sums.py": RIGHT},
    ),
    Path(
        "the revision that was seen to work is handed back, and not a later one",
        (
            PLAN, writes(RIGHT), verifies(CHECK), DONE, revise("Say so."), writes(WRONG), DONE,
            revise("No."),
        ),
        "unapproved: the revisions ran out",
        job={"max_revisions": 2},
        files={"sums.py": RIGHT},
    ),
    Path(
        "a person's edit is checked, and shown before it counts",
        (PLAN, writes(WRONG), runs(IMPORT), DONE),
        "approved by Ada",
        checks=CHECKS,
        decisions=(decides("edit", code=FIX), decides("approve")),
        files={"sums.py": RIGHT},
    ),
    Path(
        "a person's edit is handed back, and not what was worse after it",
        (
            PLAN, writes(WRONG), runs(IMPORT), DONE, writes(f"{WRONG}# a sum\n"), runs(IMPORT),
            DONE, revise("No."),
        ),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
        checks=CHECKS,
        decisions=(
            decides("edit", code=FIX), decides("revise", feedback="Say so."), decides("delegate"),
        ),
        files={"sums.py": RIGHT},
    ),
)  # fmt: skip
