import threading
import time

from solution import Once


def together(count, work):
    outcomes = [None] * count
    start = threading.Barrier(count)

    def run(n):
        start.wait()
        try:
            outcomes[n] = work(n)
        except Exception as error:
            outcomes[n] = error

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive(), "deadlock"
    return outcomes


def test_each_key_once():
    calls = []

    def slow(key):
        calls.append(key)
        time.sleep(0.02)
        return key * 2

    once = Once(slow)
    assert together(8, lambda n: once(n % 2)) == [0, 2] * 4
    assert sorted(calls) == [0, 1]
    assert once(1) == 2
    assert len(calls) == 2


def test_none_is_a_value():
    calls = []
    once = Once(calls.append)
    assert [once(1), once(1)] == [None, None]
    assert calls == [1]


def test_a_slow_key_blocks_no_other():
    release, begun = threading.Event(), threading.Event()

    def work(key):
        if key == "slow":
            begun.set()
            assert release.wait(5)
        return key

    once = Once(work)
    thread = threading.Thread(target=once, args=("slow",), daemon=True)
    thread.start()
    assert begun.wait(5)
    began = time.monotonic()
    assert once("quick") == "quick"
    assert time.monotonic() - began < 2
    release.set()
    thread.join(5)


def test_a_failure_is_not_kept():
    calls = []

    def fails_first(key):
        calls.append(key)
        time.sleep(0.02)
        if len(calls) == 1:
            raise LookupError("once")
        return "well"

    once = Once(fails_first)
    outcomes = together(4, lambda n: once("k"))
    assert all(isinstance(outcome, LookupError) for outcome in outcomes)
    assert len(calls) == 1
    assert once("k") == "well"
    assert once("k") == "well"
    assert len(calls) == 2


def test_other_keys_inside():
    once = Once(lambda n: n if n < 2 else once(n - 1) + once(n - 2))
    assert once(30) == 832_040


def test_the_same_key_inside():
    once = Once(lambda key: once(key))
    assert isinstance(together(1, lambda n: once("k"))[0], RuntimeError)


def test_forgetting():
    calls = []

    def count(key):
        calls.append(key)
        return len(calls)

    once = Once(count)
    once.forget("k")
    assert (once("k"), once("k")) == (1, 1)
    once.forget("k")
    assert once("k") == 2


def test_forgetting_while_it_is_computed():
    begun, release = threading.Event(), threading.Event()
    calls = []

    def slow(key):
        calls.append(key)
        begun.set()
        if len(calls) == 1:
            assert release.wait(5)
        return len(calls)

    once = Once(slow)
    got = []
    thread = threading.Thread(target=lambda: got.append(once("k")), daemon=True)
    thread.start()
    assert begun.wait(5)
    once.forget("k")
    release.set()
    thread.join(5)
    assert got == [1]
    assert once("k") == 2
