from roombook.agenda import lines


def test_lines(calendar):
    assert lines(calendar, "blue") == ["blue 9:00-10:00 ada", "blue 11:00-12:00 bob"]
