"""What a page of jobs is searched by, in Redis."""

from __future__ import annotations

from support.jobs.job_examples import TENANT, held, job, review

from jobs.model.credentials import Person
from jobs.model.record import Status
from jobs.model.review import Action, Decision
from jobs.model.spec import Kind
from jobs.store import Charge
from jobs.store.listing import Listing, SearchBounds
from jobs.store.redis_store import RedisStore
from jobs.store.types import JobFilter

ANN, BOB, CAT = Person("ann"), Person("bob", "k-bob"), Person("cat", "k-cat")


async def ids(house, **sought) -> list[str]:
    page = await house.store.page(TENANT, limit=10, offset=0, **sought)
    found = [record.id for record in page.records]
    assert page.total == len(found)
    return found


async def waiting(house, **fields) -> str:
    running = await house.running(review=True, **fields)
    return job(await house.operations.pause(held(running), review())).id


async def test_changes_are_counted_by_tenant(house):
    counts = [await house.store.changes(TENANT)]
    running = await house.running()
    counts.append(await house.store.changes(TENANT))
    await house.operations.cancel(running.id, "ann")
    counts.append(await house.store.changes(TENANT))
    assert counts == sorted(set(counts))
    assert counts[-1] == await house.store.changes(TENANT)
    assert await house.store.changes("other") == 0


async def test_jobs_are_found_by_words_and_their_beginnings(house):
    primes = (await house.submit("Write a prime checker, fast")).id
    search = (await house.submit("Binary search; primes it is not", labels=("Größe", "v2"))).id
    assert set(await ids(house, text="prime")) == {primes, search}
    assert await ids(house, text="Prime CHECK") == [primes]
    assert await ids(house, text="binary_search") == [search]
    assert await ids(house, text="GRÖSSE v2") == [search]
    assert await ids(house, text=primes[:9]) == [primes]
    assert await ids(house, text="a") == [primes], "one letter is a word of its own"
    for nothing in ("checkers", "prime sudoku", "rime", "...", "Prime\udcffz"):
        assert await ids(house, text=nothing) == []


async def test_a_beginning_that_several_words_have_finds_each_job_once(house):
    made = [(await house.submit(task)).id for task in ("bind", "binary bin", "binder", "bin")]
    for number in range(9):
        await house.submit(f"other {number}")
    assert set(await ids(house, text="bin")) == set(made)
    assert set(await ids(house, text="bin binary")) == {made[1]}


async def test_a_search_keeps_to_its_tenant_and_to_the_other_filters(house):
    queued = (await house.submit("sort a list", labels=("demo",))).id
    running = (await house.running(labels=("demo",))).id
    assert await ids(house, text="sort", status=Status.QUEUED, label="demo") == [queued]
    assert await ids(house, text="sort", status=Status.RUNNING) == []
    assert await ids(house, text="demo", status=Status.RUNNING) == [running]
    theirs = await house.store.page("other", limit=9, offset=0, text="sort")
    assert (list(theirs.records), theirs.total) == ([], 0)


async def test_a_long_result_comes_in_pages_newest_first(house):
    made = [(await house.submit(f"word{number % 3} same")).id for number in range(7)]
    newest = [record.id for record in (await _page(house, 10, 0)).records]
    assert set(newest) == set(made)
    parts = [await _page(house, 3, offset) for offset in (0, 3, 6, 9)]
    assert [part.total for part in parts] == [7] * 4
    assert [record.id for part in parts for record in part.records] == newest


async def _page(house, limit: int, offset: int):
    return await house.store.page(TENANT, limit=limit, offset=offset, text="word same")


async def test_what_is_no_task_is_listed_by_its_kind_alone(house):
    task = (await house.submit("check", labels=("x",))).id
    other = (await house.submit("check", labels=("x",), kind=Kind.VERIFICATION)).id
    assert await ids(house) == await ids(house, label="x") == await ids(house, text="check")
    assert await ids(house) == [task]
    assert await ids(house, kind=Kind.VERIFICATION, status=Status.QUEUED) == [other]
    assert await ids(house, kind=Kind.VERIFICATION, label="x") == [other]


