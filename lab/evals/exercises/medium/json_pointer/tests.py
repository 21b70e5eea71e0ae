import pytest
from solution import resolve

DOCUMENT = {
    "foo": ["bar", "baz", [10, 20]],
    "": 0,
    "a/b": 1,
    "m~n": 8,
    "~1": 9,
    "0": {"1": "one"},
    " ": 7,
}


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", DOCUMENT),
        ("/foo", DOCUMENT["foo"]),
        ("/foo/0", "bar"),
        ("/foo/2/1", 20),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/~01", 9),
        ("/0/1", "one"),
        ("/ ", 7),
    ],
)
def test_there(pointer, expected):
    assert resolve(DOCUMENT, pointer) == expected


@pytest.mark.parametrize(
    "pointer",
    ["/foo/3", "/foo/-", "/foo/-1", "/foo/01", "/foo/+1", "/foo/1 ", "/foo/١", "/foo/", "/bar"],
)
def test_not_there(pointer):
    with pytest.raises(LookupError):
        resolve(DOCUMENT, pointer)


@pytest.mark.parametrize("pointer", ["/foo/0/0", "/a~1b/x", "//x"])
def test_into_a_plain_value(pointer):
    with pytest.raises(LookupError):
        resolve(DOCUMENT, pointer)


@pytest.mark.parametrize("pointer", ["foo", " /foo", "/m~n", "/~", "/~2", "#/foo"])
def test_no_pointer(pointer):
    with pytest.raises(ValueError):
        resolve(DOCUMENT, pointer)
