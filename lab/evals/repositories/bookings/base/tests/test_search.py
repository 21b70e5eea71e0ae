from roombook.search import first_free, of_person


def test_first_free(calendar):
    assert first_free(calendar, ["red", "blue"], 60, 480, 1080) == ("blue", 480)
    assert first_free(calendar, ["red"], 60, 480, 1080) is None


def test_of_person(calendar):
    assert [each.room for each in of_person(calendar, "ada")] == ["red", "blue"]