async def test_what_waits_for_a_person_is_what_he_may_decide(house):
    first, second = await waiting(house), await waiting(house, approvals=2)
    await house.submit()
    assert set(await ids(house, waits_for=ANN)) == {first}, "the other one is her own"
    assert set(await ids(house, waits_for=BOB)) == {first, second}
    vote = Decision("r1", Action.APPROVE, BOB.name, key_id=BOB.key_id)
    job(await house.operations.decide(second, vote))
    assert set(await ids(house, waits_for=BOB)) == {first}
    assert set(await ids(house, waits_for=Person("Bob", "new key"))) == {first}
    assert set(await ids(house, waits_for=CAT)) == {first, second}
    job(await house.operations.decide(second, Decision("r1", Action.REVISE, "cat", feedback="x")))
    running = await house.claim(second)
    job(await house.operations.pause(held(running), review("r2")))
    assert set(await ids(house, waits_for=BOB)) == {first, second}, "votes begin anew"
    job(await house.operations.cancel(second, "ann"))
    assert await ids(house, waits_for=BOB) == [first]


async def test_a_page_tells_what_was_paid(house):
    record = await house.submit()
    await house.store.charge(record.id, [Charge("a", "critic", "m", 1, 2, "0.5")])
    page = await house.store.page(TENANT, limit=10, offset=0)
    assert [charge.cost_usd for charge in page.charges[record.id]] == ["0.5"]


async def test_what_two_must_approve_does_not_wait_for_whose_work_it_is(house):
    tried = await waiting(house, approvals=2)
    edit = Decision("r1", Action.EDIT, BOB.name, key_id=BOB.key_id, code="1")
    job(await house.operations.decide(tried, edit))
    job(await house.operations.cancel(tried, "cat"))
    heir = job(await house.operations.retry_as_new_job(tried, by=CAT.name, key_id=CAT.key_id))
    job(await house.operations.pause(held(await house.claim(heir.id)), review()))
    for author in (ANN, BOB, CAT):
        assert await ids(house, waits_for=author) == []
    assert await ids(house, waits_for=Person("dan")) == [heir.id]


async def test_a_search_looks_at_so_many_jobs_at_most(house):
    for number in range(6):
        await house.submit(f"word{number % 2} same", labels=("x",))
    if not isinstance(house.store, RedisStore):
        return
    for text in ("same", "word"):
        whole = await house.store.page(TENANT, limit=9, offset=0, text=text)
        newest = [record.id for record in whole.records]
        assert whole.total == 6
        tired = Listing(house.store.redis, SearchBounds(looks=3, counted=3))
        page = await tired.page(TENANT, JobFilter(text=text, label="x"), limit=9, offset=0)
        assert [record.id for record in page.records] == newest[: page.total]
        assert not page.exact or page.total == 6
        page = await tired.page(TENANT, JobFilter(text=text, label="x"), limit=9, offset=6)
        assert (list(page.records), page.exact) == ([], page.total == 6)


async def test_a_search_ends_when_its_page_is_full(house):
    for _ in range(40):
        await house.submit("same word", labels=("x",))
    if not isinstance(house.store, RedisStore):
        return
    whole = await house.store.page(TENANT, limit=50, offset=0, text="same", label="x")
    assert (whole.total, whole.exact) == (40, True)
    hasty = Listing(house.store.redis, SearchBounds(counted=0))
    for offset in (0, 3, 30):
        page = await hasty.page(TENANT, JobFilter(text="same", label="x"), limit=3, offset=offset)
        assert page.records == whole.records[offset : offset + 3]
        assert (page.total, page.exact) == (offset + 4, False), "there is at least one more"
    last = await hasty.page(TENANT, JobFilter(text="same", label="x"), limit=3, offset=37)
    assert (last.records, last.total, last.exact) == (whole.records[37:], 40, True)
