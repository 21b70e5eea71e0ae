import random
import time

import pytest
from solution import applied, script


def cost(steps):
    return sum(
        step[1] if step[0] == "delete" else len(step[1]) for step in steps if step[0] != "keep"
    )


def fewest(old, new):
    row = list(range(len(new) + 1))
    for i, line in enumerate(old, 1):
        before, row = row, [i]
        for j, other in enumerate(new, 1):
            row.append(before[j - 1] if line == other else 1 + min(before[j], row[j - 1]))
    return row[-1]


def well_formed(steps):
    for step, following in zip(steps, [*steps[1:], (None,)], strict=False):
        kind, what = step
        assert what >= 1 if kind in ("keep", "delete") else (kind == "insert" and len(what) >= 1)
        assert kind != following[0]
        assert (kind, following[0]) != ("insert", "delete")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("abc", "abc", [("keep", 3)]),
        ("", "ab", [("insert", ["a", "b"])]),
        ("ab", "", [("delete", 2)]),
        ("abc", "axc", [("keep", 1), ("delete", 1), ("insert", ["x"]), ("keep", 1)]),
    ],
)
def test_plain(old, new, expected):
    assert script(list(old), list(new)) == expected


def test_random_ones_are_right_and_as_short_as_can_be():
    drawn = random.Random(7)
    for _ in range(300):
        old = drawn.choices("abcd", k=drawn.randrange(14))
        new = drawn.choices("abcd", k=drawn.randrange(14))
        steps = script(old, new)
        assert applied(old, steps) == new
        well_formed(steps)
        assert cost(steps) == fewest(old, new), (old, new)


def test_a_popular_line_is_kept_too():
    # what compares by junk and by the longest block first gives up these
    old = ["x"] * 300 + ["a"] + ["y"] * 3
    new = ["y"] * 3 + ["a"] + ["x"] * 299
    assert cost(script(old, new)) == fewest(old, new)


@pytest.mark.parametrize("kinds", [3, 100_000])
def test_long_ones(kinds):
    drawn = random.Random(8)
    old = [str(drawn.randrange(kinds)) for _ in range(800)]
    new = [str(drawn.randrange(kinds)) for _ in range(800)]
    began = time.perf_counter()
    steps = script(old, new)
    assert time.perf_counter() - began < 5
    assert applied(old, steps) == new


@pytest.mark.parametrize(
    "steps",
    [[("keep", 4)], [("keep", 2)], [("delete", 4)], [("move", 3)], [("keep", 3), ("delete", 1)]],
)
def test_scripts_that_do_not_fit(steps):
    with pytest.raises(ValueError):
        applied(["a", "b", "c"], steps)


def test_the_lists_stay():
    old, new = ["a", "b"], ["b", "c"]
    steps = script(old, new)
    applied(old, steps)
    assert (old, new) == (["a", "b"], ["b", "c"])
