import random
import time
from itertools import permutations

import pytest
from solution import cheapest


def test_the_cheapest_way_is_not_the_one_with_the_cheapest_rest():
    # without a free road a-b-c-d is cheapest (9); with one it is a-x-d
    roads = [("a", "b", 3), ("b", "c", 3), ("c", "d", 3), ("a", "x", 1), ("x", "d", 100)]
    assert cheapest(roads, "a", "d", 0) == (9, ["a", "b", "c", "d"])
    assert cheapest(roads, "a", "d", 1) == (1, ["a", "x", "d"])
    assert cheapest(roads, "a", "d", 2) == (0, ["a", "x", "d"])


def test_no_way_and_no_road():
    assert cheapest([("a", "b", 1)], "b", "a", 5) is None
    assert cheapest([], "a", "a", 0) == (0, ["a"])
    assert cheapest([], "a", "b", 3) is None
    assert cheapest([("a", "a", 5)], "a", "a", 0) == (0, ["a"])


def test_several_roads_between_two_towns():
    assert cheapest([("a", "b", 5), ("a", "b", 2), ("a", "b", 9)], "a", "b", 0) == (2, ["a", "b"])


def test_fewest_roads_then_first_in_order():
    roads = [("a", "m", 0), ("m", "z", 2), ("a", "z", 2)]
    assert cheapest(roads, "a", "z", 0) == (2, ["a", "z"])
    roads = [("a", "c", 1), ("a", "b", 1), ("c", "z", 1), ("b", "z", 1), ("b", "b", 0)]
    assert cheapest(roads, "a", "z", 0) == (2, ["a", "b", "z"])
    # one more free road than is needed must not make the way longer
    assert cheapest(roads, "a", "z", 9) == (0, ["a", "b", "z"])


def test_senseless():
    with pytest.raises(ValueError):
        cheapest([], "a", "b", -1)


def slowly(roads, start, goal, free):
    towns = sorted({town for road in roads for town in road[:2]} | {start, goal})
    toll = {}
    for a, b, cost in roads:
        toll[a, b] = min(cost, toll.get((a, b), cost))
    found = []
    inner = [town for town in towns if town not in (start, goal)]
    for size in range(len(inner) + 1):
        for middle in permutations(inner, size):
            way = [start, *middle, goal] if start != goal else [start]
            steps = list(zip(way, way[1:], strict=False))
            if all(step in toll for step in steps):
                costs = sorted((toll[step] for step in steps), reverse=True)
                found.append((sum(costs[free:]), len(way), way))
    if not found:
        return None
    cost, _, way = min(found)
    return cost, way


def test_against_trying_all():
    drawn = random.Random(5)
    for _ in range(150):
        towns = "abcdef"[: drawn.randrange(2, 7)]
        roads = [
            (drawn.choice(towns), drawn.choice(towns), drawn.randrange(4))
            for _ in range(drawn.randrange(14))
        ]
        free = drawn.randrange(3)
        start, goal = drawn.choice(towns), drawn.choice(towns)
        assert cheapest(roads, start, goal, free) == slowly(roads, start, goal, free), roads


def test_many_roads():
    drawn = random.Random(6)
    towns = [f"t{n}" for n in range(2_000)]
    roads = [
        (drawn.choice(towns), drawn.choice(towns), drawn.randrange(1, 1_000)) for _ in range(20_000)
    ]
    began = time.perf_counter()
    found = cheapest(roads, "t0", "t1", 10)
    assert time.perf_counter() - began < 5
    assert found is None or found[1][0] == "t0"
