import pytest

from slugs import slugify


@pytest.mark.parametrize(
    ("title", "slug"),
    [("Fresh bread, daily!", "fresh-bread-daily"), ("  A  ", "a"), ("?", ""), ("C3PO", "c3po")],
)
def test_titles(title, slug):
    assert slugify(title) == slug


def test_long_titles_end_between_words():
    assert slugify("one two three", longest=9) == "one-two"
    assert slugify("abcdefghijkl", longest=9) == "abcdefghi"
