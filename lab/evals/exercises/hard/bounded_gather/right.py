import asyncio


async def gather_bounded(makers, limit):
    if limit < 1:
        raise ValueError("at least one must be under way")
    values = {}
    rest = enumerate(makers)

    async def work():
        for number, make in rest:
            values[number] = await make()

    tasks = [asyncio.create_task(work()) for _ in range(limit)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in done and not task.cancelled() and task.exception():
            raise task.exception()
    return [values[number] for number in range(len(values))]
