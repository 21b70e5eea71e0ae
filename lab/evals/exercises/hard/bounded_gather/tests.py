import asyncio

import pytest
from solution import gather_bounded


def test_values_are_in_order_and_few_are_under_way():
    async def main():
        now = most = 0

        def maker(n):
            async def work():
                nonlocal now, most
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.002 * (n % 4))
                now -= 1
                return n * n

            return work

        got = await gather_bounded([maker(n) for n in range(20)], 3)
        return got, most

    got, most = asyncio.run(main())
    assert got == [n * n for n in range(20)]
    assert most == 3


def test_makers_are_called_when_their_turn_comes():
    async def main():
        called = []
        release = asyncio.Event()

        def makers():
            for n in range(1_000):

                def make(n=n):
                    called.append(n)
                    return release.wait()

                yield make

        task = asyncio.create_task(gather_bounded(makers(), 4))
        for _ in range(50):
            await asyncio.sleep(0)
        before = len(called)
        release.set()
        got = await task
        return before, got

    before, got = asyncio.run(main())
    assert before == 4
    assert got == [True] * 1_000


def test_the_first_failure_ends_all():
    async def main():
        ended, called = [], []

        def slow(name):
            async def work():
                called.append(name)
                try:
                    await asyncio.sleep(10)
                finally:
                    await asyncio.sleep(0.01)
                    ended.append(name)

            return work

        async def fail():
            await asyncio.sleep(0.005)
            raise LookupError("first")

        with pytest.raises(LookupError, match="first"):
            await gather_bounded([slow("a"), lambda: fail(), slow("b"), slow("late")], 3)
        return sorted(ended), sorted(called), len(asyncio.all_tasks())

    ended, called, left = asyncio.run(main())
    assert ended == ["a", "b"]
    assert called == ["a", "b"]
    assert left == 1


def test_a_maker_that_fails():
    async def main():
        async def one():
            return 1

        def broken():
            raise KeyError("maker")

        with pytest.raises(KeyError):
            await gather_bounded([one, broken, one], 2)
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_being_cancelled():
    async def main():
        ended = []

        async def work():
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(0.01)
                ended.append(1)

        task = asyncio.create_task(gather_bounded([work] * 5, 2))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(ended), len(asyncio.all_tasks())

    assert asyncio.run(main()) == (2, 1)


def test_nothing_and_senseless():
    assert asyncio.run(gather_bounded([], 1)) == []
    with pytest.raises(ValueError):
        asyncio.run(gather_bounded([], 0))
