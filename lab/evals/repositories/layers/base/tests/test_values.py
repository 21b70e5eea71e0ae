import pytest

from strata.values import read, show


@pytest.mark.parametrize(
    ("text", "value"), [("8080", 8080), ("true", True), ('["a"]', ["a"]), ("a b", "a b"), ("", "")]
)
def test_read(text, value):
    assert read(text) == value


def test_show():
    assert show([True, "a", 3]) == '[true, "a", 3]'
