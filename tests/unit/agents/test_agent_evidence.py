"""What the runs show of the files as they stand."""

from __future__ import annotations

from typing import Any

import pytest

from agents.evidence import (
    CHANGED,
    NO_END,
    NO_RUN,
    NO_SUCCESS,
    ONLY_LOOKED,
    is_final,
    unproven,
)


def run(number: int, revision: int = 1, *, ok: bool = True, **more: Any) -> dict[str, Any]:
    made = {"id": f"r{number}", "number": number, "revision": revision, "succeeded": ok}
    return {**made, "tool": "python", "code": {"text": "import main\nmain.x()"}, **more}


def look(number: int, revision: int = 1, line: str = "ls", **more: Any) -> dict[str, Any]:
    return run(number, revision, tool="shell", code={"text": line}, **more)


def state(*runs: dict[str, Any], revision: int = 1, task: str = "Add.", **more: Any) -> Any:
    return {"job": {"task": task}, "revision": revision, "runs": list(runs), **more}


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([], NO_RUN),
        ([run(1, ok=False)], NO_SUCCESS),
        ([run(1, 1), run(2, 2, ok=False)], NO_SUCCESS),  # r1 is of an older revision
        ([run(1, 2), run(2, 2, ok=False)], None),  # a probe that failed
        ([run(1, 1)], None),  # the revision made none of its own
        ([look(1, 2)], ONLY_LOOKED),
        ([look(1, 2, "cat > a.py <<'EOF'\nprint(1)\nEOF\nls")], ONLY_LOOKED),
        ([look(1, 2, "python a.py")], None),
        ([look(1, 2, "env N=1 python a.py")], None),
        ([look(1, 2, "awk -f sum.awk a.csv")], None),
        ([look(1, 2, "cat <<< x; ls a.csv")], ONLY_LOOKED),
        ([look(1, 2, "awk '{ n += $2 } END { print n }' a.csv")], None),  # the critic's to judge
        ([look(1, 2, "python a.py || true")], NO_END),
        ([look(1, 2, "python a.py < in | diff - out && echo OK || echo DIFF")], NO_END),
        ([look(1, 2, "python a.py || true"), look(2, 2)], NO_END),
        ([run(1, 2, ok=False), look(2, 2)], NO_SUCCESS),
        ([run(1, 1), look(2, 2)], None),  # all that the revision did was to look
        ([run(1, 1), look(2, 2, ok=False)], None),
    ],
)
def test_what_an_approval_would_have_to_override(runs: list[Any], why: str | None) -> None:
    assert unproven(state(*runs, revision=2)) == why


@pytest.mark.parametrize(
    ("made", "brought", "why"),
    [
        (["README.md"], [], None),
        (["out/Totals.CSV"], ["a.csv"], None),
        (["docker-compose.yml", "index.html"], [], None),
        (["README.md", "main.py"], [], ONLY_LOOKED),
        (["README.md"], ["main.py"], ONLY_LOOKED),
        ([], ["a.csv"], ONLY_LOOKED),
    ],
)
def test_a_look_shows_documents_but_no_program(
    made: list[str], brought: list[str], why: str | None
) -> None:
    looked = state(look(1, 1, "cat README.md"), artifacts={name: {} for name in made})
    looked["job"]["files"] = brought
    assert unproven(looked) == why
    failed = {**looked, "runs": [run(1, ok=False), look(2)]}
    assert unproven(failed) == NO_SUCCESS


def test_a_file_written_after_the_last_successful_run_is_not_what_was_run() -> None:
    ran = run(1, on=None, workspace="a")
    assert unproven(state(ran, workspace="a")) is None
    assert unproven(state(ran, workspace="b")) == CHANGED


def test_a_later_run_may_fail_but_not_leave_other_files() -> None:
    good, bad = run(1, workspace="a"), run(2, ok=False, workspace="a")
    assert unproven(state(good, bad, workspace="a")) is None
    assert unproven(state(good, {**bad, "workspace": "b"}, workspace="b")) == CHANGED


def test_any_successful_run_of_the_final_files_is_enough() -> None:
    runs = [run(1, workspace="a"), run(2, workspace="b"), run(3, workspace="b")]
    assert unproven(state(*runs, workspace="b")) is None
    assert [is_final(each, {"workspace": "b"}) for each in runs] == [False, True, True]


def test_a_look_shows_nothing_of_the_files_that_it_leaves() -> None:
    edit = look(2, line="sed -i s/-/+/ sums.py", workspace="b")
    assert unproven(state(run(1, workspace="a"), edit, workspace="b")) == CHANGED


def test_an_empty_workspace_stays_empty() -> None:
    assert unproven(state(run(1, workspace=None), workspace=None)) is None


def test_a_run_of_an_older_release_gets_the_benefit_of_the_doubt() -> None:
    assert unproven(state(run(1), workspace="b")) is None
    assert unproven(state(run(1, workspace="a"))) is None


def test_a_person_s_own_code_that_failed_is_not_proven_by_what_ran_before() -> None:
    failed = run(2, ok=False, by="Ada")
    assert unproven(state(run(1, by="executor"), failed)) == "the code of Ada did not succeed (r2)"
    assert unproven(state(run(1, ok=False, by="executor"), run(2, by="Ada"))) is None
    assert unproven(state(failed, run(3, by="executor"))) is None
