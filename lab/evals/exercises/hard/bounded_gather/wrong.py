"""gather behind a semaphore: all makers at once, and a failure leaves the others running."""

import asyncio


async def gather_bounded(makers, limit):
    if limit < 1:
        raise ValueError("limit")
    turns = asyncio.Semaphore(limit)

    async def one(make):
        async with turns:
            return await make()

    return await asyncio.gather(*(one(make) for make in makers))
