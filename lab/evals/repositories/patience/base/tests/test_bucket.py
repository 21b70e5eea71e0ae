import pytest

from patience.bucket import Bucket


def test_a_full_one_waits_for_nothing(clock):
    bucket = Bucket(rate=2, size=3, clock=clock)
    assert [bucket.wait() for _ in range(5)] == pytest.approx([0, 0, 0, 0.5, 0.5])
