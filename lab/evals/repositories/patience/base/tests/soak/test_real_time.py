import time

import pytest

from patience import Policy, retry
from patience.bucket import Bucket


def failing():
    raise ConnectionError


@pytest.mark.parametrize("tries", [2, 3, 4])
def test_retrying_takes_its_time(tries):
    begun = time.monotonic()
    with pytest.raises(Exception, match="gave up"):
        retry(failing, Policy(tries=tries, first=1, factor=2))
    assert time.monotonic() - begun >= 2 ** (tries - 1) - 1


def test_a_bucket_fills_up():
    bucket, begun = Bucket(rate=1, size=1), time.monotonic()
    for _ in range(10):
        bucket.wait()
    assert 8.9 <= time.monotonic() - begun < 12
