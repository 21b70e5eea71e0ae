import tracemalloc

import pytest
from solution import rotate


@pytest.mark.parametrize("size", [0, 1, 2, 5, 6, 12])
def test_every_way(size):
    for by in range(-2 * size - 1, 2 * size + 2):
        items = list(range(size))
        shift = by % size if size else 0
        expected = items[size - shift :] + items[: size - shift] if size else []
        same = items
        assert rotate(items, by) is None
        assert items == expected
        assert same is items


def test_other_names_of_the_list_see_it():
    items = ["a", "b", "c"]
    other = items
    rotate(items, 1)
    assert other == ["c", "a", "b"]


def test_no_second_list():
    items = list(range(200_000))
    tracemalloc.start()
    rotate(items, 70_001)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert items[0] == 200_000 - 70_001
    assert peak < 200_000
