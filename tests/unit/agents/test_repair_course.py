"""Who makes the next repair, and when there is none: pure decisions over what was tried."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agents.failures.change import MOST_LINES, change
from agents.repair.course import LAST_PATIENCE, PATIENCE, Course, course
from agents.repair.repair import Mending, repair_of


def run(number: int, cause: str | None = "KeyError: 'a'", **more: Any) -> dict[str, Any]:
    """A run that failed for a cause; None: it succeeded."""
    failure = None if cause is None else {"class": "key", "cause": cause, "exception": "KeyError"}
    code = {"text": f"program {number}", "dropped_bytes": 0, "digest": None}
    made = {"id": f"r{number}", "number": number, "revision": 1, "by": "executor", "code": code}
    ended = {"succeeded": cause is None, "failure": failure, "on": "w", "workspace": "w"}
    return {**made, **ended, **more}


def repair(number: int, level: int = 0, **more: Any) -> dict[str, Any]:
    """A repair by run `number` of the one before, that failed in a new way."""
    made = {"run": f"r{number}", "of": f"r{number - 1}", "revision": 1, "class": "key"}
    return {**made, "cause": "KeyError: 'a'", "level": level, "fixed": False, "same": None, **more}


def test_what_a_repair_says_of_itself() -> None:
    failed = run(1, "KeyError: 'a' (shop.py, line 7: x)")
    made = repair_of(run(2, None), Mending(failed, ("r1",)), [], "groq:m", 1)
    assert made == {
        "run": "r2", "of": "r1", "revision": 1, "class": "key",
        "cause": "KeyError: 'a' (shop.py, line 7: x)", "model": "groq:m", "level": 1,
        "attempt": 1, "fixed": True, "closed": ["r1"], "same": None,
    }  # fmt: skip


def test_attempts_count_from_the_last_cure() -> None:
    tried = [repair(2, fixed=True), repair(4), repair(5)]
    assert repair_of(run(6), Mending(run(5)), tried, "m", 0)["attempt"] == 3
    assert repair_of(run(7), Mending(run(5)), [*tried, repair(6, of="r5")], "m", 0)["attempt"] == 3
    assert repair_of(run(3), Mending(run(2)), tried[:1], "m", 0)["attempt"] == 1


def test_the_same_code_is_the_same_program_over_untouched_files() -> None:
    code = {"text": "import shop", "dropped_bytes": 0, "digest": None}
    failed = run(1, code=code, on="a", workspace="b")
    assert repair_of(run(2, code=code, on="b"), Mending(failed), [], "m", 0)["same"] == "code"
    assert repair_of(run(2, code=code, on="c"), Mending(failed), [], "m", 0)["same"] == "failure"
    assert (
        repair_of(run(2, "IndexError", code=code, on="c"), Mending(failed), [], "m", 0)["same"]
        is None
    )
    assert repair_of(run(2, None, code=code, on="b"), Mending(failed), [], "m", 0)["same"] is None


def test_the_same_failure_may_have_moved() -> None:
    failed = run(1, "KeyError: 'a' (shop.py, line 7: total(x))")
    moved = run(2, "KeyError: 'a' (shop.py, line 12: total(x))")
    other = run(2, "KeyError: 'a' (shop.py, line 12: price(x))")
    assert repair_of(moved, Mending(failed), [], "m", 0)["same"] == "failure"
    assert repair_of(other, Mending(failed), [], "m", 0)["same"] is None


def test_a_run_of_an_older_release_can_be_repaired() -> None:
    failed = run(1)
    for name in ("failure", "on", "workspace"):
        del failed[name]
    made = repair_of(run(2), Mending(failed), [], "m", 0)
    assert (made["class"], made["cause"], made["same"]) == ("unknown", "", None)


def test_after_two_failed_repairs_the_next_model_takes_over() -> None:
    assert course([], 0, 3, 1) == Course(0)
    assert course([repair(2)], 0, 3, 1) == Course(0)
    assert course([repair(2), repair(3)], 0, 3, 1) == Course(1)
    assert course([repair(2), repair(3), repair(4, 1)], 0, 3, 1) == Course(1)
    tried = [repair(2), repair(3), repair(4, 1), repair(5, 1)]
    assert course(tried, 0, 3, 1) == Course(2)


def test_a_cure_begins_the_count_anew_and_keeps_the_level() -> None:
    tried = [repair(2), repair(3), repair(4, 1, fixed=True)]
    assert course(tried, 0, 3, 1).level == 1
    assert course([*tried, repair(6, 1)], 0, 3, 1).level == 1


def test_several_runs_of_one_reply_are_one_repair() -> None:
    assert course([repair(2), repair(3, of="r1")], 0, 2, 1).level == 0


def test_a_repair_that_leaves_the_failure_as_it_was_escalates_at_once() -> None:
    assert course([repair(2, same="failure")], 0, 2, 1).level == 1
    assert course([repair(2, same="code")], 0, 2, 1).level == 1
    assert course([repair(2, same="code"), repair(3)], 0, 1, 1) == Course(0)


def test_the_level_of_the_state_counts() -> None:
    assert course([], 1, 3, 2) == Course(1)
    assert course([repair(2)], 1, 3, 1) == Course(1)


def test_the_last_model_stops_where_it_goes_in_circles() -> None:
    standing = [repair(n, same="failure") for n in (2, 3)]
    assert course(standing, 0, 1, 1).stopped is None
    stopped = course([*standing, repair(4, same="failure")], 0, 1, 1).stopped
    assert stopped == "the repairs leave the failure as it is: KeyError: 'a'"
    assert course([repair(2, same="code"), repair(3, same="code")], 0, 1, 1).stopped
    assert course([*standing, repair(4)], 0, 1, 1).stopped is None
    assert course([*standing, repair(4), repair(5, same="failure")], 0, 1, 1).stopped is None


def test_the_last_model_stops_after_six_failed_repairs_of_a_pass() -> None:
    tried = [repair(n) for n in range(2, 2 + LAST_PATIENCE)]
    assert course(tried[:-1], 0, 1, 1).stopped is None
    assert course(tried, 0, 1, 1).stopped == "6 repairs in a row have failed"
    assert course(tried, 0, 1, 2).stopped is None  # with new feedback it may try again


_REPAIRS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([None, "code", "failure"])), max_size=40
)


@given(_REPAIRS, st.integers(1, 4))
def test_a_pass_of_repairs_ends_and_climbs_one_step_at_a_time(
    outcomes: list[tuple[bool, str | None]], levels: int
) -> None:
    """Driven as the graph drives it: each repair is made at the level that the course tells."""
    tried: list[dict[str, Any]] = []
    level = failed = 0
    for number, (fixed, same) in enumerate(outcomes, start=2):
        now = course(tried, 0, levels, 1)
        assert now.level in (level, level + 1)
        assert now.level < levels
        failed = failed if now.level == level else 0
        level = now.level
        if now.stopped:
            assert level == levels - 1
            return
        tried.append(repair(number, level, fixed=fixed, same=None if fixed else same))
        failed = 0 if fixed else failed + 1
        assert failed <= (PATIENCE if level < levels - 1 else LAST_PATIENCE)


def test_a_change_counts_the_lines_that_differ() -> None:
    before = {"program": b"a\nb\nc\n", "gone.py": b"x\n"}
    after = {"program": b"a\nB\nc\n", "gone.py": None, "new.py": b"y\nz\n"}
    made = change(before, after)
    assert (made.added, made.removed) == (3, 2)
    assert "--- a/program\n+++ b/program\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n" in made.diff
    assert "--- a/gone.py\n+++ /dev/null" in made.diff
    assert "--- /dev/null\n+++ b/new.py" in made.diff


def test_no_change_has_no_diff() -> None:
    assert change({"a": b"1"}, {"a": b"1"}).diff == ""


def test_what_is_no_text_or_too_long_is_told_by_its_size() -> None:
    made = change({"a.png": b"\xff", "big": b""}, {"a.png": b"\xff\xfe", "big": b"\n" * MOST_LINES})
    assert made.diff == "a.png differs (1 -> 2 bytes)\nbig differs (0 -> 2000 bytes)"
    assert (made.added, made.removed) == (0, 0)
