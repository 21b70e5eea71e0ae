import pytest
from solution import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90),
        ("1h 30m", 5400),
        ("2h05m", 7500),
        ("1d2h", 93_600),
        ("1d 2h 3m 4s", 93_784),
        ("0s", 0),
        ("90m", 5400),
        ("1d4s", 86_404),
        ("  7s ", 7),
    ],
)
def test_durations(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " ", "5", "1m2h", "1h1h", "-1s", "1.5h", "1 h", "1hx", "h", "1H", "s5", "٣s", "1s,2s"],
)
def test_what_is_no_duration(text):
    with pytest.raises(ValueError):
        seconds(text)
