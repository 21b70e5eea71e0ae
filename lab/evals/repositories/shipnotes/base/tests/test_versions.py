import pytest

from shipnotes.errors import NotesError
from shipnotes.versions import Version, following


def test_read():
    assert str(Version.read("v1.4.2")) == "1.4.2"
    with pytest.raises(NotesError):
        Version.read("1.4")


def test_order():
    assert Version.read("1.10.0") > Version.read("1.9.9")


@pytest.mark.parametrize(
    ("version", "kinds", "after"),
    [("1.4.2", ["fix", "docs"], "1.4.3"), ("0.4.0", ["break"], "0.5.0"), ("1.4.2", [], "1.4.2")],
)
def test_following(version, kinds, after):
    assert str(following(Version.read(version), kinds)) == after
