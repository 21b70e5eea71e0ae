import pytest

from desk.sizes import read_size


def test_a_size():
    assert read_size("30X20x10") == (30, 20, 10)


@pytest.mark.parametrize("text", ["30", "30x20", "axbxc", ""])
def test_no_size(text):
    with pytest.raises(ValueError, match="30x20x10"):
        read_size(text)
