from patience.deadline import Deadline


def test_left(clock):
    deadline = Deadline(5, clock)
    clock.sleep(4)
    assert deadline.left == 1
    clock.sleep(4)
    assert not deadline
