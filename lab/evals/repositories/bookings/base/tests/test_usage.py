from roombook.usage import busiest, share


def test_share(calendar):
    assert share(calendar, "blue", 540, 780) == 0.5


def test_busiest(calendar):
    assert busiest(calendar, 480, 1080) == "red"
