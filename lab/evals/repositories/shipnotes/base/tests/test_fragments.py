import pytest

from shipnotes import fragments
from shipnotes.errors import NotesError


def test_by_number(folder):
    assert [each.number for each in fragments.read(folder)] == [9, 12]


@pytest.mark.parametrize("name", ["x.fix.md", "3.chore.md"])
def test_no_fragment(folder, name):
    (folder / name).write_text("x")
    with pytest.raises(NotesError, match=name):
        fragments.read(folder)


def test_an_empty_one(folder):
    (folder / "1.docs.md").write_text("\n")
    with pytest.raises(NotesError, match="is empty"):
        fragments.read(folder)
