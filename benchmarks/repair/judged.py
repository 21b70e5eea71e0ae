"""Paths on which the work is judged: by its verification, and by a critic who may be wrong."""

from __future__ import annotations

from benchmarks.provider import Reply
from benchmarks.repair.path import (
    CHECK,
    DONE,
    GOOD,
    KEY,
    NONE,
    PLAN,
    PYTEST,
    RIGHT,
    SAVES,
    TEST,
    UNREADABLE,
    WRONG,
    Path,
    approve,
    decides,
    edits,
    looks,
    revise,
    runs,
    verifies,
    verifies_by,
    writes,
)

UNAPPROVED = "unapproved: the revisions ran out"
ONCE = {"max_revisions": 1}
CRITIC = (
    Path(
        "the critic's fail is honoured",
        (PLAN, runs(GOOD), DONE, revise("It adds nothing.", score=1.0)),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "an approval of what never ran is turned around",
        (PLAN, Reply("I promise."), approve(score=1.0), runs(GOOD), DONE, approve()),
        "approved by critic",
    ),
    Path(
        "an approval of what failed is turned around",
        (PLAN, runs(KEY), DONE, approve(run="r1")),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "an approval that names what is not met is turned around",
        (PLAN, runs(GOOD), DONE, approve(failed=["no sum"]), runs(GOOD), Reply("Now."), approve()),
        "approved by critic",
    ),
    Path(
        "a critic that cannot be read approves nothing",
        (PLAN, runs(GOOD), DONE, *UNREADABLE),
        "unapproved: the critic's reply could not be read",
    ),
)
NO_EVIDENCE = (
    Path(
        "a look at files that never ran shows nothing",
        (PLAN, writes(WRONG), looks("ls"), DONE, NONE, approve(run="r1", score=1.0)),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "nor does one that reads them",
        (PLAN, writes(RIGHT), looks("cat sums.py"), DONE, NONE, approve(run="r1", score=1.0)),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "an exit code that a shell hides",
        (
            PLAN, writes(WRONG), writes(TEST, "test_sums.py"),
            verifies_by("bash", "-c", "python -m pytest -q || true"), DONE, approve(),
        ),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "an exit code that a program drops",
        (PLAN, writes(WRONG), writes(TEST, "test_sums.py"), verifies(PYTEST), DONE, approve()),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "a list of the tests",
        (
            PLAN, writes(WRONG), writes(TEST, "test_sums.py"),
            verifies_by("python", "-m", "pytest", "--collect-only", "-q"), DONE, approve(),
        ),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "a program that has nothing to do with the files, and then one that has",
        (
            PLAN, writes(WRONG), verifies(GOOD), DONE, approve(run="r1", score=1.0),
            verifies(CHECK), edits("a - b", "a + b"), DONE, approve(),
        ),
        "approved by critic",
        (0,),
    ),
    Path(
        "code that a program writes and does not run, and then does",
        (PLAN, runs(SAVES), DONE, NONE, approve(), verifies(CHECK), DONE, approve()),
        "approved by critic",
    ),
    Path(
        "what is edited after its run in one line",
        (
            PLAN, writes(RIGHT),
            verifies_by("bash", "-c", "python sums.py && sed -i 's/a + b/a +/' sums.py"), DONE,
            approve(run="r1", score=1.0),
        ),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "what is broken after its verification",
        (PLAN, writes(RIGHT), verifies(CHECK), writes(WRONG), DONE, approve(run="r1")),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "a wrong repair after which was only looked",
        (
            PLAN, writes(WRONG), verifies(CHECK), edits("a - b", "a * b"), looks("cat sums.py"),
            DONE, approve(),
        ),
        UNAPPROVED,
        job=ONCE,
    ),
    Path(
        "a document",
        (PLAN, writes("Adding.", "essay.md"), DONE, approve()),
        UNAPPROVED,
        job=ONCE,
    ),
)  # fmt: skip
EVIDENCE = (
    Path(
        "an awk program that awk runs",
        (
            PLAN, writes("{ n += $1 } END { print n }", "sum.awk"),
            verifies_by("bash", "-c", "printf '1\\n2\\n' | awk -f sum.awk"), DONE, approve(),
        ),
        "approved by critic",
    ),
    Path(
        "data that a command has made",
        (
            PLAN, writes("b\na\n", "names.txt"), looks("sort names.txt > sorted.txt"), DONE,
            approve(),
        ),
        "approved by critic",
    ),
    Path(
        "a run after a look that failed",
        (PLAN, looks("cat missing.txt"), runs(GOOD), DONE, approve()),
        "approved by critic",
    ),
    Path(
        "a verification before a command that is not there",
        (
            PLAN, writes(RIGHT), verifies(CHECK), writes(RIGHT + "# a sum\n"),
            looks("no-such-linter"), DONE, approve(),
        ),
        "approved by critic",
    ),
    Path(
        "a verification that was asked for",
        (PLAN, writes(RIGHT), DONE, verifies(CHECK), DONE, approve(run="r1")),
        "approved by critic",
    ),
    Path(
        "the last program, where none is declared",
        (PLAN, writes(RIGHT), runs(CHECK), DONE, NONE, approve(run="r1")),
        "approved by critic",
    ),
    Path(
        "the tests that there are, where none is declared",
        (PLAN, writes(RIGHT), writes(TEST, "test_sums.py"), DONE, NONE, approve()),
        "approved by critic",
    ),
    Path(
        "the job's own command",
        (PLAN, writes(WRONG), DONE, approve(), edits("a - b", "a + b"), DONE, approve()),
        "approved by critic",
        (0,),
        job={"verify": ("python", "-c", CHECK)},
    ),
    Path(
        "none, where the job asks for none",
        (PLAN, writes("Adding.", "essay.md"), DONE, approve()),
        "approved by critic",
        job={"evidence": "none"},
    ),
    Path(
        "none, where a person approves",
        (PLAN, writes(WRONG), verifies(CHECK), DONE),
        "approved by Ada",
        decisions=(decides("approve"),),
    ),
)  # fmt: skip
AGAIN = (
    Path(
        "the last repair is verified although nobody asked",
        (PLAN, writes(WRONG), verifies(CHECK), writes(RIGHT), DONE, approve(run="r2")),
        "approved by critic",
        (0,),
    ),
    Path(
        "the last repair is verified after a look",
        (
            PLAN, writes(WRONG), verifies(CHECK), writes(RIGHT), looks("cat sums.py"), DONE,
            approve(run="r3"),
        ),
        "approved by critic",
        (0,),
    ),
    Path(
        "the last repair is verified at the bound on steps",
        (PLAN, writes(WRONG), verifies(CHECK), writes(RIGHT), approve(run="r2")),
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
JUDGED = (*CRITIC, *NO_EVIDENCE, *EVIDENCE, *AGAIN)
